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
from math import inf, nan
from typing import Any

from strideweave.dtype import DType, SimpleDType
from strideweave.layout.shape import Shape
from strideweave.operation.definition import operation_definition
from strideweave.operation.policy import OperandRole, OperationPlan, resolvable_plans
from strideweave.testing.operation_case import (
    OperandCase,
    OperationCase,
    Value,
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
    "operand",
    "operation_cases",
    "placements",
    "run_case",
]

SPECIAL_FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -3.0, inf, -inf, nan),
    *(1e-40, -1e-40, 3e38, -3e38, 16777217.0, 89.0, -104.0),
)
MODERATE_FLOATS = (0.5, -1.25, 3.0, 0.1, -2.7, 1e-3, 7.25, -0.3, 1.5, -4.0, 2.0)
SMALL_INTEGERS = (0, 1, -1, 2, 7, -5, 46340, -46340)
EXTREME_INTEGERS = (0, 1, -1, 2**31 - 1, -(2**31), 16777217, -16777217, 5)
TRUTHS = (True, False, False, True, True)

_FLAT, _NESTED = Shape(3, 4), Shape(2, (3, 2))
_UNIT = {_FLAT: Shape(1, 1), _NESTED: Shape(1, (1, 1))}
_PARTIAL = {
    _FLAT: (Shape(3, 1), Shape(1, 4)),
    _NESTED: (Shape(2, (1, 2)), Shape(1, (3, 1))),
}

_LIBRARY = frozenset(
    "exp exp2 log log2 sin cos erf sigmoid tanh gelu silu softplus elu pow".split()
)
_OVERFLOWING = frozenset({"add", "sub", "mul", "elementwise_mul", "pow"})
_REDUCTIONS = frozenset(
    {"reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"}
)
_OTHERS = frozenset({"matmul", "gather", "scatter", "scatter_add", "cumsum", "flip"})
_LATER = frozenset(
    "einsum conv_general _batched_matmul concat pad _sort_values _sort_indices _topk_values "
    "_topk_indices".split()
)


def operation_cases() -> list[OperationCase]:
    """Every case, in deterministic order.

    Returns:
        Cases of all catalogue operations over each dtype plan of the policy, the layout families
        of ``placements`` on flat and nested shapes, structural broadcasts, and special values.
    """
    return [case for plan in resolvable_plans() for case in _cases_of(plan)]


def _cases_of(plan: OperationPlan) -> Iterator[OperationCase]:
    name = plan.operation
    if name in _LATER:
        return
    if name in _REDUCTIONS:
        yield from _reduction_cases(plan)
    elif name == "matmul":
        yield from _matmul_cases(plan)
    elif name in _OTHERS:
        yield from _slice_cases(plan)
    else:
        yield from _pointwise_cases(plan)


def _plan_name(plan: OperationPlan) -> str:
    sources = ",".join("number" if o.dtype is None else o.dtype.name for o in plan.operands)
    accumulator = plan.accumulator_dtype
    suffix = f" in {accumulator.name}" if accumulator is DType.Float64 else ""
    return f"{plan.operation}({sources}){suffix}"


def _values(plan: OperationPlan, dtype: SimpleDType, position: int) -> Sequence[Value]:
    """Special values of a dtype, rotated so that operands meet in different pairs."""
    if dtype is DType.Float32:
        values: Sequence[Value] = _castable() if plan.operation == "_cast_int32" else SPECIAL_FLOATS
    elif dtype is DType.Bool:
        values = TRUTHS
    else:
        values = SMALL_INTEGERS if plan.operation in _OVERFLOWING else EXTREME_INTEGERS
    if plan.operation in {"add", "sub"} and dtype is DType.Int32:
        values = SMALL_INTEGERS
    shift = 5 * position
    return (*values[shift:], *values[:shift])


def _castable() -> tuple[float, ...]:
    return (0.0, -0.0, 1.9, -1.9, 2147483520.0, -2147483648.0, 1e-40, 16777216.0)


def _number(plan: OperationPlan, position: int) -> float | int:
    if plan.operands[position].convert_to is DType.Int32:
        return 2 if plan.operation == "pow" else 3
    return 2.5 if plan.operation == "clamp" and position == 2 else 0.7


def _pointwise_cases(plan: OperationPlan) -> Iterator[OperationCase]:
    agreement = "library" if plan.operation in _LIBRARY else "exact"
    name = _plan_name(plan)
    for shape in (_FLAT, _NESTED):
        for variant, operands in _pointwise_operands(plan, shape):
            title = f"{name} {variant} {shape}"
            yield OperationCase(title, plan.operation, operands, agreement=agreement)


def _pointwise_operands(plan: OperationPlan, shape: Shape) -> Iterator[tuple[str, tuple[Any, ...]]]:
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
        yield " ".join(dict.fromkeys(chosen)), _placed(plan, shapes, chosen)
    if tensors > 1:
        contiguous = ("contiguous",) * tensors
        first, second = _PARTIAL[shape]
        yield "widened", _placed(plan, (first, second, shape)[:tensors], contiguous)
        single = (shape, _UNIT[shape], shape)[:tensors]
        yield "single", _placed(plan, single, ("transposed",) * tensors)


def _placed(
    plan: OperationPlan, shapes: Sequence[Shape], families: Sequence[str]
) -> tuple[Any, ...]:
    chosen = iter(zip(shapes, families, strict=True))
    operands: list[Any] = []
    for position, entry in enumerate(plan.operands):
        if entry.dtype is None:
            operands.append(_number(plan, position))
            continue
        shape, family = next(chosen)
        layout, offset = placements(shape)[family]
        operands.append(operand(entry.dtype, _values(plan, entry.dtype, position), layout, offset))
    return tuple(operands)


def _options(plan: OperationPlan) -> dict[str, object]:
    wide = plan.accumulator_dtype is DType.Float64
    return {"accumulator_dtype": DType.Float64} if wide else {}


def _reduction_cases(plan: OperationPlan) -> Iterator[OperationCase]:
    dtype = plan.operands[0].dtype
    assert dtype is not None
    is_free = plan.operation == "reduce_sum" and dtype is DType.Float32
    commands = {
        _FLAT: ("a b -> a", "a b -> b", "a b -> 1", "a b -> (a 1)"),
        _NESTED: ("a b -> a", "a (b c) -> c a", "a (b c) -> (b a)"),
    }
    values: Sequence[Value] = (
        (MODERATE_FLOATS if is_free else SPECIAL_FLOATS)
        if dtype is DType.Float32
        else SMALL_INTEGERS
    )
    for shape, descriptions in commands.items():
        for family, (layout, offset) in placements(shape).items():
            for description in descriptions:
                yield OperationCase(
                    f"{_plan_name(plan)} '{description}' {family} {shape}",
                    plan.operation,
                    (operand(dtype, values, layout, offset),),
                    _options(plan),
                    description,
                    "sum" if is_free else "exact",
                )


def _matmul_cases(plan: OperationPlan) -> Iterator[OperationCase]:
    pairs = ((Shape(3, 4), Shape(5, 4)), (Shape((2, 3), (2, 2)), Shape(2, 4)))
    for lhs, rhs in pairs:
        for family in placements(lhs):
            operands = tuple(
                operand(
                    entry.dtype or DType.Float32,
                    MODERATE_FLOATS if entry.dtype is DType.Float32 else (3, -2, 7, 0, 11, -40),
                    *placements(shape)[family],
                )
                for entry, shape in zip(plan.operands, (lhs, rhs), strict=True)
            )
            yield OperationCase(
                f"{_plan_name(plan)} {family} {lhs} {rhs}",
                plan.operation,
                operands,
                _options(plan),
                agreement="exact" if plan.output is DType.Int32 else "sum",
            )


def _slice_cases(plan: OperationPlan) -> Iterator[OperationCase]:
    """Operations along one mode: its number is the last operand."""
    indices = operand(DType.Int32, (2, 0), placements(Shape(2, 1))["transposed"][0])
    for shape, axis in ((Shape(3, 4), 0), (Shape(3, 4), 1), (Shape(2, (3, 2)), 1)):
        for family, (layout, offset) in placements(shape).items():
            values = _values(plan, plan.operands[0].dtype or DType.Float32, 0)
            source = operand(plan.operands[0].dtype or DType.Float32, values, layout, offset)
            operands: tuple[Any, ...] = (source,)
            if len(plan.operands) > 1:
                operands = (source, indices)
            if len(plan.operands) > 2:
                modes = [*shape.top_level[:axis], 2, 1, *shape.top_level[axis + 1 :]]
                placed = placements(Shape(modes))["padded"]
                operands = (source, indices, operand(DType.Float32, MODERATE_FLOATS, *placed))
            schema = operation_definition(plan.operation).schema
            assert len(schema.operands) == len(operands) + 1
            yield OperationCase(
                f"{_plan_name(plan)} axis {axis} {family} {shape}",
                plan.operation,
                (*operands, axis),
            )
