"""What a dtype plan gives to its cases: operand values, numbers, options and a name."""

from collections.abc import Callable, Sequence
from math import inf, nan
from typing import TypeAlias

from strideweave.dtype import DType
from strideweave.operation.policy import OperationPlan
from strideweave.testing.operation_case import Value

# Gives the values of the Tensor operand at a position of the plan.
Choose: TypeAlias = Callable[[OperationPlan, int], Sequence[Value]]

_SPECIAL_FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, inf, -inf, nan),
    *(1e-40, -1e-40, 3e38, -3e38, 16777217.0, 89.0, -104.0),
)
_MODERATE_FLOATS = (0.5, -1.25, 3.0, 0.1, -2.7, 1e-3, 7.25, -0.3, 1.5, -4.0, 2.0)
_SMALL_INTEGERS = (0, 1, -1, 2, 7, -5, 46340, -46340)
# Of two operands the second begins five values later: 2**24 meets its neighbour, which no float is.
_EXTREME_INTEGERS = (16777216, 1, -1, 2**31 - 1, -(2**31), 16777217, -16777217, 0)
_TRUTHS = (True, False, False, True, True)
_FACTORS = (3, -2, 7, 0, 11, -40)
_CASTABLE_FLOATS = (0.0, -0.0, 1.9, -1.9, 2147483520.0, -2147483648.0, 1e-40, 16777216.0)

# Positive, distinct, and far from each other, from integers and from halves.
_SMOOTH = (
    (0.7, 1.3, 2.4, 0.35, 1.85, 3.15, 0.95, 2.75, 1.6, 0.55, 2.05, 3.45),
    (1.1, 0.47, 2.9, 1.72, 0.83, 2.22, 3.3, 1.43, 2.58, 0.62, 1.97, 3.02),
    (2.65, 1.22, 3.1, 1.9, 0.76, 2.3, 1.5, 0.41),
)
_TIED_FLOATS = (1.0, 3.0, 3.0, -2.0, -2.0, 3.0, 1.0)
_TIED_INTEGERS = (1, 3, 3, -2, -2, 3, 1)
_SMOOTH_INTEGERS = (2, 3, 1, 4)

_SMALL_RESULTS = frozenset({"add", "sub", "mul", "elementwise_mul", "pow", "reduce_sum"})
_PRODUCTS = frozenset({"matmul", "_batched_matmul", "conv_general"})
_POSITIVE_ONLY = frozenset({"log", "log2", "sqrt", "rsqrt", "pow", "rem", "clamp"})


def special_values(plan: OperationPlan, position: int) -> Sequence[Value]:
    """Special values, rotated so that operands meet in different pairs."""
    values = _special(plan, position)
    shift = 5 * position
    return (*values[shift:], *values[:shift])


def _special(plan: OperationPlan, position: int) -> Sequence[Value]:
    dtype = plan.operands[position].dtype
    name = plan.operation
    if dtype is DType.Bool:
        return _TRUTHS
    if dtype is DType.Int32:
        if name in _PRODUCTS:
            return _FACTORS
        return _SMALL_INTEGERS if name in _SMALL_RESULTS else _EXTREME_INTEGERS
    if name == "reduce_sum" or name in _PRODUCTS:
        return _MODERATE_FLOATS  # sums in free order agree only while they stay finite
    return _CASTABLE_FLOATS if name == "_cast_int32" else _SPECIAL_FLOATS


def smooth_values(plan: OperationPlan, position: int) -> Sequence[Value]:
    """Values around which the operation has a derivative."""
    dtype = plan.operands[position].dtype
    if dtype is DType.Bool:
        return _TRUTHS
    if dtype is DType.Int32:
        return _SMOOTH_INTEGERS
    if plan.operation == "rem" and position == 1:
        return (1.1,)  # keeps every quotient away from the integers
    values = _SMOOTH[position]
    if plan.operation in _POSITIVE_ONLY:
        return values
    return tuple(value if index % 3 else -value for index, value in enumerate(values))


def tied_values(plan: OperationPlan, position: int) -> Sequence[Value]:
    """Values of which several are the largest, and several the smallest."""
    dtype = plan.operands[position].dtype
    if dtype is DType.Bool:
        return _TRUTHS
    return _TIED_INTEGERS if dtype is DType.Int32 else _TIED_FLOATS


def failing_values(plan: OperationPlan, position: int) -> Sequence[Value]:
    """Values from which exact integer results leave their range."""
    dtype = plan.operands[position].dtype
    if dtype is DType.Bool:
        return _TRUTHS
    if dtype is DType.Int32:
        return (2**31 - 1, -(2**31)) if position == 0 else (2, 2)
    return (3e10, nan, inf, -3e10)


def number_of(plan: OperationPlan, position: int) -> float | int:
    """The Python number at a weak-scalar position."""
    if plan.operands[position].convert_to is DType.Int32:
        return 2 if plan.operation == "pow" else 3
    return 2.5 if plan.operation == "clamp" and position == 2 else 0.77


def plan_name(plan: OperationPlan) -> str:
    """Operation, operand dtypes and a wide accumulator, for the names of cases."""
    sources = ",".join(
        f"number as {entry.convert_to.name}" if entry.dtype is None else entry.dtype.name
        for entry in plan.operands
    )
    suffix = " in Float64" if plan.accumulator_dtype is DType.Float64 else ""
    return f"{plan.operation}({sources}){suffix}"


def options_of(plan: OperationPlan) -> dict[str, object]:
    """The options that select a plan."""
    wide = plan.accumulator_dtype is DType.Float64
    return {"accumulator_dtype": DType.Float64} if wide else {}
