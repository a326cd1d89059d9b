"""Operation cases for parity tests: the catalogue over dtype plans, layouts and special values.

A test builds each case on its own carrier with ``run_case`` and compares the result with that of a
reference carrier through ``disagreement``::

    @pytest.mark.parametrize("case", operation_cases(), ids=str)
    def test_agrees(case):
        expected = run_case(case, reference_carrier)
        assert disagreement(case, run_case(case, my_carrier), expected) is None

where ``my_carrier(values, dtype)`` makes a carrier that holds the values.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from strideweave.dtype import DType
from strideweave.layout.shape import Shape
from strideweave.operation.definition import operation_definition
from strideweave.operation.policy import OperandRole, OperationPlan, resolvable_plans
from strideweave.operation.schema import NON_DIFFERENTIABLE
from strideweave.testing.case_values import Choose, number_of, smooth_values, special_values
from strideweave.testing.gradient_check import gradient_disagreement
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
    "disagreement",
    "gradient_cases",
    "gradient_disagreement",
    "operand",
    "operation_cases",
    "placements",
    "run_case",
]

_FLAT, _NESTED = Shape(3, 4), Shape(2, (3, 2))
_UNIT = {_FLAT: Shape(1, 1), _NESTED: Shape(1, (1, 1))}
_PARTIAL = {
    _FLAT: (Shape(3, 1), Shape(1, 4)),
    _NESTED: (Shape(2, (1, 2)), Shape(1, (3, 1))),
}

_LIBRARY = frozenset(
    "exp exp2 log log2 sin cos erf sigmoid tanh gelu silu softplus elu pow".split()
)
_REDUCTIONS = frozenset(
    {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"}
)
_OTHERS = frozenset({"matmul", "gather", "scatter", "scatter_add", "cumsum", "flip"})
_LATER = frozenset(
    "einsum conv_general _batched_matmul concat pad _sort_values _sort_indices _topk_values "
    "_topk_indices".split()
)


def operation_cases() -> list[OperationCase]:
    """Every parity case, in deterministic order.

    Returns:
        Cases of all catalogue operations over each dtype plan of the policy, the layout families
        of ``placements`` on flat and nested shapes, structural broadcasts, and special values.
    """
    return [case for plan in resolvable_plans() for case in _cases_of(plan, special_values)]


def gradient_cases() -> list[OperationCase]:
    """Every case for ``gradient_disagreement``, in deterministic order.

    Returns:
        The same plans and layouts of differentiable operations over values where they are smooth.
    """
    return [
        case
        for plan in resolvable_plans()
        if _takes_gradient(plan)
        for case in _cases_of(plan, smooth_values)
    ]


def _takes_gradient(plan: OperationPlan) -> bool:
    if plan.operation in _LATER:
        return False
    definition = operation_definition(plan.operation)
    return (
        definition.vjp is not NON_DIFFERENTIABLE
        and plan.output is DType.Float32
        and any(entry.dtype is DType.Float32 for entry in plan.operands)
    )


def _cases_of(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    name = plan.operation
    if name in _LATER:
        return
    if name in _REDUCTIONS:
        yield from _reduction_cases(plan, choose)
    elif name == "matmul":
        yield from _matmul_cases(plan, choose)
    elif name in _OTHERS:
        yield from _slice_cases(plan, choose)
    else:
        yield from _pointwise_cases(plan, choose)


def _plan_name(plan: OperationPlan) -> str:
    sources = ",".join(
        f"number as {entry.convert_to.name}" if entry.dtype is None else entry.dtype.name
        for entry in plan.operands
    )
    accumulator = plan.accumulator_dtype
    suffix = f" in {accumulator.name}" if accumulator is DType.Float64 else ""
    return f"{plan.operation}({sources}){suffix}"


def _pointwise_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    agreement = "library" if plan.operation in _LIBRARY else "exact"
    name = _plan_name(plan)
    for shape in (_FLAT, _NESTED):
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


def _options(plan: OperationPlan) -> dict[str, object]:
    wide = plan.accumulator_dtype is DType.Float64
    return {"accumulator_dtype": DType.Float64} if wide else {}


def _reduction_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    dtype = plan.operands[0].dtype
    assert dtype is not None
    is_free = plan.operation == "reduce_sum" and dtype is DType.Float32
    commands = {
        _FLAT: ("a b -> a", "a b -> b", "a b -> 1", "a b -> (a 1)"),
        _NESTED: ("a b -> a", "a (b c) -> c a", "a (b c) -> (b a)"),
    }
    for shape, descriptions in commands.items():
        for family, (layout, offset) in placements(shape).items():
            for description in descriptions:
                yield OperationCase(
                    f"{_plan_name(plan)} '{description}' {family} {shape}",
                    plan.operation,
                    (operand(dtype, choose(plan, 0), layout, offset),),
                    _options(plan),
                    description,
                    "sum" if is_free else "exact",
                )


def _matmul_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
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
                f"{_plan_name(plan)} {family} {lhs} {rhs}",
                plan.operation,
                operands,
                _options(plan),
                agreement="exact" if plan.output is DType.Int32 else "sum",
            )


def _slice_cases(plan: OperationPlan, choose: Choose) -> Iterator[OperationCase]:
    """Operations along one mode: its number is the last operand."""
    indices = operand(DType.Int32, (2, 0), placements(Shape(2, 1))["transposed"][0])
    for shape, axis in ((Shape(3, 4), 0), (Shape(3, 4), 1), (Shape(2, (3, 2)), 1)):
        for family, (layout, offset) in placements(shape).items():
            dtype = plan.operands[0].dtype or DType.Float32
            source = operand(dtype, choose(plan, 0), layout, offset)
            operands: tuple[Any, ...] = (source,)
            if len(plan.operands) > 1:
                operands = (source, indices)
            if len(plan.operands) > 2:
                modes = [*shape.top_level[:axis], 2, 1, *shape.top_level[axis + 1 :]]
                placed = placements(Shape(modes))["padded"]
                operands = (source, indices, operand(DType.Float32, choose(plan, 2), *placed))
            yield OperationCase(
                f"{_plan_name(plan)} axis {axis} {family} {shape}",
                plan.operation,
                (*operands, axis),
            )
