"""The sizes of a convolution, read from shapes and parameters.

Canonical roles are lhs [batch, in-feature, spatial...] and kernel [out-feature, in-feature of one
group, spatial...]; batch and feature modes count by their ordinals, whatever their nesting.
"""

from functools import lru_cache
from typing import Any, NamedTuple

from strideweave.layout.shape import Shape
from strideweave.operation.invocation import BoundOperationCall

_NAME = "conv_general"


class SpatialMode(NamedTuple):
    """One spatial mode of a convolution.

    Attributes:
        extent: Elements of lhs.
        taps: Elements of the kernel.
        positions: Elements of the result.
        stride: Steps between positions.
        before: Padding before the first element.
        after: Padding after the last element.
        lhs_dilation: Steps between elements of lhs.
        kernel_dilation: Steps between taps.
    """

    extent: int
    taps: int
    positions: int
    stride: int
    before: int
    after: int
    lhs_dilation: int
    kernel_dilation: int

    @property
    def lhs_span(self) -> int:
        """Steps from the first to the last element of lhs, both included."""
        return (self.extent - 1) * self.lhs_dilation + 1

    @property
    def kernel_span(self) -> int:
        """Steps from the first to the last tap, both included."""
        return (self.taps - 1) * self.kernel_dilation + 1

    @property
    def position_span(self) -> int:
        """Steps from the first to the last position, both included."""
        return (self.positions - 1) * self.stride + 1

    def source(self, position: int, tap: int) -> int | None:
        """Element of lhs that a tap meets at a position, None for padding and holes."""
        step = position * self.stride + tap * self.kernel_dilation - self.before
        element, rest = divmod(step, self.lhs_dilation)
        return element if rest == 0 and 0 <= element < self.extent else None


class Convolution(NamedTuple):
    """The sizes of a convolution.

    Attributes:
        batch: Coordinates of the batch mode.
        channels: In-features that each out-feature reads.
        features: Out-features of all groups.
        groups: Feature groups.
        spatial: The spatial modes.
    """

    batch: int
    channels: int
    features: int
    groups: int
    spatial: tuple[SpatialMode, ...]


def convolution_of(call: BoundOperationCall) -> Convolution:
    """Read the sizes of a bound call.

    Raises:
        ValueError: The shapes and parameters do not fit each other.
    """
    operands: tuple[Any, ...] = call.operands
    lhs, kernel, *parameters = operands
    return _sizes(lhs.shape, kernel.shape, *parameters)


@lru_cache(maxsize=1024)
def _sizes(
    lhs: Shape,
    kernel: Shape,
    strides: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    lhs_dilation: tuple[int, ...] | None,
    kernel_dilation: tuple[int, ...] | None,
    groups: int,
) -> Convolution:
    rank = len(lhs.top_level) - 2
    if rank < 1 or len(kernel.top_level) != len(lhs.top_level):
        raise ValueError(
            f"{_NAME}: lhs and kernel must have two modes and equally many spatial modes, at least "
            f"one; got {lhs} and {kernel}"
        )
    for name, shape in (("lhs", lhs), ("kernel", kernel)):
        for mode, entry in enumerate(shape.top_level[2:], 2):
            if not isinstance(entry, int):
                raise ValueError(
                    f"{_NAME}: spatial modes must be leaves, but mode {mode} of {name} is nested "
                    f"in {shape}"
                )
    ones = (1,) * rank
    by_mode = {
        "strides": strides,
        "padding": padding,
        "lhs_dilation": ones if lhs_dilation is None else lhs_dilation,
        "kernel_dilation": ones if kernel_dilation is None else kernel_dilation,
    }
    for name, values in by_mode.items():
        if len(values) != rank:
            raise ValueError(
                f"{_NAME}: {name} must have one entry per spatial mode, {rank}, got {len(values)}"
            )
    channels, features = _grouped_features(lhs, kernel, groups)
    modes = zip(lhs.leaves[-rank:], kernel.leaves[-rank:], *by_mode.values(), strict=True)
    spatial = tuple(_spatial_mode(mode, *sizes) for mode, sizes in enumerate(modes))
    return Convolution(lhs[0].size, channels, features, groups, spatial)


def _grouped_features(lhs: Shape, kernel: Shape, groups: int) -> tuple[int, int]:
    """Give the in-features of one group and the out-features of all."""
    in_features, channels, features = lhs[1].size, kernel[1].size, kernel[0].size
    for name, count in (("in-features of lhs", in_features), ("out-features", features)):
        if count % groups:
            raise ValueError(
                f"{_NAME}: the {name} must be divisible by feature_groups={groups}, got {count}"
            )
    if channels * groups != in_features:
        raise ValueError(
            f"{_NAME}: kernel must have {in_features // groups} in-features, which is "
            f"{in_features} of lhs by feature_groups={groups}, got {channels}"
        )
    return channels, features


def _spatial_mode(
    mode: int,
    extent: int,
    taps: int,
    stride: int,
    padding: tuple[int, int],
    lhs_dilation: int,
    kernel_dilation: int,
) -> SpatialMode:
    before, after = padding
    available = before + (extent - 1) * lhs_dilation + 1 + after
    needed = (taps - 1) * kernel_dilation + 1
    positions = (available - needed) // stride + 1
    if positions < 1:
        raise ValueError(
            f"{_NAME}: the result would have no element in spatial mode {mode}: the kernel spans "
            f"{needed} steps of {available}; add padding"
        )
    return SpatialMode(
        extent, taps, positions, stride, before, after, lhs_dilation, kernel_dilation
    )
