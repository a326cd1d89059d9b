"""Values that the checks keep in carriers."""

import math
import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final

from strideweave.carriers.construction import SPAN_TYPECODES
from strideweave.carriers.spans import span_view
from strideweave.dtype import DType, SimpleDType
from strideweave.testing.operation_case import Value

SPECIAL: Final[Mapping[SimpleDType, Sequence[Value]]] = {
    DType.Float32: (
        *(0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan),
        *(2.0**-149, -(2.0**-130), 2.0**-126, 3.4028234663852886e38, -3.4028234663852886e38),
    ),
    DType.Int32: (0, 1, -1, 255, 256, -257, 65536, 2**24 + 1, 2**31 - 1, -(2**31)),
    DType.Bool: (True, False, False, True, True),
}
"""Values at the ends of each dtype, exact in binary32."""


def distinct(dtype: SimpleDType, count: int, salt: int = 0) -> list[Value]:
    """Make values by which neighbours, and bytes of a value, are told apart."""
    if dtype is DType.Bool:
        return [bool((slot + salt) * 2654435761 >> 7 & 1) for slot in range(count)]
    numbers = [((slot + salt) * 40503 + 12289) % 8388593 + 1 for slot in range(count)]
    return [number if dtype is DType.Int32 else number / 4 for number in numbers]


def same(found: object, expected: object) -> bool:
    """Compare type and value, with the sign of zero; NaN equals NaN."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, float) and isinstance(expected, float):
        if math.isnan(expected):
            return math.isnan(found)
        return struct.pack("d", found) == struct.pack("d", expected)
    return found == expected


def span_of(dtype: SimpleDType, values: Sequence[Value]) -> "memoryview[Any]":
    """Put values into a fresh writable buffer."""
    return span_view(array(SPAN_TYPECODES[dtype], values))
