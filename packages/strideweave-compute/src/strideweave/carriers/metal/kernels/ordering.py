"""Stable sorting along one mode.

A value and its position make one 64-bit key: an integer with the order of the values in the high
part, the position in the low one. Keys are distinct, so any sort orders them stably.
"""

from typing import TYPE_CHECKING

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel
from strideweave.carriers.metal.runtime import load
from strideweave.carriers.metal.views import result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.ordering import Ordering, ordering_of
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core

_NO_BITS = mx.array(0, mx.int32)
_RANK_OF_NAN = mx.array(2**31, mx.int64)


def _values(invocation: ResolvedInvocation) -> Tensor:
    ordering = ordering_of(invocation.call)
    fibers = _fibers(invocation, ordering)
    ordered = primitives.take_along_axis(fibers, _positions(fibers, ordering), -1)
    return _published(ordered, invocation)


def _indices(invocation: ResolvedInvocation) -> Tensor:
    ordering = ordering_of(invocation.call)
    return _published(_positions(_fibers(invocation, ordering), ordering), invocation)


def _fibers(invocation: ResolvedInvocation, ordering: Ordering) -> mx.array:
    """The operand with the ordered mode as its last axis, of three."""
    fibers = primitives.transpose(slices(invocation, 0, ordering.axis), (0, 2, 1))
    return primitives.contiguous(fibers)


def _published(ordered: mx.array, invocation: ResolvedInvocation) -> Tensor:
    return result(primitives.transpose(ordered, (0, 2, 1)), invocation.results[0])


def _positions(fibers: mx.array, ordering: Ordering) -> mx.array:
    """Positions of the wanted values of each fiber, in order."""
    extent = mx.array(ordering.extent, mx.int64)
    ranks = _ranks(fibers)
    if ordering.descending:
        ranks = primitives.negative(ranks)
    places = primitives.arange(ordering.extent, dtype=mx.int64)
    keys = primitives.sort(primitives.add(primitives.multiply(ranks, extent), places), -1)
    leading = primitives.split(keys, [ordering.length], -1)[0]
    return primitives.converted(primitives.remainder(leading, extent), mx.int32)


def _ranks(values: mx.array) -> mx.array:
    """Integers in the order of the values: 0 for both zeros, the largest for NaNs."""
    bits = primitives.view(values, mx.int32)
    magnitudes = primitives.bitwise_and(bits, primitives.MAGNITUDE_BITS)
    signed = primitives.where(
        primitives.less(bits, _NO_BITS), primitives.negative(magnitudes), magnitudes
    )
    is_nan = primitives.not_equal(values, values)
    return primitives.where(is_nan, _RANK_OF_NAN, primitives.converted(signed, mx.int64))


KERNELS: dict[str, Kernel] = {
    "_sort_values": _values,
    "_sort_indices": _indices,
    "_topk_values": _values,
    "_topk_indices": _indices,
}
