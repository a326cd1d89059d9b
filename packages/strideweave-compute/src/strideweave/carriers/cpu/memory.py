"""Memory for the storage of CPU carriers."""

import mmap
import sys
from typing import Any, Final

import numpy
from numpy.typing import NDArray

PAGED_BYTES: Final = 2**18
"""From this length on, storage starts at a page."""


def new_storage(slots: int, element: "numpy.dtype[Any]", *, empty: bool) -> NDArray[Any]:
    """Allocate storage, where it is large at the start of a page.

    A block device can transfer such memory directly, without a copy in between. NumPy's own large
    arrays start a few bytes behind a page.

    Args:
        slots: Slot count, at least 0.
        element: The element type.
        empty: Leave it uninitialized instead of zero.

    Returns:
        A one-dimensional contiguous array.

    Raises:
        MemoryError: The system does not have that much.
    """
    allocate = numpy.empty if empty else numpy.zeros
    length = slots * element.itemsize
    if not PAGED_BYTES <= length <= sys.maxsize - mmap.PAGESIZE:
        return allocate(slots, element)
    room = allocate(length + mmap.PAGESIZE - 1, numpy.uint8)
    start = -room.__array_interface__["data"][0] % mmap.PAGESIZE
    return room[start : start + length].view(element)


def copied_storage(values: NDArray[Any]) -> NDArray[Any]:
    """Copy a one-dimensional array into fresh storage of its element type."""
    if values.nbytes < PAGED_BYTES:
        return numpy.array(values)
    storage = new_storage(len(values), values.dtype, empty=True)
    storage[:] = values
    return storage
