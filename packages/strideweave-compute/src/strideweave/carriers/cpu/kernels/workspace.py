"""Memory for intermediate products, kept for the next kernel.

What goes back to the system is cleared before it is given again, which takes longer than a copy.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Array

_BYTES = 2**24 + 2**20
"""Larger memory is not kept, and smaller memory not made: what is not touched costs nothing."""
_MOST_KEPT = 2

_kept: list[NDArray[numpy.uint8]] = []


@contextmanager
def workspace(elements: int, dtype: "numpy.dtype[Any]") -> Iterator[Array]:
    """Lend memory that holds anything.

    Args:
        elements: How many.
        dtype: Of which dtype.

    Yields:
        A flat array, which nothing may use afterwards.
    """
    size = elements * dtype.itemsize
    try:
        memory = _kept.pop() if size <= _BYTES else numpy.empty(size, numpy.uint8)
    except IndexError:
        memory = numpy.empty(_BYTES, numpy.uint8)
    yield memory[:size].view(dtype)
    # Not after a failure, when another thread may still write to it.
    if len(memory) <= _BYTES and len(_kept) < _MOST_KEPT:
        _kept.append(memory)
