"""Faults that only element values show: a kernel marks the first, the completion raises it."""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from strideweave.operation import ResolvedInvocation

FaultError: TypeAlias = Callable[[ResolvedInvocation, int], Exception]
"""Makes the exception for the smallest ordinal that was marked."""

NO_FAULT: Final = int(np.iinfo(np.int32).max)


def mark(ordinal: str) -> str:
    """Write the C statement that marks an ordinal; the smallest one stays."""
    return f"atomic_min(fault, (int)min((ulong)({ordinal}), (ulong){NO_FAULT - 1}));"


def int32_overflow(invocation: ResolvedInvocation, ordinal: int) -> OverflowError:
    """An exact result that no Int32 holds."""
    return OverflowError(
        f"{invocation.name}: an exact result is out of int32 range [{-(2**31)}, {2**31 - 1}]; "
        "convert the operands with cast(tensor, DType.Float32) to compute in Float32"
    )
