"""Operation cases for parity tests: the catalogue over dtype plans, layouts and special values.

A test builds each case on its own carrier with ``run_case`` and compares the result with that of a
reference carrier through ``disagreement``::

    @pytest.mark.parametrize("case", operation_cases(), ids=str)
    def test_agrees(case):
        expected = run_case(case, reference_carrier)
        assert disagreement(case, run_case(case, my_carrier), expected) is None

where ``my_carrier(values, dtype)`` makes a carrier that holds the values.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from strideweave.dtype import DType
from strideweave.layout.shape import Shape
from strideweave.operation.definition import operation_definition
from strideweave.operation.policy import OperandRole, OperationPlan, resolvable_plans
from strideweave.operation.schema import NON_DIFFERENTIABLE
from strideweave.testing.case_values import (
    Choose,
    number_of,
    plan_name,
    smooth_values,
    special_values,
)
from strideweave.testing.contraction_cases import (
    batched_matmul_cases,
    convolution_cases,
    matmul_cases,
)
from strideweave.testing.gradient_check import gradient_disagreement
from strideweave.testing.mode_cases import (
    FLAT,
    NESTED,
    concat_cases,
    pad_cases,
    reduction_cases,
    slice_cases,
    sort_cases,
    topk_cases,
)
from strideweave.testing.operation_case import (
    OperandCase,
    OperationCase,
    absolute,
    call_case,
    disagreement,
    operand,
    placements,
    run_case,
)

__all__ = [
    "OperandCase",
    "OperationCase",
    "absolute",
    "call_case",
    "cases_of",
    "disagreement",
    "gradient_cases",
    "gradient_disagreement",
    "operand",
    "operation_cases",
    "placements",
    "run_case",
    "takes_gradient",
]

_UNIT = {FLAT: Shape(1, 1), NESTED: Shape(1, (1, 1))}
_PARTIAL = {
    FLAT: (Shape(3, 1), Shape(1, 4)),
    NESTED: (Shape(2, (1, 2)), Shape(1, (3, 1))),
}

LIBRARY = frozenset("exp exp2 log log2 sin cos erf sigmoid tanh gelu silu softplus elu pow".split())
ORDERING = frozenset("argmax argmin _sort_values _sort_indices _topk_values _topk_indices".split())
_STRUCTURAL: Mapping[str, Callable[[OperationPlan, Choose], Iterator[OperationCase]]] = {
    **dict.fromkeys(
        ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"),
        reduction_cases,
    ),
    **dict.fromkeys(("cumsum", "flip", "gather", "scatter", "scatter_add"), slice_cases),
    "concat": concat_cases,
    "pad": pad_cases,
    **dict.fromkeys(("_sort_values", "_sort_indices"), sort_cases),
    **dict.fromkeys(("_topk_values", "_topk_indices"), topk_cases),
    "matmul": matmul_cases,
    "_batched_matmul": batched_matmul_cases,
    "conv_general": convolution_cases,
}
"""How the cases of an operation are made; those of all others are pointwise."""


def operation_cases() -> list[OperationCase]:
    """Every parity case, in deterministic order.

    Returns:
        Cases of all catalogue operations over each dtype plan of the policy, the layout families
        of ``placements`` on flat and nested shapes, structural broadcasts, and special values.
    """
    return [case for plan in resolvable_plans() for case in cases_of(plan, special_values)]


def gradient_cases() -> list[OperationCase]:
    """Every case for ``gradient_disagreement``, in deterministic order.

    Returns:
        The same plans and layouts of differentiable operations over values where they are smooth.
    """
    return [
        case
        for plan in resolvable_plans()
        if takes_gradient(plan)
        for case in cases_of(plan, smooth_values)
    ]


def takes_gradient(plan: OperationPlan) -> bool:
    """Tell whether gradients flow through the calls of a plan."""
    definition = operation_definition(plan.operation)
    return (
        definition.vjp is not NON_DIFFERENTIABLE
        and plan.output is DType.Float32
        and any(entry.dtype is DType.Float32 for entry in plan.operands)
    )


def cases_of(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Make the cases of one dtype plan.

    Args:
        plan: A plan of a catalogue operation.
        choose: Gives the values of the Tensor operand at a position.
    """
    return _STRUCTURAL.get(plan.operation, _pointwise_cases)(plan, choose)


def _pointwise_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    agreement = "library" if plan.operation in LIBRARY else "exact"
    name = plan_name(plan)
    for shape in (FLAT, NESTED):
        for variant, operands in _pointwise_operands(plan, shape, choose):
            title = f"{name} {variant} {shape}"
            yield OperationCase(title, plan.operation, operands, agreement=agreement)


def _pointwise_operands(
    plan: OperationPlan, shape: Shape, choose: Choose
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    families = list(placements(shape))
    tensors = sum(entry.role is OperandRole.TENSOR for entry in plan.operands)
    choices = [(family,) * tensors for family in families]
    if tensors > 1:
        mixed = [*families[1:], families[0]]
        choices += [
            (first, second, first)[:tensors] for first, second in zip(families, mixed, strict=True)
        ]
    for chosen in choices:
        shapes = (shape,) * tensors
        yield " ".join(dict.fromkeys(chosen)), _placed(plan, shapes, chosen, choose)
    if tensors > 1:
        contiguous = ("contiguous",) * tensors
        first, second = _PARTIAL[shape]
        yield "widened", _placed(plan, (first, second, shape)[:tensors], contiguous, choose)
        single = (shape, _UNIT[shape], shape)[:tensors]
        yield "single", _placed(plan, single, ("transposed",) * tensors, choose)


def _placed(
    plan: OperationPlan, shapes: Sequence[Shape], families: Sequence[str], choose: Choose
) -> tuple[Any, ...]:
    chosen = iter(zip(shapes, families, strict=True))
    operands: list[Any] = []
    for position, entry in enumerate(plan.operands):
        if entry.dtype is None:
            operands.append(number_of(plan, position))
            continue
        shape, family = next(chosen)
        layout, offset = placements(shape)[family]
        operands.append(operand(entry.dtype, choose(plan, position), layout, offset))
    return tuple(operands)
