"""Reductions of a Tensor with the two modes (kept, reduced), to which descriptions are lowered.

A fiber is the reduced mode at one kept coordinate, first leaf fastest. References fold one
reduced position after the other over all kept coordinates.
"""

import operator
from collections.abc import Callable, Iterator
from math import nan
from typing import Any, TypeAlias

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.shape import Shape
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.operation.policy import INT32_MAX, Arithmetic
from strideweave.operation.schema import NON_DIFFERENTIABLE
from strideweave.ops import binary32
from strideweave.ops.binary32 import Values
from strideweave.ops.gradients import VJP, div, mul, vjp_of
from strideweave.ops.metadata import constant_like, filled, layout_of, over_kept
from strideweave.ops.reference import Numbers, allocated, checked_int32, converted_operands
from strideweave.ops.results import Resolve, planned, resolved
from strideweave.ops.routing import choose, is_equal, is_less, is_nan
from strideweave.ops.schemas import schema, tensor, with_accumulator
from strideweave.tensor.tensor import Tensor, tensor_over

Fold: TypeAlias = Callable[[Values, Values], Values]


def _reduced_operand(call: BoundOperationCall) -> Tensor:
    operand: Any = call.operands[0]
    if len(operand.layout) != 2:
        raise ValueError(
            f"{call.definition.name}: tensor must have exactly two top-level modes (kept, "
            f"reduced), got {len(operand.layout)} in {operand.layout}; describe the reduction, "
            "such as 'a b -> a'"
        )
    return operand  # type: ignore[no-any-return]  # bound as a Tensor


def _resolve_reduction(*, saved: tuple[int, ...], exact: bool) -> Resolve:
    def resolve(call: BoundOperationCall) -> ResolvedInvocation:
        plan = planned(call)
        kept = canonical_layout(_reduced_operand(call).shape[0])
        is_exact = exact or plan.compute is not Arithmetic.BINARY32
        return resolved(call, plan, kept, saved=saved, exact=is_exact)

    return resolve


def _steps(invocation: ResolvedInvocation) -> Iterator[Numbers]:
    """Yield the values of all kept coordinates, one reduced position after the other."""
    (values,) = converted_operands(invocation)
    kept = invocation.results[0].layout.size
    for start in range(0, len(values), kept):
        yield values[start : start + kept]


def _sum(invocation: ResolvedInvocation) -> Tensor:
    plan = invocation.plan
    kept = invocation.results[0].layout.size
    totals: Numbers
    if plan.compute is not Arithmetic.BINARY32:
        totals = [sum(column) for column in zip(*_steps(invocation), strict=True)]
        return allocated(invocation, checked_int32(invocation.name, totals))
    totals = [0.0] * kept
    if plan.accumulator_dtype is DType.Float64:
        for step in _steps(invocation):
            totals = [total + value for total, value in zip(totals, step, strict=True)]
        return allocated(invocation, binary32.rounded(totals))
    for step in _steps(invocation):
        totals = binary32.add(totals, step)
    return allocated(invocation, totals)


def _sum_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    operand: Any = context.invocation.operands[0]
    return over_kept(operand.shape, cotangent)


REDUCE_SUM = define_builtin(
    "reduce_sum",
    (with_accumulator(tensor("tensor")),),
    _resolve_reduction(saved=(), exact=False),
    reference=_sum,
    vjp=vjp_of(tensor=_sum_gradient),
)


def _define_fold(name: str, fold: Fold, vjp: VJP) -> OperationDefinition:
    """Define a reduction that combines a fiber's values pairwise, in order."""

    def reference(invocation: ResolvedInvocation) -> Tensor:
        steps = _steps(invocation)
        totals = next(steps)
        for step in steps:
            totals = fold(totals, step)
        return allocated(invocation, totals)

    return define_builtin(
        name,
        (schema(tensor("tensor")),),
        _resolve_reduction(saved=(0,), exact=True),
        reference=reference,
        vjp=vjp,
    )


def _winner_gradient(name: str) -> VJP:
    """Give the elements that equal the result equal shares; NaN where the result is NaN."""

    def rule(context: VJPContext, cotangent: Tensor) -> Tensor:
        (operand,) = context.saved_operands
        shape = operand.shape
        winner = over_kept(shape, evaluate(name, operand))
        one, zero = constant_like(operand, 1.0), constant_like(operand, 0.0)
        wins = is_equal(operand, winner)
        count = evaluate("reduce_sum", choose(wins, one, zero))
        share = choose(wins, over_kept(shape, div(cotangent, count)), zero)
        return choose(is_nan(winner), constant_like(operand, nan), share)

    return vjp_of(tensor=rule)


REDUCE_MAX = _define_fold("reduce_max", binary32.maximum, _winner_gradient("reduce_max"))
REDUCE_MIN = _define_fold("reduce_min", binary32.minimum, _winner_gradient("reduce_min"))


def _product_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    """Multiply the cotangent by the product, in order, of the other elements of the fiber.

    Replacing an element by 1 leaves the others' product exact, so each position is one reduction.
    """
    (operand,) = context.saved_operands
    shape = operand.shape
    one, zero = constant_like(operand, 1.0), constant_like(operand, 0.0)
    gradient = filled(shape, 0.0, like=cotangent)
    for marks in _one_hot_positions(cotangent, shape):
        own = is_less(zero, marks)
        others = evaluate("reduce_prod", choose(own, one, operand))
        gradient = choose(own, over_kept(shape, mul(cotangent, others)), gradient)
    return gradient


def _one_hot_positions(like: Tensor, shape: Shape) -> Iterator[Tensor]:
    """Yield for each reduced position a Tensor that is 1 exactly there.

    All of them are windows into one row of zeros around a single 1.
    """
    reduced = shape[1]
    extent = reduced.size
    row = like.carrier.new_like([float(slot == extent - 1) for slot in range(2 * extent - 1)])
    strides = canonical_layout(reduced).leaf_strides
    kept_leaves = len(shape[0].leaves)
    layout = layout_of(shape, (0,) * kept_leaves + strides)
    for position in range(extent):
        yield tensor_over(row, extent - 1 - position, layout)


REDUCE_PROD = _define_fold("reduce_prod", binary32.mul, vjp_of(tensor=_product_gradient))


def _resolve_position(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    shape = _reduced_operand(call).shape
    if shape[1].size - 1 > INT32_MAX:
        raise OverflowError(
            f"{call.definition.name}: a fiber of {shape[1].size} elements has positions out of "
            "int32 range; reduce in two steps"
        )
    return resolved(call, plan, canonical_layout(shape[0]))


def _define_position(name: str, beats: Callable[[float, float], bool]) -> OperationDefinition:
    """Define a reduction to the first winning ordinal of each fiber; the first NaN wins."""

    def reference(invocation: ResolvedInvocation) -> Tensor:
        steps = _steps(invocation)
        winners: Values = list(next(steps))
        positions = [0] * len(winners)
        for position, step in enumerate(steps, 1):
            for fiber, value in enumerate(step):
                winner = winners[fiber]
                if winner == winner and (value != value or beats(value, winner)):
                    winners[fiber] = value
                    positions[fiber] = position
        return allocated(invocation, positions)

    return define_builtin(
        name,
        (schema(tensor("tensor", differentiable=False)),),
        _resolve_position,
        reference=reference,
        vjp=NON_DIFFERENTIABLE,
    )


ARGMAX = _define_position("argmax", operator.gt)
ARGMIN = _define_position("argmin", operator.lt)
