"""Cases of contractions of two operands."""

from collections.abc import Iterable, Iterator

from strideweave.dtype import DType
from strideweave.layout.shape import Shape
from strideweave.operation.policy import OperationPlan
from strideweave.testing.case_values import Choose, options_of, plan_name
from strideweave.testing.operation_case import OperationCase, operand, placements


def matmul_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Products of matrices, flat and with nested modes, and by description."""
    commands = (
        (Shape(3, 4), Shape(5, 4), None),
        (Shape((2, 3), (2, 2)), Shape(2, 4), None),
        (Shape(4, (2, 3)), Shape(3, 2, 4), "a (b c), c d a -> (d b) 1"),
    )
    yield from _cases(plan, choose, commands)


def batched_matmul_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Batches of products, flat and with nested modes, and by description."""
    commands = (
        (Shape(2, 3, 4), Shape(2, 2, 4), None),
        (Shape((5, 2), 1, (2, 2)), Shape(10, 2, 4), None),
        (Shape(2, 3, 4), Shape(4, 2, 2), "b i k, k j b -> i 1 (b j)"),
        (Shape(2, (3, 2)), Shape(6, 2), "a b, b a -> b a"),
    )
    yield from _cases(plan, choose, commands)


def _cases(
    plan: OperationPlan, choose: Choose, commands: Iterable[tuple[Shape, Shape, str | None]]
) -> Iterator[OperationCase]:
    for lhs, rhs, description in commands:
        if description is not None and options_of(plan):
            continue  # a description takes the default accumulator
        for family in placements(lhs):
            operands = tuple(
                operand(
                    entry.dtype or DType.Float32,
                    choose(plan, position),
                    *placements(shape)[family],
                )
                for position, (entry, shape) in enumerate(
                    zip(plan.operands, (lhs, rhs), strict=True)
                )
            )
            yield OperationCase(
                f"{plan_name(plan)} {family} {lhs} {rhs} {description or ''}",
                plan.operation,
                operands,
                options_of(plan),
                description,
                "exact" if plan.output is DType.Int32 else "sum",
            )
