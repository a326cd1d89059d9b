"""Python values as NumPy storage."""

from array import array
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.memory import copied_storage
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.dtype import DType
from strideweave.dtype.storage import storage_zero

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[numpy.float32]
Integers: TypeAlias = NDArray[numpy.int32]
Bools: TypeAlias = NDArray[numpy.bool_]

NUMPY_DTYPES: Final[dict[DType, numpy.dtype[Any]]] = {
    DType.Float32: numpy.dtype(numpy.float32),
    DType.Int32: numpy.dtype(numpy.int32),
    DType.Bool: numpy.dtype(numpy.bool_),
}
"""The element type that stores each dtype."""

_TYPECODES: Final[dict[DType, str]] = {DType.Float32: "f", DType.Int32: "i", DType.Bool: "b"}
_PLAIN_TYPES: Final[dict[DType, frozenset[type]]] = {
    DType.Float32: frozenset({float, int, bool}),
    DType.Int32: frozenset({int}),
    DType.Bool: frozenset({bool}),
}


def storage_array(values: Iterable[Any], dtype: DType, carrier: str = "CPU") -> Array:
    """Copy values into fresh storage.

    Args:
        values: One value per slot; None becomes zero. A one-dimensional array of the element type
            of ``dtype`` is copied as it is.
        dtype: A dtype that the carrier stores.
        carrier: Name of the carrier class, for messages.

    Returns:
        A one-dimensional contiguous array.

    Raises:
        TypeError: ``values`` is not iterable or holds what the dtype does not take.
        OverflowError: An integer is out of the dtype's range.
    """
    element = NUMPY_DTYPES[dtype]
    if isinstance(values, numpy.ndarray) and values.ndim == 1 and values.dtype == element:
        return copied_storage(values)
    try:
        entries = list(values)
    except TypeError:
        if isinstance(values, Iterable):
            raise
        raise TypeError(
            f"{carrier}.new_like: values must be iterable, got {values!r} "
            f"({type(values).__qualname__})"
        ) from None
    types = set(map(type, entries))
    if type(None) in types:
        entries = [storage_zero(dtype) if value is None else value for value in entries]
        types.discard(type(None))
    if types <= _PLAIN_TYPES[dtype]:
        try:
            return numpy.array(array(_TYPECODES[dtype], entries), element)
        except OverflowError:
            pass  # the loop below names the value
    return numpy.array([NORMALIZERS[dtype](value) for value in entries], element)


def zero_or_one(values: Array) -> Array:
    """Normalize bytes of Bool that others may have written; other types stay as they are."""
    if values.dtype != numpy.bool_:
        return values
    return numpy.not_equal(values.view(numpy.uint8), 0)
