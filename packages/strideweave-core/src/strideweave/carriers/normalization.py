"""The one normalization of slot values, shared by every shipped and definition-backed carrier."""

from collections.abc import Callable
from numbers import Integral, Real
from struct import Struct
from typing import Any, Final

from strideweave.dtype import DType

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1

_binary32 = Struct("f")  # native: a value too large becomes an infinity, without an error
_pack, _unpack = _binary32.pack, _binary32.unpack


def normalize_float32(value: object) -> float:
    """Round a real number to the nearest binary32 value, ties to even.

    Raises:
        TypeError: The value is not a ``numbers.Real``.
        OverflowError: An integer lies beyond the range of binary64.
    """
    if type(value) is not float:
        if not isinstance(value, Real):
            raise TypeError(f"a Float32 slot takes a real number, got {_described(value)}")
        value = float(value)
    rounded: float = _unpack(_pack(value))[0]
    return rounded


def normalize_int32(value: object) -> int:
    """Convert an integer to a Python int in the range of Int32.

    Raises:
        TypeError: The value is not a ``numbers.Integral``, or is a bool.
        OverflowError: The value lies outside Int32.
    """
    if type(value) is not int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise TypeError(
                f"an Int32 slot takes an integer other than bool, got {_described(value)}"
            )
        value = int(value)
    if not INT32_MIN <= value <= INT32_MAX:
        raise OverflowError(f"an Int32 slot takes values in [-2**31, 2**31 - 1], got {value}")
    return value


def normalize_bool(value: object) -> bool:
    """Accept exactly Python's own bool.

    Raises:
        TypeError: The value is anything else; ``0``, ``1`` and ``numpy.bool_`` included.
    """
    if value is True or value is False:
        return value
    raise TypeError(f"a Bool slot takes True or False, got {_described(value)}")


NORMALIZERS: Final[dict[DType, Callable[[object], Any]]] = {
    DType.Float32: normalize_float32,
    DType.Int32: normalize_int32,
    DType.Bool: normalize_bool,
}
"""The normalization of each concrete dtype; values of other dtypes pass unchanged."""


def normalize(dtype: DType, value: object) -> Any:
    """Normalize one slot value.

    Args:
        dtype: The storage dtype of the slot.
        value: What to store, or what a provider read.

    Returns:
        A Python ``float``, ``int`` or ``bool``; for other dtypes the same object.

    Raises:
        TypeError: The dtype does not take a value of this type.
        OverflowError: An integer is out of range.
    """
    normalizer = NORMALIZERS.get(dtype)
    return value if normalizer is None else normalizer(value)


def _described(value: object) -> str:
    return f"{value!r} ({type(value).__qualname__})"
