"""Convolution as matrix products of the weights with what the positions see.

Spatial axes run from the last mode to the first, as in every view. The batch stays the last axis
and the channels come first, so that what a tap sees lies in long runs.
"""

from math import prod

import numpy

from strideweave.carriers.cpu.conversion import Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, quiet
from strideweave.carriers.cpu.views import operand, result
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.convolution_sizes import Convolution, convolution_of
from strideweave.tensor.tensor import Tensor

_SCRATCH = 2**20
"""Elements of what the positions see, copied at once."""


def _conv_general(invocation: ResolvedInvocation) -> Tensor:
    sizes = convolution_of(invocation.call)
    seen = _seen(_spaced(operand(invocation, 0), sizes), sizes)
    weights = _weights(operand(invocation, 1), sizes)
    positions = [mode.positions for mode in reversed(sizes.spatial)]
    features = sizes.features // sizes.groups
    placed = numpy.empty((*positions, sizes.groups, features, sizes.batch), numpy.float32)
    for group in range(sizes.groups):
        _correlate(seen[group], weights[group], placed[..., group, :, :])
    return result(placed.reshape(-1), invocation.results[0])


def _spaced(lhs: Floats, sizes: Convolution) -> Floats:
    """Copy lhs as (group, channel, spatial..., batch) between zeros for padding and holes."""
    modes = sizes.spatial[::-1]
    extents = (mode.extent for mode in modes)
    given = lhs.reshape(*extents, sizes.groups, sizes.channels, sizes.batch)
    spans = (mode.before + mode.lhs_span + mode.after for mode in modes)
    spaced = numpy.zeros((sizes.groups, sizes.channels, *spans, sizes.batch), numpy.float32)
    elements = (
        slice(mode.before, mode.before + mode.lhs_span, mode.lhs_dilation) for mode in modes
    )
    spaced[:, :, *elements] = numpy.moveaxis(given, (-3, -2), (0, 1))
    return spaced


def _seen(spaced: Floats, sizes: Convolution) -> Floats:
    """View what each tap meets at each position: (group, taps..., channel, positions..., batch)."""
    modes = sizes.spatial[::-1]
    by_group, by_channel, *by_step, by_batch = spaced.strides
    taps = [mode.taps for mode in modes]
    positions = [mode.positions for mode in modes]
    between_taps = [step * mode.kernel_dilation for step, mode in zip(by_step, modes, strict=True)]
    between_positions = [step * mode.stride for step, mode in zip(by_step, modes, strict=True)]
    return numpy.ndarray(
        (sizes.groups, *taps, sizes.channels, *positions, sizes.batch),
        spaced.dtype,
        spaced,
        strides=(by_group, *between_taps, by_channel, *between_positions, by_batch),
    )


def _weights(kernel: Floats, sizes: Convolution) -> Floats:
    """The kernel as (group, out-feature, taps and channel)."""
    features = sizes.features // sizes.groups
    return kernel.reshape(-1, sizes.groups, features).transpose(1, 2, 0)


def _correlate(seen: Floats, weights: Floats, placed: Floats) -> None:
    """Fill the (positions..., out-feature, batch) of one group, block after block of positions."""
    features, terms = weights.shape
    *positions, _, batch = placed.shape
    width = prod(positions[1:]) * batch
    block = min(positions[0], max(1, _SCRATCH // (terms * width)))
    column_slots = numpy.empty(terms * block * width, numpy.float32)
    product_slots = numpy.empty(features * block * width, numpy.float32)
    ahead = (slice(None),) * (seen.ndim - len(positions) - 1)
    for start in range(0, positions[0], block):
        target = placed[start : start + block]
        part = seen[(*ahead, slice(start, start + block))]
        columns = column_slots[: part.size].reshape(part.shape)
        columns[...] = part
        products = product_slots[: target.size].reshape(features, -1)
        numpy.matmul(weights, columns.reshape(terms, -1), products)
        by_feature = products.reshape(features, len(target), *positions[1:], batch)
        target[...] = numpy.moveaxis(by_feature, 0, -2)


KERNELS: dict[str, Kernel] = {"conv_general": quiet(_conv_general)}
