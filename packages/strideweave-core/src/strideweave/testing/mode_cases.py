"""Cases of operations that treat the modes of an operand differently."""

from collections.abc import Iterator
from typing import Any

from strideweave.dtype import DType, SimpleDType
from strideweave.layout.shape import Shape
from strideweave.operation.policy import OperationPlan
from strideweave.testing.case_values import Choose, options_of, plan_name
from strideweave.testing.operation_case import OperandCase, OperationCase, operand, placements

FLAT, NESTED = Shape(3, 4), Shape(2, (3, 2))
_ALONG = ((FLAT, 0), (FLAT, 1), (NESTED, 1))
"""Shapes with a mode that an operation works along."""


def _dtype_of(plan: OperationPlan, position: int) -> SimpleDType:
    dtype = plan.operands[position].dtype
    assert dtype is not None
    return dtype


def _placed(
    plan: OperationPlan, position: int, shape: Shape, family: str, choose: Choose
) -> OperandCase:
    layout, offset = placements(shape)[family]
    return operand(_dtype_of(plan, position), choose(plan, position), layout, offset)


def reduction_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Reductions by description."""
    is_free = plan.operation == "reduce_sum" and _dtype_of(plan, 0) is DType.Float32
    commands = {
        FLAT: ("a b -> a", "a b -> b", "a b -> 1", "a b -> (a 1)"),
        NESTED: ("a b -> a", "a (b c) -> c a", "a (b c) -> (b a)"),
    }
    for shape, descriptions in commands.items():
        for family in placements(shape):
            for description in descriptions:
                yield OperationCase(
                    f"{plan_name(plan)} '{description}' {family} {shape}",
                    plan.operation,
                    (_placed(plan, 0, shape, family, choose),),
                    options_of(plan),
                    description,
                    "sum" if is_free else "exact",
                )


def slice_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Scans and indexing along one mode, whose number is the last operand."""
    indices = operand(DType.Int32, (2, 0), placements(Shape(2, 1))["transposed"][0])
    for shape, axis in _ALONG:
        for family in placements(shape):
            operands: tuple[Any, ...] = (_placed(plan, 0, shape, family, choose),)
            if len(plan.operands) > 1:
                operands = (*operands, indices)
            if len(plan.operands) > 2:
                modes = [*shape.top_level[:axis], 2, 1, *shape.top_level[axis + 1 :]]
                operands = (*operands, _placed(plan, 2, Shape(modes), "padded", choose))
            yield OperationCase(
                f"{plan_name(plan)} axis {axis} {family} {shape}",
                plan.operation,
                (*operands, axis),
            )


def concat_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Joins along the first and along the last leaf mode."""
    joins = ((FLAT, Shape(2, 4), 0), (FLAT, Shape(3, 1), 1), (NESTED, Shape(1, (3, 2)), 0))
    for lhs, rhs, axis in joins:
        families = list(placements(lhs))
        for family, other in zip(families, [*families[1:], families[0]], strict=True):
            yield OperationCase(
                f"{plan_name(plan)} axis {axis} {family} {lhs} {other} {rhs}",
                plan.operation,
                (
                    _placed(plan, 0, lhs, family, choose),
                    _placed(plan, 1, rhs, other, choose),
                    axis,
                ),
            )


def pad_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Borders around leaf modes."""
    values = {DType.Float32: -0.5, DType.Int32: -3, DType.Bool: True}
    borders = ((FLAT, ((1, 2), (0, 1))), (FLAT, ((0, 0), (2, 0))), (NESTED, ((2, 1), (0, 0))))
    for shape, padding in borders:
        for family in placements(shape):
            yield OperationCase(
                f"{plan_name(plan)} {padding} {family} {shape}",
                plan.operation,
                (
                    _placed(plan, 0, shape, family, choose),
                    padding,
                    values[_dtype_of(plan, 0)],
                ),
            )


def sort_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Whole orders in both directions."""
    for descending in (False, True):
        yield from _ordering_cases(plan, choose, (), descending)


def topk_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """The first two positions of both directions."""
    for largest in (False, True):
        yield from _ordering_cases(plan, choose, (2,), largest)


def _ordering_cases(
    plan: OperationPlan, choose: Choose, count: tuple[int, ...], flag: bool
) -> Iterator[OperationCase]:
    for shape, axis in _ALONG:
        for family in placements(shape):
            yield OperationCase(
                f"{plan_name(plan)} axis {axis} {flag} {family} {shape}",
                plan.operation,
                (_placed(plan, 0, shape, family, choose), *count, axis, flag),
            )
