"""``sort`` and ``topk`` along one top-level mode, each defined by its values and by its indices.

The order is stable in both directions: equal values, zeros of either sign among them, keep their
source order. NaNs come last in ascending and first in descending order.
"""

from operator import index
from typing import Any, NamedTuple, SupportsIndex

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots
from strideweave.layout.shape import Shape
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.operation.policy import INT32_MAX
from strideweave.operation.schema import NON_DIFFERENTIABLE, OperandSpec
from strideweave.ops.axes import checked_axis, joined, split, stride_of_axis
from strideweave.ops.gradients import VJP, add, mul, vjp_of
from strideweave.ops.metadata import filled, reshaped_canonical, window_layout
from strideweave.ops.nesting import with_mode, with_unit_mode
from strideweave.ops.parameters import checked_flag
from strideweave.ops.reference import Numbers, allocated, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.schemas import role_dtypes, schema, structural, tensor
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over


class Ordering(NamedTuple):
    """What a call orders.

    Attributes:
        axis: The top-level mode.
        extent: Its size.
        length: How many leading positions of the order are wanted.
        descending: Whether the largest values come first.
    """

    axis: int
    extent: int
    length: int
    descending: bool


def ordering_of(call: BoundOperationCall) -> Ordering:
    """Read the structural operands of a sort or topk."""
    operands: tuple[Any, ...] = call.operands
    if len(operands) == 3:
        source, axis, descending = operands
        count = source.shape[axis].size
    else:
        source, count, axis, descending = operands
    return Ordering(axis, source.shape[axis].size, count, descending)


def _with_sort_parameters(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    source, axis, descending = operands
    mode = checked_axis("sort", axis, source.layout)
    return source, mode, checked_flag("sort", "descending", descending)


def _with_topk_parameters(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    source, k, axis, largest = operands
    mode = checked_axis("topk", axis, source.layout)
    flag = checked_flag("topk", "largest", largest)
    if not isinstance(k, SupportsIndex):
        raise TypeError(f"topk: k must be an integer, got {type(k).__qualname__} {k!r}")
    count, extent = index(k), source.layout[mode].size
    if not 1 <= count <= extent:
        raise ValueError(
            f"topk: k out of range: {count} for mode {mode} of layout {source.layout}, give 1 to "
            f"{extent}"
        )
    return source, count, mode, flag


def _resolve(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    source: Any = call.operands[0]
    ordering = ordering_of(call)
    if ordering.extent - 1 > INT32_MAX:
        raise OverflowError(
            f"{call.definition.name}: a mode of extent {ordering.extent} has ordinals out of "
            "int32 range; order parts of it"
        )
    shape = source.shape
    if len(call.operands) == 4:
        shape = Shape(with_mode(shape.top_level, ordering.axis, [ordering.length]))
    is_differentiable = call.schema.operands[0].differentiable
    return resolved(call, plan, canonical_layout(shape), saved=(0,) * is_differentiable)


def _stable_order(fiber: Numbers, descending: bool) -> list[int]:
    numbers = [ordinal for ordinal, value in enumerate(fiber) if value == value]
    spoiled = [ordinal for ordinal, value in enumerate(fiber) if value != value]
    numbers.sort(key=fiber.__getitem__, reverse=descending)  # stable either way
    return spoiled + numbers if descending else numbers + spoiled


def _positions(values: Numbers, ordering: Ordering, inner: int) -> list[Numbers]:
    """Source positions along the mode, as one list per position of the order."""
    fibers = zip(*split(values, ordering.extent, inner), strict=True)
    orders = [_stable_order(list(fiber), ordering.descending) for fiber in fibers]
    return [list(column) for column in zip(*orders, strict=True)][: ordering.length]


def _indices(invocation: ResolvedInvocation) -> Tensor:
    ordering = ordering_of(invocation.call)
    inner = stride_of_axis(invocation.results[0].layout, ordering.axis)
    (values,) = converted_operands(invocation)
    return allocated(invocation, joined(_positions(values, ordering, inner), inner))


def _values(invocation: ResolvedInvocation) -> Tensor:
    ordering = ordering_of(invocation.call)
    inner = stride_of_axis(invocation.results[0].layout, ordering.axis)
    (values,) = converted_operands(invocation)
    slices = split(values, ordering.extent, inner)
    ordered = [
        [slices[position][fiber] for fiber, position in enumerate(positions)]
        for positions in _positions(values, ordering, inner)
    ]
    return allocated(invocation, joined(ordered, inner))


def _values_gradient(indices: str) -> VJP:
    """Place the cotangent at the source positions that the operation ``indices`` gives."""

    def rule(context: VJPContext, cotangent: Tensor) -> Tensor:
        call = context.invocation.call
        (source,) = context.saved_operands
        shape, ordering = source.shape, ordering_of(call)
        stores_indices = source.carrier.supports_storage_dtype(DType.Int32)
        if not stores_indices or shape.size - 1 > INT32_MAX:
            return _placed_by_value(source, cotangent, ordering)
        positions = evaluate(indices, source, *call.operands[1:])
        ordinals = add(
            mul(positions, stride_of_axis(source.layout, ordering.axis)),
            _fiber_starts(positions, shape, ordering.axis),
        )
        zeros = filled(Shape(shape.size), 0.0, like=cotangent)
        return reshaped_canonical(evaluate("scatter", zeros, ordinals, cotangent, 0), shape)

    return vjp_of(tensor=rule)


def _fiber_starts(positions: Tensor, shape: Shape, axis: int) -> Tensor:
    """Ordinal in a shape at which each fiber along a mode starts, to align with positions."""
    fibers = window_layout(canonical_layout(shape), with_unit_mode(shape, axis))
    aligned = canonical_layout(with_unit_mode(positions.shape, axis))
    return tensor_over(positions.carrier.new_like(slots(fibers)), 0, aligned)


def _placed_by_value(source: Tensor, cotangent: Tensor, ordering: Ordering) -> Tensor:
    """The same without a carrier that stores indices."""
    inner = stride_of_axis(source.layout, ordering.axis)
    order = _positions(logical_values(source), ordering, inner)
    gradients = split(logical_values(cotangent), ordering.length, inner)
    placed = [[0.0] * len(order[0]) for _ in range(ordering.extent)]
    for positions, gradient in zip(order, gradients, strict=True):
        for fiber, position in enumerate(positions):
            placed[position][fiber] = gradient[fiber]
    carrier = cotangent.carrier.new_like(joined(placed, inner))
    return tensor_over(carrier, 0, canonical_layout(source.shape))


def _define(
    function: str, result: str, operands: tuple[OperandSpec, ...], parameters: Any
) -> OperationDefinition:
    """Define one result of ``sort`` or ``topk``.

    Args:
        function: ``"sort"`` or ``"topk"``.
        result: ``"values"`` or ``"indices"``.
        operands: The structural operands; the last two are optional.
        parameters: Validates them.
    """
    is_values = result == "values"
    return define_builtin(
        f"_{function}_{result}",
        (schema(tensor("tensor", differentiable=is_values), *operands),),
        _resolve,
        reference=_values if is_values else _indices,
        vjp=_values_gradient(f"_{function}_indices") if is_values else NON_DIFFERENTIABLE,
        roles=role_dtypes(function, tensor=(DType.Float32,)),
        parameters=parameters,
        optional=(-1, function == "topk"),
    )


_SORT = (structural("axis"), structural("descending"))
_TOPK = (structural("k"), structural("axis"), structural("largest"))

SORT_VALUES = _define("sort", "values", _SORT, _with_sort_parameters)
SORT_INDICES = _define("sort", "indices", _SORT, _with_sort_parameters)
TOPK_VALUES = _define("topk", "values", _TOPK, _with_topk_parameters)
TOPK_INDICES = _define("topk", "indices", _TOPK, _with_topk_parameters)
