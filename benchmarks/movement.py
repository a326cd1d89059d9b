"""Moves between CPU and files beside the bare system calls for the same bytes.

Both sides create, fill and delete a file of the temporary directory, or read one into fresh
memory. Run it with ``python benchmarks/movement.py``; the exit status tells whether every target
is kept.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy
from measuring import Comparison, report

import strideweave as sw

Array: TypeAlias = numpy.ndarray[Any, numpy.dtype[numpy.float32]]

SLOTS = 1 << 26  # 256 MiB
LAYOUT = sw.Layout.leaf(SLOTS, 1)
TARGET = 1.2


def _values() -> Array:
    return numpy.random.default_rng(7).standard_normal(SLOTS, numpy.float32)


@contextmanager
def _new_file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
        os.unlink(path)


def _write_bare(descriptor: int, values: Array) -> None:
    remaining, position = values.data.cast("B"), 0
    while remaining:
        count = os.pwritev(descriptor, [remaining], position)
        remaining, position = remaining[count:], position + count


def _read_bare(descriptor: int) -> Array:
    values = numpy.empty(SLOTS, numpy.float32)
    remaining, position = values.data.cast("B"), 0
    while remaining:
        count = os.preadv(descriptor, [remaining], position)
        remaining, position = remaining[count:], position + count
    return values


def _comparisons(folder: Path, descriptor: int, values: Array) -> list[Comparison]:
    source = sw.Tensor(sw.CPU(0).new_like(values), 0, LAYOUT)
    stored = sw.copy(source, sw.FileBacked())
    hierarchy = sw.Evictable(sw.CPU(0).new_like(values), sw.FileBacked())

    def write() -> None:
        file = sw.FileBacked()
        sw.copy(source, file)
        file.release()

    def write_bare() -> None:
        with _new_file(folder / "written") as fresh:
            _write_bare(fresh, values)

    def read() -> sw.Tensor:
        return sw.copy(stored, sw.CPU(SLOTS, empty=True))

    def evict_and_promote() -> None:
        hierarchy.evict()
        hierarchy.promote()

    def write_and_read_bare() -> None:
        with _new_file(folder / "written") as fresh:
            _write_bare(fresh, values)
            _read_bare(fresh)

    assert numpy.array_equal(numpy.asarray(read()), _read_bare(descriptor))
    return [
        Comparison("CPU to file, 256 MiB", write, write_bare, TARGET),
        Comparison("file to CPU, 256 MiB", read, lambda: _read_bare(descriptor), TARGET),
        Comparison("evict and promote, 256 MiB", evict_and_promote, write_and_read_bare, TARGET),
    ]


def main() -> int:
    """Measure the moves and print the ratios.

    Returns:
        The exit status.
    """
    values = _values()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with _new_file(folder / "stored") as descriptor:
            _write_bare(descriptor, values)
            return report(_comparisons(folder, descriptor, values))


if __name__ == "__main__":
    sys.exit(main())
