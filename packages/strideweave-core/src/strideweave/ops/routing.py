"""Choosing between gradients by a condition, also on carriers that store no Bool."""

import operator
from collections.abc import Callable
from typing import Any, TypeAlias, final

from strideweave._record import record
from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.operation.evaluation import evaluate
from strideweave.ops.alignment import PointwiseAlignment
from strideweave.ops.metadata import viewed
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
}
_FOUR = PointwiseAlignment(("lhs", "rhs", "on_true", "on_false"))


@final
@record
class Comparison:
    """A comparison that is evaluated where a choice needs it.

    Attributes:
        predicate: ``"eq"``, ``"ne"``, ``"lt"`` or ``"le"``.
        lhs: Left operand.
        rhs: Right operand.
    """

    predicate: str
    lhs: Tensor
    rhs: Tensor


Condition: TypeAlias = Comparison | Tensor


def is_less(lhs: Tensor, rhs: Tensor) -> Comparison:
    """Compare ``lhs < rhs``."""
    return Comparison("lt", lhs, rhs)


def is_at_most(lhs: Tensor, rhs: Tensor) -> Comparison:
    """Compare ``lhs <= rhs``."""
    return Comparison("le", lhs, rhs)


def is_equal(lhs: Tensor, rhs: Tensor) -> Comparison:
    """Compare ``lhs == rhs``."""
    return Comparison("eq", lhs, rhs)


def is_nan(tensor: Tensor) -> Comparison:
    """Compare ``tensor != tensor``."""
    return Comparison("ne", tensor, tensor)


def choose(condition: Condition, on_true: Tensor, on_false: Tensor) -> Tensor:
    """Take ``on_true`` where the condition holds, else ``on_false``; losers never leak.

    Args:
        condition: A comparison or a Bool Tensor.
        on_true: Float32.
        on_false: Float32; all shapes align.

    Returns:
        A Float32 Tensor in the common shape.
    """
    if isinstance(condition, Comparison):
        if not condition.lhs.carrier.supports_storage_dtype(DType.Bool):
            return _chosen_by_value(condition, on_true, on_false)
        condition = evaluate(condition.predicate, condition.lhs, condition.rhs)
    return evaluate("select", condition, on_true, on_false)


def _chosen_by_value(condition: Comparison, on_true: Tensor, on_false: Tensor) -> Tensor:
    operands = (condition.lhs, condition.rhs, on_true, on_false)
    layouts = _FOUR.align(tuple(operand.layout for operand in operands))
    columns = [
        logical_values(viewed(operand, layout))
        for operand, layout in zip(operands, layouts, strict=True)
    ]
    holds = map(_COMPARISONS[condition.predicate], columns[0], columns[1])
    chosen = [
        value if truth else other
        for truth, value, other in zip(holds, columns[2], columns[3], strict=True)
    ]
    return tensor_over(on_true.carrier.new_like(chosen), 0, canonical_layout(layouts[0].shape))
