"""``cast``: one operation per target dtype."""

import math
from collections.abc import Callable, Iterable
from typing import Any

from strideweave.dtype import DType
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.policy import INT32_MAX, INT32_MIN
from strideweave.operation.schema import NON_DIFFERENTIABLE, NonDifferentiable
from strideweave.ops.gradients import VJP, pass_through, vjp_of
from strideweave.ops.reference import pointwise_reference
from strideweave.ops.results import nothing_saved, pointwise_resolve
from strideweave.ops.schemas import role_dtypes, schema, tensor


def int32_cast_overflow(value: float) -> OverflowError:
    """Build the error of casting a value that no Int32 represents."""
    return OverflowError(
        f"cast: {value!r} is out of int32 range [{INT32_MIN}, {INT32_MAX}]; clamp the tensor "
        "before casting"
    )


def _truncated(values: Iterable[float]) -> list[int]:
    converted: list[int] = []
    for value in values:
        if not (math.isfinite(value) and INT32_MIN <= math.trunc(value) <= INT32_MAX):
            raise int32_cast_overflow(value)
        converted.append(math.trunc(value))
    return converted


def _is_nonzero(values: Iterable[float]) -> list[bool]:
    return [value != 0 for value in values]


def _define_cast(
    name: str, compute: Callable[[Any], Iterable[Any]], vjp: VJP | NonDifferentiable
) -> OperationDefinition:
    return define_builtin(
        name,
        (schema(tensor("tensor", differentiable=vjp is not NON_DIFFERENTIABLE)),),
        pointwise_resolve(nothing_saved, exact=True),
        reference=pointwise_reference(compute),
        vjp=vjp,
        roles=role_dtypes("cast", tensor=(DType.Float32, DType.Int32, DType.Bool)),
    )


CAST_FLOAT32 = _define_cast("_cast_float32", list, vjp_of(tensor=pass_through))
CAST_INT32 = _define_cast("_cast_int32", _truncated, NON_DIFFERENTIABLE)
CAST_BOOL = _define_cast("_cast_bool", _is_nonzero, NON_DIFFERENTIABLE)
