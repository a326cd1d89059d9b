"""Stable sorting along one mode.

A value and its position make one 64-bit key: an integer with the order of the values above, the
position below. Keys are distinct, so NumPy's fastest sort orders them stably.
"""

from typing import TypeAlias

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Array, Bools, Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, quiet
from strideweave.carriers.cpu.views import result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.ordering import Ordering, ordering_of
from strideweave.tensor.tensor import Tensor

Positions: TypeAlias = NDArray[numpy.int64]

_SIGN = numpy.int32(-(2**31))
_POSITION_BITS = 32


def _fibers(invocation: ResolvedInvocation, axis: int) -> Floats:
    """The operand with the ordered mode as its last axis, of three."""
    return numpy.ascontiguousarray(slices(invocation, 0, axis).swapaxes(1, 2))


def _published(ordered: Array, invocation: ResolvedInvocation) -> Tensor:
    return result(ordered.swapaxes(1, 2).flatten(), invocation.results[0])


def _values(invocation: ResolvedInvocation) -> Tensor:
    ordering = ordering_of(invocation.call)
    fibers = _fibers(invocation, ordering.axis)
    ordered = _leading_values(fibers, ordering)
    if _is_ambiguous(ordered, fibers):
        ordered = numpy.take_along_axis(fibers, _leading_positions(fibers, ordering), -1)
    elif ordering.descending:
        ordered = ordered[..., ::-1]
    return _published(ordered, invocation)


def _indices(invocation: ResolvedInvocation) -> Tensor:
    ordering = ordering_of(invocation.call)
    positions = _leading_positions(_fibers(invocation, ordering.axis), ordering)
    return _published(positions.astype(numpy.int32), invocation)


def _leading_values(fibers: Floats, ordering: Ordering) -> Floats:
    """The wanted values of each fiber, ascending."""
    extent, length = ordering.extent, ordering.length
    if length == extent:
        return numpy.sort(fibers)
    if ordering.descending:
        leading = numpy.partition(fibers, extent - length)[..., extent - length :]
    else:
        leading = numpy.partition(fibers, length - 1)[..., :length]
    leading.sort()
    return leading


def _is_ambiguous(ordered: Floats, fibers: Floats) -> bool:
    """Whether equal values with different bits are among the values: NaNs, or both zeros."""
    if numpy.isnan(ordered[..., -1]).any():
        return True
    return bool(
        numpy.equal(ordered, 0).any() and numpy.equal(fibers.view(numpy.int32), _SIGN).any()
    )


def _leading_positions(fibers: Floats, ordering: Ordering) -> Positions:
    """Positions of the wanted values of each fiber, in order."""
    candidates = None if ordering.length == ordering.extent else _candidates(fibers, ordering)
    if candidates is None:
        return _stable_order(fibers, ordering.descending)[..., : ordering.length]
    chosen = fibers.reshape(-1)[candidates]
    order = _stable_order(chosen, ordering.descending)
    return numpy.take_along_axis(candidates, order, -1) % ordering.extent


def _candidates(fibers: Floats, ordering: Ordering) -> Positions | None:
    """Where the wanted values lie among all values, ascending in each fiber.

    Returns:
        None where ties leave a choice, or NaNs lead.
    """
    extent, length = ordering.extent, ordering.length
    if ordering.descending:
        leading = numpy.partition(fibers, extent - length)[..., extent - length :]
        if numpy.isnan(leading).any():
            return None
        leads: Bools = fibers >= leading[..., :1]
    else:
        # Nothing is at most NaN, so leading NaNs leave too few.
        leads = fibers <= numpy.partition(fibers, length - 1)[..., length - 1, None]
    found = numpy.flatnonzero(leads)
    rows = leads.size // extent
    if found.size != rows * length:
        return None
    ends = found.reshape(rows, length)[:, [0, -1]] // extent
    if numpy.not_equal(ends, numpy.arange(rows)[:, None]).any():
        return None  # one fiber has too many, another one too few
    return found.reshape(*fibers.shape[:2], length)


def _stable_order(fibers: Floats, descending: bool) -> Positions:
    """Positions of the values of each fiber in order."""
    keys = _ranks(fibers, descending).astype(numpy.uint64)
    keys <<= _POSITION_BITS
    keys |= numpy.arange(fibers.shape[-1], dtype=numpy.uint64)
    keys.sort()
    keys &= 2**_POSITION_BITS - 1
    return keys.view(numpy.int64)


def _ranks(fibers: Floats, descending: bool) -> NDArray[numpy.uint32]:
    """Integers in the order of the values; equal ones for both zeros, the largest for NaNs."""
    values = fibers + numpy.float32(0)  # makes -0.0 a +0.0
    numpy.copyto(values, numpy.float32(numpy.nan), where=numpy.isnan(values))
    bits = values.view(numpy.int32)
    # The sign bit of positive numbers, all bits of negative ones.
    bits ^= (bits >> 31) | _SIGN
    ranks = bits.view(numpy.uint32)
    return numpy.invert(ranks, ranks) if descending else ranks


KERNELS: dict[str, Kernel] = {
    "_sort_values": quiet(_values),
    "_sort_indices": quiet(_indices),
    "_topk_values": quiet(_values),
    "_topk_indices": quiet(_indices),
}
