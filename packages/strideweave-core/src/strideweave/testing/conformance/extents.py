"""Calls over one element, over modes of equal extents, and over many elements."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from strideweave._record import record
from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.shape import Shape
from strideweave.operation.policy import OperationPlan
from strideweave.testing.case_values import number_of, options_of, plan_name, smooth_values
from strideweave.testing.cases import LIBRARY, ORDERING
from strideweave.testing.operation_case import OperandCase, OperationCase, Value, operand

_EXTENTS: Final = ((1, 1), (5, 5), (67, 19))


@record
class _Call:
    operands: tuple[Any, ...]
    description: str | None = None


_Calls: TypeAlias = Iterator[_Call]


@cache
def extent_cases(plan: OperationPlan) -> tuple[OperationCase, ...]:
    """Give calls of a plan over compact operands of each of the extents."""
    calls = _CALLS.get(plan.operation, _pointwise)
    return tuple(
        OperationCase(
            f"{plan_name(plan)} of {rows} by {columns} elements {call.description or ''}".rstrip(),
            plan.operation,
            call.operands,
            options_of(plan),
            call.description,
            _agreement(plan),
        )
        for rows, columns in _EXTENTS
        for call in calls(plan, rows, columns)
    )


def most_slots(case: OperationCase) -> int:
    """Give a bound of the slots of every operand and of the result of one of these calls."""
    stored = [len(given.storage) for given in case.operands if isinstance(given, OperandCase)]
    return 2 * sum(stored)


def _agreement(plan: OperationPlan) -> str:
    if plan.operation in LIBRARY:
        return "library"
    return "sum" if plan.operation in _SUMS and plan.output is DType.Float32 else "exact"


_SUMS: Final = frozenset({"reduce_sum", "matmul", "_batched_matmul", "conv_general"})


def _operand(plan: OperationPlan, position: int, *extents: int) -> OperandCase:
    """Place values of which the least and the greatest are the last ones, in the first operand."""
    dtype = plan.operands[position].dtype
    assert dtype is not None
    layout = canonical_layout(Shape(*extents))
    chosen = smooth_values(plan, position)
    values = [chosen[ordinal % len(chosen)] for ordinal in range(layout.size)]
    if plan.operation in ORDERING:
        values = [float(37 * ordinal % layout.size) for ordinal in range(layout.size)]  # no ties
    elif plan.operation == "cumsum":
        values = [float(round(value)) for value in values]  # exact in every order
    elif position == 0 and layout.size > 2:
        values[-2:] = _LAST[dtype]
    return operand(dtype, values, layout)


_LAST: Final[Mapping[DType, list[Value]]] = {
    DType.Float32: [0.015625, 6.75],
    DType.Int32: [0, 7],
    DType.Bool: [False, True],
}


def _pointwise(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    yield _Call(
        tuple(
            number_of(plan, position)
            if entry.dtype is None
            else _operand(plan, position, rows, columns)
            for position, entry in enumerate(plan.operands)
        )
    )


def _reduction(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    for description in ("a b -> 1", "a b -> a", "a b -> b"):
        yield _Call((_operand(plan, 0, rows, columns),), description)


def _slices(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    for axis, extent in enumerate((rows, columns)):
        taken = [extent - 1, 0][:extent]
        operands: tuple[Any, ...] = (_operand(plan, 0, rows, columns),)
        if len(plan.operands) > 1:
            shape = Shape(len(taken), 1)
            operands = (*operands, operand(DType.Int32, taken, canonical_layout(shape)))
        if len(plan.operands) > 2:
            modes = [rows, columns]
            modes[axis : axis + 1] = [len(taken), 1]
            operands = (*operands, _operand(plan, 2, *modes))
        yield _Call((*operands, axis))


def _orders(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    for axis, extent in enumerate((rows, columns)):
        count = (min(2, extent),) if plan.operation.startswith("_topk") else ()
        yield _Call((_operand(plan, 0, rows, columns), *count, axis, axis == 0))


def _concat(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    pair = (_operand(plan, 0, rows, columns), _operand(plan, 1, rows, columns))
    yield from (_Call((*pair, axis)) for axis in (0, 1))


def _pad(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    source = _operand(plan, 0, rows, columns)
    yield _Call((source, ((1, 2), (0, 1)), source.storage[0]))


def _products(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    batch = (min(rows, 5),) if plan.operation == "_batched_matmul" else ()
    shape = (*batch, columns, rows)
    yield _Call((_operand(plan, 0, *shape), _operand(plan, 1, *shape)))


def _convolution(plan: OperationPlan, rows: int, columns: int) -> _Calls:
    few, window = min(rows, 5), min(rows, 3)
    image, kernel = (few, columns, rows), (few, columns, window)
    padding = ((window // 2, window // 2),)
    yield _Call((_operand(plan, 0, *image), _operand(plan, 1, *kernel), (1,), padding))


_CALLS: Final[Mapping[str, Callable[[OperationPlan, int, int], _Calls]]] = {
    **dict.fromkeys(
        ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "argmax", "argmin"), _reduction
    ),
    **dict.fromkeys(("cumsum", "flip", "gather", "scatter", "scatter_add"), _slices),
    **dict.fromkeys(("_sort_values", "_sort_indices", "_topk_values", "_topk_indices"), _orders),
    **dict.fromkeys(("matmul", "_batched_matmul"), _products),
    "concat": _concat,
    "pad": _pad,
    "conv_general": _convolution,
}
"""How the calls of an operation are made; those of all others are pointwise."""
