"""Convolution by MLX where it can, else as one matrix product per tap.

Spatial axes run from the last mode to the first, as in every view. Padding and the holes of a
dilated operand are written out as zeros: MLX would skip some, whose product with an infinite weight
is NaN.
"""

from itertools import product as combinations
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.contractions import BLOCK, product
from strideweave.carriers.metal.kernels.frame import Kernel
from strideweave.carriers.metal.kernels.reductions import sum_of_rows
from strideweave.carriers.metal.views import operand, result
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.convolution_sizes import Convolution, SpatialMode, convolution_of
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx

Modes: TypeAlias = tuple[SpatialMode, ...]

_MOST_MLX_MODES = 3


def _conv_general(invocation: ResolvedInvocation) -> Tensor:
    sizes = convolution_of(invocation.call)
    modes = sizes.spatial[::-1]
    taps = [mode.taps for mode in modes]
    spaced = _spaced(operand(invocation, 0), sizes, modes)
    weights = primitives.reshape(operand(invocation, 1), (*taps, sizes.channels, -1))
    is_known = sizes.groups == 1 and len(modes) <= _MOST_MLX_MODES and prod(taps) <= BLOCK
    convolve = _by_channels if is_known else _by_taps
    sums = convolve(spaced, weights, sizes, modes)
    return result(primitives.add(sums, primitives.ZERO), invocation.results[0])


def _spaced(lhs: "mx.array", sizes: Convolution, modes: Modes) -> "mx.array":
    """Lhs as (spatial..., group and channel, batch) between zeros for padding and holes."""
    extents = [mode.extent for mode in modes]
    spaced = primitives.reshape(lhs, (*extents, sizes.groups * sizes.channels, sizes.batch))
    for axis, mode in enumerate(modes):
        if mode.lhs_dilation > 1:
            spaced = _dilated(spaced, axis, mode)
    padding = [(mode.before, mode.after) for mode in modes]
    return primitives.pad(spaced, [*padding, (0, 0), (0, 0)], constant_values=primitives.ZERO)


def _dilated(array: "mx.array", axis: int, mode: SpatialMode) -> "mx.array":
    """Put zeros between the elements along an axis."""
    outer, inner = array.shape[:axis], array.shape[axis + 1 :]
    holes = [(0, 0)] * (axis + 1) + [(0, mode.lhs_dilation - 1)] + [(0, 0)] * len(inner)
    parted = primitives.reshape(array, (*outer, mode.extent, 1, *inner))
    filled = primitives.pad(parted, holes, constant_values=primitives.ZERO)
    joined = primitives.reshape(filled, (*outer, -1, *inner))
    return primitives.split(joined, [mode.lhs_span], axis)[0]


def _by_channels(
    spaced: "mx.array", weights: "mx.array", sizes: Convolution, modes: Modes
) -> "mx.array":
    """Convolve by MLX, so many channels at once that their terms do not lose too much."""
    count = len(modes)
    spatial = range(count)
    step = max(1, BLOCK // prod(mode.taps for mode in modes))
    starts = list(range(step, sizes.channels, step))
    inputs = primitives.transpose(spaced, (count + 1, *spatial, count))
    kernels = primitives.transpose(weights, (count + 1, *spatial, count))
    terms = [
        primitives.conv_general(
            some_inputs,
            some_kernels,
            stride=[mode.stride for mode in modes],
            kernel_dilation=[mode.kernel_dilation for mode in modes],
        )
        for some_inputs, some_kernels in zip(
            primitives.split(inputs, starts, -1), primitives.split(kernels, starts, -1), strict=True
        )
    ]
    positions = sum_of_rows(primitives.stack(terms))  # (batch, spatial..., out-feature)
    return primitives.transpose(positions, (*(axis + 1 for axis in spatial), count + 1, 0))


def _by_taps(
    spaced: "mx.array", weights: "mx.array", sizes: Convolution, modes: Modes
) -> "mx.array":
    """Multiply what each tap sees at all positions with its weights, for every group."""
    count = len(modes)
    groups, channels, batch = sizes.groups, sizes.channels, sizes.batch
    positions = [mode.positions for mode in modes]
    channels_first = primitives.contiguous(
        primitives.transpose(spaced, (count, *range(count), count + 1))
    )
    by_tap = primitives.reshape(weights, (-1, channels, groups, sizes.features // groups))
    by_group = primitives.transpose(by_tap, (0, 2, 3, 1))
    taps = combinations(*(range(mode.taps) for mode in modes))
    terms = [
        product(
            primitives.reshape(matrices, matrices.shape[1:]),
            primitives.reshape(_seen(channels_first, tap, modes), (groups, channels, -1)),
        )
        for matrices, tap in zip(primitives.split(by_group, by_group.shape[0]), taps, strict=True)
    ]
    sums = primitives.reshape(sum_of_rows(primitives.stack(terms)), (-1, *positions, batch))
    return primitives.transpose(sums, (*range(1, count + 1), 0, count + 1))


def _seen(channels_first: "mx.array", tap: tuple[int, ...], modes: Modes) -> "mx.array":
    """What a tap sees, as (channel of all groups, positions..., batch)."""
    channels, *spans, batch = channels_first.shape
    steps = [prod(spans[axis + 1 :]) * batch for axis in range(len(spans))]
    first = sum(
        at * mode.kernel_dilation * step for at, mode, step in zip(tap, modes, steps, strict=True)
    )
    return primitives.as_strided(
        channels_first,
        (channels, *(mode.positions for mode in modes), batch),
        (
            prod(spans) * batch,
            *(mode.stride * step for mode, step in zip(modes, steps, strict=True)),
            1,
        ),
        first,
    )


KERNELS: dict[str, Kernel] = {"conv_general": _conv_general}
