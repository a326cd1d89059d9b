"""Reductions of a Tensor with the two modes (kept, reduced), to which descriptions are lowered.

A fiber is the reduced mode at one kept coordinate, first leaf fastest. References fold one
reduced position after the other over all kept coordinates.
"""

import operator
from collections.abc import Callable, Iterator
from math import nan
from typing import Any, TypeAlias

from strideweave.carriers.base import Carrier
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
from strideweave.ops.metadata import (
    constant_like,
    layout_of,
    over_kept,
    reshaped_canonical,
    viewed,
)
from strideweave.ops.reference import Numbers, allocated, checked_int32, converted_operands
from strideweave.ops.results import Resolve, planned, resolved
from strideweave.ops.routing import choose, is_equal, is_less, is_nan
from strideweave.ops.schemas import schema, tensor, with_accumulator
from strideweave.tensor.tensor import Tensor, tensor_over

Fold: TypeAlias = Callable[[Values, Values], Values]

_PRODUCT_BLOCK = 2**20
"""Elements that a gradient of products reduces at once."""


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

    Replacing an element by 1 leaves the others' product exact, rounding included. A block of
    positions is one reduction of as many copies of each fiber.
    """
    (operand,) = context.saved_operands
    shape = operand.shape
    extent = shape[1].size
    # The only 1 of a row of zeros; a window into it marks one position per row of a block.
    marks = [0.0] * (2 * extent - 1)
    marks[extent - 1] = 1.0
    row = cotangent.carrier.new_like(marks)
    step = max(1, _PRODUCT_BLOCK // shape.size)
    others: Tensor | None = None
    for start in range(0, extent, step):
        block = _products_of_others(operand, row, range(start, min(start + step, extent)))
        others = block if others is None else evaluate("concat", others, block, 1)
    assert others is not None  # extents are at least 1
    return mul(over_kept(shape, cotangent), reshaped_canonical(others, shape))


def _products_of_others(operand: Tensor, row: Carrier, positions: range) -> Tensor:
    """For each kept coordinate and each of some positions, multiply the other elements.

    Args:
        operand: Modes (kept, reduced).
        row: Zeros around a single 1, which every reduced position can meet.
        positions: Positions in the fibers.

    Returns:
        A canonical Tensor with one leaf for the kept mode and one for the positions.
    """
    kept, reduced = operand.shape.top_level
    kept_shape, reduced_shape = operand.shape[0], operand.shape[1]
    strides = operand.layout.leaf_strides
    leaves = len(kept_shape.leaves)
    count = len(positions)
    block = Shape([[kept, count], reduced])
    repeated = viewed(operand, layout_of(block, (*strides[:leaves], 0, *strides[leaves:])))
    # Strides are not negative, so the last position comes first.
    along = canonical_layout(reduced_shape).leaf_strides
    windows = layout_of(block, ((0,) * leaves + (1, *along)))
    own = tensor_over(row, reduced_shape.size - 1 - positions[-1], windows)
    one, zero = constant_like(repeated, 1.0), constant_like(repeated, 0.0)
    products = evaluate("reduce_prod", choose(is_less(zero, own), one, repeated))
    return evaluate("flip", reshaped_canonical(products, Shape(kept_shape.size, count)), 1)


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
