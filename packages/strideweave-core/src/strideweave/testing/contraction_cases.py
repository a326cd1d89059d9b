"""Cases of contractions of two operands."""

from collections.abc import Iterator

from strideweave.dtype import DType
from strideweave.layout.shape import Shape
from strideweave.operation.policy import OperationPlan
from strideweave.testing.case_values import Choose, options_of, plan_name
from strideweave.testing.operation_case import OperationCase, operand, placements


def matmul_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Products of matrices, flat and with nested modes."""
    pairs = ((Shape(3, 4), Shape(5, 4)), (Shape((2, 3), (2, 2)), Shape(2, 4)))
    for lhs, rhs in pairs:
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
                f"{plan_name(plan)} {family} {lhs} {rhs}",
                plan.operation,
                operands,
                options_of(plan),
                agreement="exact" if plan.output is DType.Int32 else "sum",
            )
