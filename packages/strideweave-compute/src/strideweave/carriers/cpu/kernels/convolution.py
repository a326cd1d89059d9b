"""Convolution as matrix products of the weights with what the positions see.

Spatial axes run from the last mode to the first, as in every view. The batch stays the last axis
and the channels come first, so that what a tap sees lies in long runs. Only the taps of the inner
modes, those but the last, are copied side by side: one step along the last mode is a slab of such
rows, and a position sees the slabs of its taps where they lie.
"""

from math import prod
from typing import TypeAlias

import numpy

from strideweave.carriers.cpu.conversion import Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, quiet
from strideweave.carriers.cpu.views import operand, result
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.convolution_sizes import Convolution, SpatialMode, convolution_of
from strideweave.tensor.tensor import Tensor

Modes: TypeAlias = list[SpatialMode]

_SCRATCH = 2**21
"""Elements of slabs held at once."""
_ONE_STEP = SpatialMode(1, 1, 1, 1, 0, 0, 1, 1)


def _conv_general(invocation: ResolvedInvocation) -> Tensor:
    sizes = convolution_of(invocation.call)
    modes = list(sizes.spatial[::-1])
    if len(modes) == 1:
        modes.insert(0, _ONE_STEP)
    spaced = _spaced(operand(invocation, 0), sizes, modes)
    features = sizes.features // sizes.groups
    weights = operand(invocation, 1).reshape(-1, sizes.groups, features).transpose(1, 2, 0)
    positions = [mode.positions for mode in modes]
    placed = numpy.empty((*positions, sizes.groups, features, sizes.batch), numpy.float32)
    for group in range(sizes.groups):
        _correlate(spaced[group], weights[group], placed[..., group, :, :], modes)
    return result(placed.reshape(-1), invocation.results[0])


def _spaced(lhs: Floats, sizes: Convolution, modes: Modes) -> Floats:
    """Copy lhs as (group, channel, spatial..., batch) between zeros for padding and holes."""
    extents = (mode.extent for mode in modes)
    given = lhs.reshape(*extents, sizes.groups, sizes.channels, sizes.batch)
    spans = (mode.before + mode.lhs_span + mode.after for mode in modes)
    spaced = numpy.zeros((sizes.groups, sizes.channels, *spans, sizes.batch), numpy.float32)
    elements = (
        slice(mode.before, mode.before + mode.lhs_span, mode.lhs_dilation) for mode in modes
    )
    spaced[:, :, *elements] = numpy.moveaxis(given, (-3, -2), (0, 1))
    return spaced


def _correlate(spaced: Floats, weights: Floats, placed: Floats, modes: Modes) -> None:
    """Fill the (positions..., out-feature, batch) of one group, block after block.

    Args:
        spaced: (channel, spatial..., batch).
        weights: (out-feature, taps and channel).
        placed: Receives the result.
        modes: The spatial modes, last first.
    """
    outer = modes[0]
    features, terms = weights.shape
    *inner_positions, _, batch = placed.shape[1:]
    width = prod(inner_positions) * batch
    slab = terms // outer.taps * width
    hop = outer.stride if _shares_slabs(outer) else outer.taps
    block = min(outer.positions, max(1, _SCRATCH // (hop * slab)))
    slots = numpy.empty(((block - 1) * hop + outer.taps) * slab, numpy.float32)
    products = numpy.empty((block, width, features), numpy.float32)
    item = slots.itemsize
    for start in range(0, outer.positions, block):
        count = min(block, outer.positions - start)
        slabs = _slabs(spaced, modes, start, count)
        slots[: slabs.size].reshape(slabs.shape)[...] = slabs
        seen = numpy.ndarray(
            (count, terms, width), slots.dtype, slots, 0, (hop * slab * item, width * item, item)
        )
        # BLAS is faster with the small matrix of weights on the right.
        numpy.matmul(seen.swapaxes(1, 2), weights.T, products[:count])
        by_position = products[:count].reshape(count, *inner_positions, batch, features)
        placed[start : start + count] = by_position.swapaxes(-2, -1)


def _shares_slabs(outer: SpatialMode) -> bool:
    """Whether successive taps see successive slabs, and none is left out between positions."""
    return outer.kernel_dilation == 1 and outer.stride <= outer.taps


def _slabs(spaced: Floats, modes: Modes, start: int, count: int) -> Floats:
    """View the slabs that some positions of the last mode see, in order.

    Each is (inner taps..., channel, inner positions..., batch).
    """
    outer, *inner = modes
    by_channel, by_step, *by_inner, by_batch = spaced.strides
    if _shares_slabs(outer):
        steps: tuple[int, ...] = ((count - 1) * outer.stride + outer.taps,)
        by_slab: tuple[int, ...] = (by_step,)
    else:
        steps = (count, outer.taps)
        by_slab = (outer.stride * by_step, outer.kernel_dilation * by_step)
    pairs = list(zip(inner, by_inner, strict=True))
    return numpy.ndarray(
        (
            *steps,
            *(mode.taps for mode in inner),
            len(spaced),
            *(mode.positions for mode in inner),
            spaced.shape[-1],
        ),
        spaced.dtype,
        spaced,
        start * outer.stride * by_step,
        (
            *by_slab,
            *(mode.kernel_dilation * step for mode, step in pairs),
            by_channel,
            *(mode.stride * step for mode, step in pairs),
            by_batch,
        ),
    )


KERNELS: dict[str, Kernel] = {"conv_general": quiet(_conv_general)}
