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


_CONVOLUTIONS = (
    (Shape(2, 3, 5), Shape(4, 3, 3), ((1,), ((0, 0),))),
    (Shape(2, 4, 3), Shape(2, 2, 2), ((2,), ((1, 2),), (2,), (3,), 2)),
    (Shape(1, 2, 4, 3), Shape(2, 2, 3, 2), ((1, 2), ((1, 0), (0, 2)))),
    (Shape((2, 1), (2, 3), 3), Shape((1, 3), 2, 2), ((1,), ((4, 0),), None, None, 3)),
    (Shape(2, 1, 5), Shape(1, 1, 2), ((3,), ((0, 1),))),
)


def convolution_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Strides, padding, dilations, groups, nested features, several spatial modes."""
    for lhs, kernel, parameters in _CONVOLUTIONS:
        families = list(placements(lhs))
        for family, other in zip(families, [*families[1:], families[0]], strict=True):
            yield OperationCase(
                f"{plan_name(plan)} {family} {lhs} {other} {kernel} {parameters}",
                plan.operation,
                (
                    operand(DType.Float32, choose(plan, 0), *placements(lhs)[family]),
                    operand(DType.Float32, choose(plan, 1), *placements(kernel)[other]),
                    *parameters,
                ),
                agreement="sum",
            )
