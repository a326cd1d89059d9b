"""Python values as the bytes that storage carriers keep."""

from array import array
from collections.abc import Iterable
from typing import Any

from strideweave.carriers.construction import SPAN_TYPECODES
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.dtype import DType
from strideweave.dtype.storage import storage_zero
from strideweave.host import SPAN_FORMATS


def packed(values: Iterable[Any], dtype: DType, *, carrier: str) -> "memoryview[Any]":
    """Normalize values and lay them out in memory as a storage carrier does.

    Args:
        values: One value per slot; None becomes zero. A one-dimensional buffer of the dtype's
            format is taken as it is.
        dtype: A dtype that has spans.
        carrier: The carrier class, for messages.

    Returns:
        One item per value; possibly the buffer that was given.

    Raises:
        TypeError: ``values`` is not iterable, or holds what the dtype does not take.
        OverflowError: An integer is out of the dtype's range.
    """
    buffer = _as_span(values, dtype)
    if buffer is not None:
        return buffer
    normalizer, zero = NORMALIZERS[dtype], storage_zero(dtype)
    try:
        entries = iter(values)
    except TypeError as error:
        raise TypeError(
            f"{carrier}: values must be iterable, got {values!r} ({type(values).__qualname__})"
        ) from error
    image: array[Any] = array(SPAN_TYPECODES[dtype])
    image.extend(zero if value is None else normalizer(value) for value in entries)
    return memoryview(image)


def _as_span(values: object, dtype: DType) -> "memoryview[Any] | None":
    try:
        view = memoryview(values)  # type: ignore[arg-type]  # the call is the test
    except TypeError:
        return None
    fits = view.format == SPAN_FORMATS[dtype] and view.ndim == 1 and view.c_contiguous
    return view if fits else None
