"""What Metal executes. MLX adds and multiplies integers modulo 2**32, so those plans are absent."""

from collections.abc import Mapping
from typing import Final

from strideweave.dtype import DType
from strideweave.operation.capability import OperationCapability
from strideweave.operation.policy import Arithmetic, OperationPlan, resolvable_plans

_LETTERS: Final = {DType.Float32: "F", DType.Int32: "I", DType.Bool: "B", None: "s"}

_MIXED: Final = "FF FI IF"
_OPERANDS_BY_NAMES: Final[Mapping[str, str]] = {
    "abs ceil cos erf exp2 floor log log2 neg recip relu round rsqrt sign sin sqrt": "F",
    "elu exp gelu leaky_relu sigmoid silu softplus tanh": "F I",
    "add sub elementwise_mul": _MIXED,
    "maximum minimum rem": "FF",
    "mul": f"{_MIXED} Fs Is",
    "div": f"{_MIXED} II",
    "pow": f"{_MIXED} II Fs Is sF sI",
    "eq ne lt le": "FF",
    "logical_not": "F",
    "logical_and logical_or logical_xor": "BB",
    "clamp": "FFF FFs FsF Fss",
    "select": "BFF",
    "reduce_sum reduce_prod reduce_max reduce_min cumsum argmax argmin": "F",
    "matmul _batched_matmul conv_general": "FF",
    "_cast_float32 _cast_bool": "F I B",
    "_cast_int32": "B I",
    "concat": "FF II BB",
    "pad flip": "F I B",
    "gather": "FI",
    "scatter scatter_add": "FIF",
    "_sort_values _sort_indices _topk_values _topk_indices": "F",
}
"""Operand dtypes by operation; F, I and B are the Tensors, s is a number."""

_OPERANDS: Final = {
    name: frozenset(operands.split())
    for names, operands in _OPERANDS_BY_NAMES.items()
    for name in names.split()
}
_COPIES: Final = frozenset({"_cast_bool", "_cast_int32", "concat", "flip", "pad"}) | {
    "logical_and",
    "logical_or",
    "logical_xor",
}
"""Operations that compute no integer, though their plans are in integer arithmetic."""


def metal_capabilities() -> tuple[OperationCapability, ...]:
    """List the plans that Metal executes, the same on every device and without MLX.

    Returns:
        One capability per plan, without repeats.
    """
    return tuple(map(OperationCapability.from_plan, filter(_is_executed, resolvable_plans())))


def _is_executed(plan: OperationPlan) -> bool:
    letters = "".join(_LETTERS[entry.dtype] for entry in plan.operands)
    return (
        letters in _OPERANDS.get(plan.operation, ())
        and plan.accumulator_dtype in (None, DType.Float32)
        and (plan.compute is Arithmetic.BINARY32 or plan.operation in _COPIES)
    )
