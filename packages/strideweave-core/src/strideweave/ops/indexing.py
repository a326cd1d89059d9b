"""``gather``, ``scatter`` and ``scatter_add`` along one top-level mode."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.shape import Shape
from strideweave.operation.definition import OperationDefinition, define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.ops import binary32
from strideweave.ops.axes import checked_axis, joined, split, stride_of_axis
from strideweave.ops.gradients import Rule, pass_through, vjp_of
from strideweave.ops.metadata import filled
from strideweave.ops.nesting import with_mode
from strideweave.ops.reference import Numbers, allocated, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.schemas import role_dtypes, schema, structural, tensor
from strideweave.tensor.tensor import Tensor

Slices: TypeAlias = list[Numbers]
_FLOAT = (DType.Float32,)
_INDEX = (DType.Int32,)


def index_out_of_range(operation: str, ordinal: int, value: int, extent: int) -> IndexError:
    """Build the error of an index outside the indexed mode."""
    return IndexError(
        f"{operation}: indices hold {value} at ordinal {ordinal}, which is out of range for a "
        f"mode of extent {extent}; give 0 to {extent - 1}"
    )


def repeated_index(operation: str, ordinal: int, value: int) -> ValueError:
    """Build the error of an index that occurs twice."""
    return ValueError(
        f"{operation}: indices must be distinct, but {value} occurs again at ordinal {ordinal}; "
        "use scatter_add to add repeats up"
    )


def gathered_shape(source: Shape, indices: Shape, axis: int) -> Shape:
    """Shape in which the indices' modes stand for the indexed mode."""
    return Shape(with_mode(source.top_level, axis, indices.top_level))


def _check_indices(operation: str, indices: Iterable[int], extent: int) -> None:
    for ordinal, value in enumerate(indices):
        if not 0 <= value < extent:
            raise index_out_of_range(operation, ordinal, value, extent)


def _normalized(operation: str) -> Callable[[tuple[Any, ...], dict[str, Any]], tuple[Any, ...]]:
    def parameters(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
        return *operands[:-1], checked_axis(operation, operands[-1], operands[0].layout)

    return parameters


def _resolve_gather(call: BoundOperationCall) -> ResolvedInvocation:
    operands: tuple[Any, ...] = call.operands
    source, indices, axis = operands
    layout = canonical_layout(gathered_shape(source.shape, indices.shape, axis))
    return resolved(call, planned(call), layout, saved=(1,))


def _gather(invocation: ResolvedInvocation) -> Tensor:
    operands: tuple[Any, ...] = invocation.operands
    source, _, axis = operands
    values, indices = converted_operands(invocation)
    extent = source.layout[axis].size
    _check_indices("gather", indices, extent)
    inner = stride_of_axis(source.layout, axis)
    slices = split(values, extent, inner)
    return allocated(invocation, joined([slices[index] for index in indices], inner))


def _gather_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    operands: tuple[Any, ...] = context.invocation.operands
    source, _, axis = operands
    zeros = filled(source.shape, 0.0, like=cotangent)
    return evaluate("scatter_add", zeros, context.saved_operands[0], cotangent, axis)


GATHER = define_builtin(
    "gather",
    (schema(tensor("tensor"), tensor("indices", differentiable=False), structural("axis")),),
    _resolve_gather,
    reference=_gather,
    vjp=vjp_of(tensor=_gather_gradient),
    roles=role_dtypes("gather", tensor=_FLOAT, indices=_INDEX),
    parameters=_normalized("gather"),
)


def _resolve_scatter(call: BoundOperationCall) -> ResolvedInvocation:
    plan = planned(call)
    operands: tuple[Any, ...] = call.operands
    base, indices, updates, axis = operands
    expected = gathered_shape(base.shape, indices.shape, axis)
    if updates.shape != expected:
        raise ValueError(
            f"{call.definition.name}: updates must have the shape {expected} that gather gives "
            f"for these operands, got {updates.shape}"
        )
    return resolved(call, plan, canonical_layout(base.shape), saved=(1,))


def _define_scatter(
    name: str, write: Callable[[Slices, list[int], Slices], None], base: Rule
) -> OperationDefinition:
    """Define an update of the addressed slices of a copy of the base.

    Args:
        name: Catalogue name.
        write: Applies the update slices to the base slices at the in-range indices.
        base: Gradient of the base.
    """

    def reference(invocation: ResolvedInvocation) -> Tensor:
        operands: tuple[Any, ...] = invocation.operands
        target, _, _, axis = operands
        values, indices, updates = converted_operands(invocation)
        extent = target.layout[axis].size
        _check_indices(name, indices, extent)
        inner = stride_of_axis(target.layout, axis)
        slices = split(values, extent, inner)
        write(slices, indices, split(updates, len(indices), inner))
        return allocated(invocation, joined(slices, inner))

    return define_builtin(
        name,
        (
            schema(
                tensor("base"),
                tensor("indices", differentiable=False),
                tensor("updates"),
                structural("axis"),
            ),
        ),
        _resolve_scatter,
        reference=reference,
        vjp=vjp_of(base=base, updates=_updates_gradient),
        roles=role_dtypes(name, base=_FLOAT, indices=_INDEX, updates=_FLOAT),
        parameters=_normalized(name),
    )


def _updates_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    axis = context.invocation.operands[3]
    return evaluate("gather", cotangent, context.saved_operands[0], axis)


def _overwritten_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    operands: tuple[Any, ...] = context.invocation.operands
    _, _, updates, axis = operands
    zeros = filled(updates.shape, 0.0, like=cotangent)
    return evaluate("scatter", cotangent, context.saved_operands[0], zeros, axis)


def _overwrite(slices: Slices, indices: list[int], updates: Slices) -> None:
    seen: set[int] = set()
    for ordinal, (index, update) in enumerate(zip(indices, updates, strict=True)):
        if index in seen:
            raise repeated_index("scatter", ordinal, index)
        seen.add(index)
        slices[index] = update


def _accumulate(slices: Slices, indices: list[int], updates: Slices) -> None:
    for index, update in zip(indices, updates, strict=True):
        slices[index] = binary32.add(slices[index], update)


SCATTER = _define_scatter("scatter", _overwrite, _overwritten_gradient)
SCATTER_ADD = _define_scatter("scatter_add", _accumulate, pass_through)
