"""Large products, shared among this package's threads with NumPy's BLAS kept to one.

The threads of OpenBLAS wait for each other within a product, and spin for 100 ms after it.
Wherever anything else runs, such as the transfer that brings the next tile, each of these takes a
processor away from it. Parts that nobody waits for do not.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import prod
from threading import RLock
from typing import TYPE_CHECKING, Final, final

import numpy

from strideweave._fork import hold_across_fork, run_in_child
from strideweave.carriers.cpu.conversion import Floats
from strideweave.carriers.cpu.kernels.threads import cuts, share_parts
from strideweave.carriers.cpu.kernels.workspace import workspace

if TYPE_CHECKING:
    from threadpoolctl import LibController

_PER_THREAD = 2**27
"""Multiplications beside which handing some of them to a thread costs little."""
_READ_PER_THREAD = 2**21
"""Elements beside which it costs little, however little is computed with them."""
_PARTS_PER_THREAD = 4
"""A thread that falls behind leaves some of its own to the others."""
_MOST_PARTS = 64
_FEWEST_PARTS = 4
_DEPTH = 1024
"""Terms beside which adding up the products costs little."""
_WIDTH = 384
"""Columns or rows beside which packing the other operand once more costs little."""


def product(left: Floats, right: Floats) -> Floats:
    """Multiply a transposed left matrix with a right one.

    How a large product is divided depends on its shape alone, so its result does not depend on how
    many threads there are. That of a smaller one may, in how BLAS rounds it.

    Args:
        left: (inner, column).
        right: (inner, row).

    Returns:
        The (column, row).
    """
    inner, columns = left.shape
    rows = right.shape[1]
    by_work = inner * columns * rows // _PER_THREAD
    threads = max(by_work, (left.size + right.size) // _READ_PER_THREAD)
    parts = min(_MOST_PARTS, threads * _PARTS_PER_THREAD)
    depths = even(parts, inner // _DEPTH, inner * (columns + rows) // max(1, 2 * columns * rows))
    widths = even(parts, max(columns, rows) // _WIDTH)
    if threads < 2 or max(depths, widths) < 2:
        whole: Floats = numpy.matmul(left.T, right)
        return whole
    with one_thread() as available:
        if depths >= min(widths, _FEWEST_PARTS):
            return _by_terms(left, right, depths, min(threads, available))
        return _by_sides(left, right, widths, min(threads, available))


def even(*limits: int) -> int:
    """Give the largest power of two within all limits, which few threads can share evenly."""
    return 1 << max(1, min(limits)).bit_length() - 1


def _by_terms(left: Floats, right: Floats, parts: int, most: int) -> Floats:
    """Add up the products of parts of the contracted mode, where it is the long one."""
    bounds = cuts(len(left), parts)
    shape = parts, left.shape[1], right.shape[1]
    with workspace(prod(shape), left.dtype) as flat:
        products = flat.reshape(shape)

        def multiply(part: int) -> None:
            terms = slice(bounds[part], bounds[part + 1])
            numpy.matmul(left[terms].T, right[terms], products[part])

        share_parts(multiply, parts, most)
        total: Floats = numpy.add.reduce(products, 0)
        return total


def _by_sides(left: Floats, right: Floats, parts: int, most: int) -> Floats:
    """Put the products of parts of the wider matrix side by side."""
    columns, rows = left.shape[1], right.shape[1]
    bounds = cuts(max(columns, rows), parts)
    placed = numpy.empty((columns, rows), left.dtype)

    def multiply(part: int) -> None:
        some = slice(bounds[part], bounds[part + 1])
        if columns >= rows:
            numpy.matmul(left[:, some].T, right, placed[some])
        else:
            numpy.matmul(left.T, right[:, some], placed[:, some])

    share_parts(multiply, parts, most)
    return placed


@final
class _Hold:
    """Who keeps the BLAS libraries of this process to one thread, and what they had before.

    Interrupts and finalizers may come between any two steps: what was there before is noted once,
    and stays known until the last holder has restored it.
    """

    def __init__(self) -> None:
        self.lock: Final = RLock()
        self.holders: set[object] = set()
        self.before: list[tuple[LibController, int]] = []

    def enter(self, holder: object) -> int:
        libraries = _libraries()
        with self.lock:
            self.holders.add(holder)
            found = [(library, library.num_threads or 1) for library in libraries]
            self.before = self.before or found
            for library, _ in self.before:
                _limit(library, 1)
            return max((count for _, count in self.before), default=1)

    def leave(self, holder: object) -> None:
        """Leave; again if that was interrupted."""
        self.holders.discard(holder)
        with self.lock:
            if not self.holders:
                self.restore()

    def restore(self) -> None:
        for library, count in self.before:
            _limit(library, count)
        self.before = []

    def start_afresh(self) -> None:
        self.holders.clear()
        self.restore()


_hold: Final = _Hold()
hold_across_fork(_hold.lock)
run_in_child(_hold.start_afresh)  # the threads that would leave stayed in the parent


@contextmanager
def one_thread() -> Iterator[int]:
    """Keep every BLAS library of this process to the calling thread, whoever calls it.

    Yields:
        How many threads it used before, and will use again when the last holder has left.
    """
    holder = object()
    try:
        yield _hold.enter(holder)
    finally:
        try:
            _hold.leave(holder)
        except BaseException:  # an interrupt
            _hold.leave(holder)
            raise


def _limit(library: "LibController", count: int) -> None:
    """Set the threads of a library, whichever thread did so before."""
    from threadpoolctl import OpenBLASController

    if not isinstance(library, OpenBLASController):
        library.set_num_threads(count)
        return
    # Until it is cleared, the first thread that set a number is the only one that can.
    library.clear_controlling_thread(force=True)
    library.set_num_threads(count)
    library.clear_controlling_thread(force=True)


@cache
def _libraries() -> "tuple[LibController, ...]":
    from threadpoolctl import ThreadpoolController  # here, since importing it takes 10 ms

    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)
