"""Views and constants that gradients are written with: layouts change, no element is read."""

from collections.abc import Iterable
from functools import lru_cache
from itertools import repeat
from typing import Any

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Shape, Stride
from strideweave.ops.nesting import nest
from strideweave.tensor.tensor import Tensor, tensor_over


def viewed(tensor: Tensor, layout: Layout) -> Tensor:
    """Read a Tensor's storage through another layout of the same span."""
    return tensor_over(tensor.carrier, tensor.offset, layout)


def window(tensor: Tensor, shape: Shape, starts: Iterable[int]) -> Tensor:
    """View a block of a Tensor.

    Args:
        tensor: Tensor that contains the block.
        shape: Shape of the block, nested like the Tensor's.
        starts: First coordinate of the block in the leading top-level modes, all of them leaves
            where it is not zero; the block starts with the rest.
    """
    layout = tensor.layout
    start = window_start(layout, starts)
    return tensor_over(tensor.carrier, tensor.offset + start, window_layout(layout, shape))


@lru_cache(maxsize=1024)
def window_layout(layout: Layout, shape: Shape) -> Layout:
    """Layout of a block of that shape within a layout, from the index where it begins."""
    return layout_of(shape, layout.leaf_strides)


def window_start(layout: Layout, starts: Iterable[int]) -> int:
    """Index at which a block of a layout begins; ``starts`` as in ``window``."""
    strides: tuple[Any, ...] = layout.stride.top_level
    return sum(first * stride for first, stride in zip(starts, strides, strict=False) if first)


def layout_of(shape: Shape, leaf_strides: tuple[int, ...]) -> Layout:
    """Build a layout from its shape and its strides, listed leaf by leaf."""
    return Layout(shape, Stride(nest(shape.top_level, leaf_strides)))


@lru_cache(maxsize=256)
def stationary_layout(shape: Shape) -> Layout:
    """Layout of a shape whose every coordinate reads slot zero."""
    return layout_of(shape, (0,) * len(shape.leaves))


@lru_cache(maxsize=256)
def _unit_layout(shape: Shape) -> Layout:
    return canonical_layout(Shape(nest(shape.top_level, repeat(1))))


def constant_like(tensor: Tensor, value: float) -> Tensor:
    """One Float32 value that aligns with a Tensor and leaves the result layout to it.

    It takes no gradient.
    """
    carrier = tensor.carrier._one_slot(value, DType.Float32)
    constant = tensor_over(carrier, 0, _unit_layout(tensor.shape))
    constant._retains_grad = None
    return constant


def filled(shape: Shape, value: float, like: Tensor) -> Tensor:
    """A Float32 Tensor of a given shape whose coordinates share one slot.

    Args:
        shape: Shape of the Tensor.
        value: The value of every coordinate.
        like: Tensor whose carrier allocates the slot.
    """
    carrier = like.carrier._one_slot(value, DType.Float32)
    return tensor_over(carrier, 0, stationary_layout(shape))


@lru_cache(maxsize=1024)
def swapped_layout(layout: Layout) -> Layout:
    """Exchange the last two top-level modes of a layout."""
    *others, outer, inner = range(len(layout))
    return Layout.permute(layout, *others, inner, outer)


def swapped(tensor: Tensor) -> Tensor:
    """Exchange the last two top-level modes of a Tensor."""
    return viewed(tensor, swapped_layout(tensor.layout))


@lru_cache(maxsize=1024)
def _over_kept(target: Shape, kept: Layout) -> Layout:
    reduced = len(target.leaves) - len(kept.leaf_extents)
    return layout_of(target, kept.leaf_strides + (0,) * reduced)


def over_kept(target: Shape, kept: Tensor) -> Tensor:
    """Repeat one value per kept coordinate along the reduced mode.

    Args:
        target: Shape with the top-level modes (kept, reduced).
        kept: Tensor with the leaves of the kept mode.
    """
    return viewed(kept, _over_kept(target, kept.layout))


def reshaped_canonical(tensor: Tensor, shape: Shape) -> Tensor:
    """Give a Tensor of canonical layout another nesting with the same ordinals."""
    return viewed(tensor, canonical_layout(shape))
