"""Python values as the bytes that storage carriers keep."""

from array import array
from collections.abc import Iterable
from typing import Any

from strideweave.carriers.construction import SPAN_TYPECODES
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.dtype import DType
from strideweave.dtype.storage import storage_zero


def packed(values: Iterable[Any], dtype: DType, *, carrier: str) -> "memoryview[Any]":
    """Normalize values and lay them out in memory as a storage carrier does.

    Args:
        values: One value per slot; None becomes zero.
        dtype: A dtype that has spans.
        carrier: The carrier class, for messages.

    Returns:
        One item per value.

    Raises:
        TypeError: ``values`` is not iterable, or holds what the dtype does not take.
        OverflowError: An integer is out of the dtype's range.
    """
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
