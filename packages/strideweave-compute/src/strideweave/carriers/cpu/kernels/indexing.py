"""Reading, writing and adding along one mode by index."""

from typing import TypeAlias

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Array
from strideweave.carriers.cpu.kernels.frame import Kernel, quiet
from strideweave.carriers.cpu.views import axes, operand, operands, parameter, result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.indexing import index_out_of_range, repeated_index
from strideweave.tensor.tensor import Tensor

Indices: TypeAlias = NDArray[numpy.intp]


def _indices(invocation: ResolvedInvocation, extent: int) -> Indices:
    """Indices in logical order.

    Raises:
        IndexError: An index is negative or not below ``extent``.
    """
    indices: Indices = operand(invocation, 1).reshape(-1).astype(numpy.intp)
    check_range(invocation.name, indices, extent)
    return indices


def check_range(operation: str, indices: Indices, extent: int) -> None:
    """Refuse indices outside a mode.

    Raises:
        IndexError: An index is negative or not below ``extent``; the first one is named.
    """
    if indices.min() < 0 or indices.max() >= extent:
        first = int(numpy.argmax(numpy.logical_or(indices < 0, indices >= extent)))
        raise index_out_of_range(operation, first, int(indices[first]), extent)


def _gather(invocation: ResolvedInvocation) -> Tensor:
    layout = operands(invocation)[0].layout
    axis = parameter(invocation, 2)
    indices = _indices(invocation, layout.shape[axis].size)
    values = operand(invocation, 0)
    counts = axes(layout).by_mode
    first = sum(counts[axis + 1 :])
    if counts[axis] > 1:
        extents = values.shape[first : first + counts[axis]]
        picked = values[(slice(None),) * first + numpy.unravel_index(indices, extents)]
    else:
        rows = values if counts[axis] else numpy.expand_dims(values, first)
        # The indices are in range; "clip" spares the buffer that NumPy's own check needs.
        picked = numpy.take(rows, indices, first, mode="clip")
    return result(picked.reshape(-1), invocation.results[0])


def _scatter(invocation: ResolvedInvocation) -> Tensor:
    values, indices = _base(invocation)
    check_distinct(indices, values.shape[1])
    values[:, indices] = _updates(invocation, values, indices)
    return result(values.reshape(-1), invocation.results[0])


def check_distinct(indices: Indices, extent: int) -> None:
    """Refuse an index of ``scatter`` that occurs twice; all are in range.

    Raises:
        ValueError: The first repetition is named.
    """
    reached = numpy.zeros(extent, numpy.bool_)
    reached[indices] = True
    if numpy.count_nonzero(reached) == indices.size:
        return
    order = numpy.argsort(indices, kind="stable")
    repeats = order[1:][numpy.equal(indices[order[1:]], indices[order[:-1]])]
    first = int(repeats.min())
    raise repeated_index("scatter", first, int(indices[first]))


def _scatter_add(invocation: ResolvedInvocation) -> Tensor:
    values, indices = _base(invocation)
    outer, extent, inner = values.shape
    slots = indices
    if outer > 1 or inner > 1:
        rows = numpy.arange(outer)[:, None] * extent + indices
        slots = rows[:, :, None] * inner + numpy.arange(inner)
    updates = _updates(invocation, values, indices)
    # Unbuffered and one-dimensional: what meets in one slot is added in exactly this order.
    numpy.add.at(values.reshape(-1), slots.reshape(-1), updates.reshape(-1))
    return result(values.reshape(-1), invocation.results[0])


def _base(invocation: ResolvedInvocation) -> tuple[Array, Indices]:
    """A copy of the base with the indexed mode as its middle axis, and the indices."""
    values = slices(invocation, 0, parameter(invocation, 3)).copy()
    return values, _indices(invocation, values.shape[1])


def _updates(invocation: ResolvedInvocation, values: Array, indices: Indices) -> Array:
    return operand(invocation, 2).reshape(values.shape[0], indices.size, values.shape[2])


KERNELS: dict[str, Kernel] = {
    "gather": quiet(_gather),
    "scatter": quiet(_scatter),
    "scatter_add": quiet(_scatter_add),
}
