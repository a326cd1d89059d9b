"""Convolution as matrix products of the weights with what the positions see.

Spatial axes run from the last mode to the first, as in every view. The batch stays the last axis
and the channels come first, so that what a tap sees lies in long runs. Only the taps of the inner
modes, those but the last, are copied side by side: one step along the last mode is a slab of such
rows, and a position sees the slabs of its taps where they lie. Positions of the last mode are
independent, so threads share them.
"""

from functools import lru_cache, partial
from math import prod
from typing import TypeAlias

import numpy

from strideweave.carriers.cpu.conversion import Array, Floats
from strideweave.carriers.cpu.kernels.frame import MOST_VALUES, Kernel, quiet
from strideweave.carriers.cpu.kernels.threads import SMALL_PRODUCT, share
from strideweave.carriers.cpu.views import operand, result
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.convolution_sizes import Convolution, SpatialMode, convolution_of
from strideweave.tensor.tensor import Tensor

Modes: TypeAlias = list[SpatialMode]

_SCRATCH = 2**18
"""Elements of slabs held at once: they should stay in a core's cache until they are multiplied."""
_REGISTER = 16
"""Rows and columns that matrix kernels compute together."""
_PER_THREAD = 2**22
"""Multiplications that are worth a thread."""
_ONE_STEP = SpatialMode(1, 1, 1, 1, 0, 0, 1, 1)


def _conv_general(invocation: ResolvedInvocation) -> Tensor:
    sizes = convolution_of(invocation.call)
    modes = list(sizes.spatial[::-1])
    if len(modes) == 1:
        modes.insert(0, _ONE_STEP)
    extents = (mode.extent for mode in modes)
    lhs = operand(invocation, 0).reshape(*extents, sizes.groups, sizes.channels, sizes.batch)
    features = sizes.features // sizes.groups
    weights = operand(invocation, 1).reshape(-1, sizes.groups, features).transpose(1, 2, 0)
    positions = [mode.positions for mode in modes]
    placed = numpy.empty((*positions, sizes.groups, features, sizes.batch), numpy.float32)
    # Where BLAS uses its own threads, more callers would only wait for each other.
    is_small = _tile(*weights.shape[1:]) is not None
    most = placed.size * weights.shape[-1] // _PER_THREAD if is_small else 1
    share(partial(_fill, lhs, weights, placed, sizes, modes), modes[0].positions, most)
    return result(placed.reshape(-1), invocation.results[0])


def _fill(
    lhs: Floats,
    weights: Floats,
    placed: Floats,
    sizes: Convolution,
    modes: Modes,
    start: int,
    stop: int,
) -> None:
    """Fill some positions of the last mode in all groups.

    Args:
        lhs: (spatial..., group, channel, batch).
        weights: (group, out-feature, taps and channel).
        placed: Receives the result, as (positions..., group, out-feature, batch).
        sizes: The sizes of the convolution.
        modes: The spatial modes, last first.
        start: The first position.
        stop: The position after the last one.
    """
    outer = modes[0]
    spaced = _spaced(
        lhs, sizes, modes, start * outer.stride, (stop - 1) * outer.stride + outer.kernel_span
    )
    for group in range(sizes.groups):
        _correlate(spaced[group], weights[group], placed[start:stop, ..., group, :, :], modes)


def _spaced(lhs: Floats, sizes: Convolution, modes: Modes, first: int, last: int) -> Floats:
    """Copy lhs as (group, channel, spatial..., batch) between zeros for padding and holes.

    Args:
        lhs: (spatial..., group, channel, batch).
        sizes: The sizes of the convolution.
        modes: The spatial modes, last first.
        first: The first step of the last mode that is needed, from its padding on.
        last: The step after the last one.
    """
    outer, *inner = modes
    spans = (mode.before + mode.lhs_span + mode.after for mode in inner)
    extents = (sizes.groups, sizes.channels, last - first, *spans, sizes.batch)
    if prod(extents) > MOST_VALUES:
        raise OverflowError(
            f"conv_general: lhs has {prod(extents)} elements with its padding and holes, which "
            "exceed the address space; pad and dilate less"
        )
    spaced = numpy.zeros(extents, numpy.float32)
    skipped = max(0, -((outer.before - first) // outer.lhs_dilation))
    given = lhs[skipped : max(skipped, -((outer.before - last) // outer.lhs_dilation))]
    steps = slice(outer.before + skipped * outer.lhs_dilation - first, None, outer.lhs_dilation)
    elements = (
        slice(mode.before, mode.before + mode.lhs_span, mode.lhs_dilation) for mode in inner
    )
    if len(given):
        spaced[:, :, steps, *elements][:, :, : len(given)] = numpy.moveaxis(given, (-3, -2), (0, 1))
    return spaced


def _correlate(spaced: Floats, weights: Floats, placed: Floats, modes: Modes) -> None:
    """Fill the (positions..., out-feature, batch) of one group, block after block.

    Args:
        spaced: (channel, spatial..., batch), from the first position on.
        weights: (out-feature, taps and channel).
        placed: Receives the result.
        modes: The spatial modes, last first.
    """
    outer = modes[0]
    features, terms = weights.shape
    positions, *inner_positions, _, batch = placed.shape
    width = prod(inner_positions) * batch
    slab = terms // outer.taps * width
    hop = outer.stride if _shares_slabs(outer) else outer.taps
    block = min(positions, max(1, (_SCRATCH // slab - outer.taps) // hop + 1))
    slots = numpy.empty(((block - 1) * hop + outer.taps) * slab, numpy.float32)
    products = numpy.empty((block, features, width), numpy.float32)
    item = slots.itemsize
    for start in range(0, positions, block):
        count = min(block, positions - start)
        slabs = _slabs(spaced, modes, start, count)
        slots[: slabs.size].reshape(slabs.shape)[...] = slabs
        seen = numpy.ndarray(
            (count, terms, width), slots.dtype, slots, 0, (hop * slab * item, width * item, item)
        )
        _multiply(weights, seen, products[:count])
        by_feature = _rows(products[:count].reshape(count, features, *inner_positions, batch))
        _rows(placed[start : start + count])[...] = numpy.moveaxis(by_feature, 1, -1)


def _multiply(weights: Floats, seen: Floats, products: Floats) -> None:
    """Multiply the weights by every matrix, in small products where there are any.

    Args:
        weights: (out-feature, term).
        seen: (matrix, term, column).
        products: Receives the (matrix, out-feature, column).
    """
    width = seen.shape[-1]
    features = len(weights)
    rows, columns = _tile(*weights.shape) or (features, width)
    whole = width - width % columns
    for feature in range(0, features, rows):
        block = slice(feature, feature + rows)
        for part, length in ((slice(whole), columns), (slice(whole, width), width - whole)):
            if length and part.start != part.stop:
                numpy.matmul(
                    weights[block],
                    _in_columns(seen[..., part], length),
                    _in_columns(products[:, block, part], length),
                )


@lru_cache
def _tile(features: int, terms: int) -> tuple[int, int] | None:
    """Out-features and columns of a small product, None where so many terms allow none."""
    most = SMALL_PRODUCT // terms
    if most < _REGISTER * _REGISTER:
        return None
    rows = min(features, most // _REGISTER // _REGISTER * _REGISTER)
    return rows, most // rows // _REGISTER * _REGISTER


def _in_columns(matrices: Floats, length: int) -> Floats:
    """Split every matrix into ones of so many columns."""
    count, rows, _ = matrices.shape
    return matrices.reshape(count, rows, -1, length).swapaxes(1, 2)


def _rows(values: Floats) -> Array:
    """Take each row of the last axis as one element, which NumPy copies as a whole."""
    *others, length = values.shape
    return values.view(numpy.dtype((numpy.void, length * values.itemsize))).reshape(others)


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
