"""Reading, writing and adding along one mode by index.

MLX checks no index, so all are checked on the host before anything is submitted.
"""

from typing import TYPE_CHECKING

import numpy

from strideweave.carriers.cpu.kernels.indexing import Indices, check_distinct, check_range
from strideweave.carriers.cpu.views import operands, parameter
from strideweave.carriers.metal import primitives, storage
from strideweave.carriers.metal.kernels.frame import Kernel
from strideweave.carriers.metal.runtime import load
from strideweave.carriers.metal.views import operand, result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core


def _indices(invocation: ResolvedInvocation, axis: int) -> Indices:
    """Indices in logical order, on the host.

    Raises:
        IndexError: An index is negative or not below the extent of the mode.
    """
    extent = operands(invocation)[0].layout.shape[axis].size
    flat = primitives.contiguous(primitives.reshape(operand(invocation, 1), (-1,)))
    indices = storage.to_host(storage.submitted(flat)).astype(numpy.intp)
    check_range(invocation.name, indices, extent)
    return indices


def _on_device(indices: Indices) -> "mx.array":
    return mx.array(indices.astype(numpy.int32))


def _gather(invocation: ResolvedInvocation) -> Tensor:
    axis = parameter(invocation, 2)
    indices = _on_device(_indices(invocation, axis))
    picked = primitives.take(slices(invocation, 0, axis), indices, 1)
    return result(picked, invocation.results[0])


def _scatter(invocation: ResolvedInvocation) -> Tensor:
    axis = parameter(invocation, 3)
    indices = _indices(invocation, axis)
    values = slices(invocation, 0, axis)
    check_distinct(indices, values.shape[1])
    places = primitives.reshape(_on_device(indices), (1, -1, 1))
    updates = _updates(invocation, values, indices)
    return result(primitives.put_along_axis(values, places, updates, 1), invocation.results[0])


def _scatter_add(invocation: ResolvedInvocation) -> Tensor:
    axis = parameter(invocation, 3)
    indices = _indices(invocation, axis)
    values = slices(invocation, 0, axis)
    updates = _updates(invocation, values, indices)
    sums = primitives.added_at(values, _on_device(indices), updates)
    return result(sums, invocation.results[0])


def _updates(invocation: ResolvedInvocation, values: "mx.array", indices: Indices) -> "mx.array":
    """The updates, shaped like the values that the indices select."""
    shape = (values.shape[0], indices.size, values.shape[2])
    return primitives.reshape(operand(invocation, 2), shape)


KERNELS: dict[str, Kernel] = {
    "gather": _gather,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
}
