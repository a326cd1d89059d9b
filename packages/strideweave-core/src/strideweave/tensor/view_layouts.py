"""What each view does to a layout.

Every function takes a layout and the view's arguments and returns where the view starts, as an
index of that layout, together with the view's layout. Applied to a placement this gives the view;
applied to the layout of the source's gradient it tells where each cotangent value belongs.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from strideweave.layout import Layout, Shape, Stride, Tree
from strideweave.tensor.view_arguments import integer

Start: TypeAlias = int
LayoutView: TypeAlias = Callable[..., tuple[Start, Layout]]
# One entry of a Shape's or Stride's `top_level`: a leaf, or a level of further entries.
Mode: TypeAlias = Any


def slice_layout(layout: Layout, key: object, *, from_zero: bool = False) -> tuple[Start, Layout]:
    """Take one integer or slice per top-level mode (T-29); ``from_zero`` refuses later starts."""
    entries = key if isinstance(key, tuple) else (key,)
    if len(entries) != len(layout):
        raise ValueError(
            f"a view of layout {layout} takes exactly one key per top-level mode: "
            f"{len(layout)} expected, got {len(entries)} in {key!r}"
        )
    start: Start = 0
    extents: list[Mode] = []
    strides: list[Mode] = []
    for mode, entry in enumerate(entries):
        begin, kept = _slice_mode(layout, mode, entry)
        if from_zero:
            _require_start_zero(layout.shape[mode].size, mode, entry)
        start += begin
        if kept is not None:
            extents.append(kept[0])
            strides.append(kept[1])
    return start, _layout_of(tuple(extents), tuple(strides))


def slice_layout_from_zero(layout: Layout, key: object) -> tuple[Start, Layout]:
    """Slice without moving the start, as several subtensors need it."""
    return slice_layout(layout, key, from_zero=True)


@lru_cache(maxsize=1024)
def _layout_of(extents: tuple[Mode, ...], strides: tuple[Mode, ...]) -> Layout:
    """Build a layout; slices of one size at different places share it."""
    return Layout(Shape(extents), Stride(strides))


def _slice_mode(layout: Layout, mode: int, entry: object) -> tuple[Start, tuple[Mode, Mode] | None]:
    """Give where one mode starts, and its extent and stride unless an integer removes it."""
    extent, stride = _only_leaf(layout.shape.top_level[mode], layout.stride.top_level[mode])
    if not isinstance(entry, slice):
        if isinstance(extent, int):
            return _mode_ordinal(extent, mode, entry) * stride, None
        part = layout[mode]
        return part.index(_mode_ordinal(part.size, mode, entry)), None
    if isinstance(extent, int):
        start, kept, step = _slice_leaf(extent, mode, entry)
        return start * stride, (kept, stride * step)
    if (entry.start, entry.stop) != (None, None) or entry.step not in (None, 1):
        raise ValueError(
            f"view key {mode}: only whole slices are supported for non-leaf modes such as "
            f"{layout[mode]}, got {entry}; use `:`, an integer, or reshape the mode first"
        )
    return 0, (extent, stride)


def _require_start_zero(size: int, mode: int, entry: object) -> None:
    start = entry.indices(size)[0] if isinstance(entry, slice) else integer(entry)
    if start != 0:
        raise NotImplementedError(
            f"view key {mode}: a Tensor of several subtensors is only sliced with normalized start "
            f"0, {entry!r} starts at {start}; its levels share no offset that could move"
        )


def _only_leaf(extent: Mode, stride: Mode) -> tuple[Mode, Mode]:
    """Unwrap a one-leaf mode, which is sliced like a leaf."""
    if not isinstance(extent, int) and len(extent) == 1 and isinstance(extent[0], int):
        return extent[0], stride[0]
    return extent, stride


def _mode_ordinal(size: int, mode: int, entry: object) -> int:
    ordinal = integer(entry)
    if ordinal is None:
        raise TypeError(
            f"view key {mode} must be an integer or slice, got {type(entry).__qualname__}"
        )
    if not 0 <= ordinal < size:
        raise ValueError(
            f"View integer key is out of domain: key {mode} is {ordinal}, its mode has size {size}"
        )
    return ordinal


def _slice_leaf(extent: int, mode: int, entry: slice) -> tuple[int, int, int]:
    """Give start, number of kept ordinals, and step."""
    step = 1 if entry.step is None else integer(entry.step)
    if step is None:
        raise TypeError(
            f"view key {mode}: the slice step must be an integer, "
            f"got {type(entry.step).__qualname__}"
        )
    if step <= 0:
        raise ValueError(f"view key {mode}: a slice needs a positive step, got {step}")
    for bound in (entry.start, entry.stop):
        if bound is not None and integer(bound) is None:
            raise TypeError(
                f"view key {mode}: a slice bound must be an integer or None, "
                f"got {type(bound).__qualname__}"
            )
    start, stop, step = entry.indices(extent)
    if stop <= start:
        raise ValueError(
            f"view key {mode}: the slice must be non-empty, {entry} selects nothing of {extent}"
        )
    if (stop - start) % step != 0:
        raise ValueError(
            f"view key {mode}: the slice length {stop - start} must be divisible by its step {step}"
        )
    return start, (stop - start) // step, step


def rearrange_layout(layout: Layout, output: Tree, selection: Tree | None) -> tuple[Start, Layout]:
    """Reorder, nest, drop and insert modes along trees (L-21)."""
    return 0, Layout.rearrange(layout, output, selection)


def permute_layout(layout: Layout, *order: int) -> tuple[Start, Layout]:
    """Reorder top-level modes (L-23)."""
    return 0, Layout.permute(layout, *order)


def broadcast_layout(layout: Layout, target: Shape) -> tuple[Start, Layout]:
    """Widen extent-one leaves with stride zero (L-24)."""
    return 0, layout.broadcast_to(target)


def reshape_layout(layout: Layout, shape: Shape) -> tuple[Start, Layout]:
    """Lay evenly stepping indices out in another shape (T-32)."""
    if shape.size != layout.size:
        raise ValueError(
            f"reshape keeps the same logical size: layout {layout} has {layout.size} elements, "
            f"shape {shape} has {shape.size}"
        )
    step = _even_step(layout)
    strides = []
    for extent in shape.leaves:
        strides.append(step)
        step *= extent
    return 0, Layout(shape, stride_of_shape(shape, strides))


def _even_step(layout: Layout) -> int:
    if layout.size == 1:
        return layout.leaf_strides[0] if layout.leaf_strides else 1
    coalesced = Layout.coalesce(layout)
    if len(coalesced.leaf_strides) != 1:
        raise ValueError(
            f"reshape needs a layout that coalesces to one logical leaf, {layout} coalesces to "
            f"{coalesced}; reshape counts the first mode fastest, and concat([tensor], 0) or "
            "tensor + 0 makes a copy that lies so"
        )
    return coalesced.leaf_strides[0]


def strided_layout(layout: Layout, shape: Shape, stride: Stride) -> tuple[Start, Layout]:
    """Select source ordinals of a placement by a layout of ordinals (T-33, T-34)."""
    _, composed = selected_layout(layout, shape, stride)
    if not composed.is_injective:
        raise ValueError(
            f"the composed placement must be injective, {Layout(shape, stride)} over {layout} "
            f"gives {composed}"
        )
    return 0, composed


def selected_layout(layout: Layout, shape: Shape, stride: Stride) -> tuple[Start, Layout]:
    """Select source ordinals; what they map to may repeat."""
    selector = Layout(shape, stride)
    if not selector.is_injective:
        raise ValueError(f"the as_strided mapping must be injective, {selector} repeats an ordinal")
    if selector.cosize > layout.size:
        raise ValueError(
            f"as_strided mapping {selector} reaches ordinal {selector.cosize - 1} and exceeds the "
            f"input logical coordinate domain of {layout.size}"
        )
    return 0, Layout(shape, stride_of_shape(shape, _composed_strides(layout, selector)))


def _composed_strides(layout: Layout, selector: Layout) -> list[int]:
    source = Layout.coalesce(layout)
    extents, strides = source.leaf_extents, source.leaf_strides
    reached = [0] * len(extents)
    composed = []
    for extent, ordinal_stride in zip(selector.leaf_extents, selector.leaf_strides, strict=True):
        if extent == 1:
            composed.append(ordinal_stride * strides[0] if len(strides) == 1 else 0)
            continue
        digits = _mixed_radix(ordinal_stride, extents)
        for position, digit in enumerate(digits):
            reached[position] += (extent - 1) * digit
        composed.append(sum(d * s for d, s in zip(digits, strides, strict=True)))
    if any(most >= extent for most, extent in zip(reached, extents, strict=True)):
        raise ValueError(
            f"as_strided composition is not representable as a Layout: {selector} over {layout} "
            f"carries from one mode into the next"
        )
    return composed


def _mixed_radix(value: int, extents: tuple[int, ...]) -> list[int]:
    """Write a number with one digit per extent; the last digit is unbounded."""
    digits = []
    for extent in extents[:-1]:
        value, digit = divmod(value, extent)
        digits.append(digit)
    return [*digits, value]


def unsqueeze_layout(layout: Layout, dim: int) -> tuple[Start, Layout]:
    """Insert an extent-one, stride-zero mode (T-37)."""
    position = _mode_position(dim, len(layout) + 1)
    extents, strides = list(layout.shape.top_level), list(layout.stride.top_level)
    extents.insert(position, 1)
    strides.insert(position, 0)
    return 0, Layout(Shape(extents), Stride(strides))


def squeeze_layout(layout: Layout, dim: int) -> tuple[Start, Layout]:
    """Remove an extent-one leaf mode (T-38)."""
    position = _mode_position(dim, len(layout))
    extents, strides = list(layout.shape.top_level), list(layout.stride.top_level)
    if extents[position] != 1:
        raise ValueError(
            f"squeeze removes a top-level extent-one leaf, mode {position} of {layout} is "
            f"{layout.shape[position]}"
        )
    del extents[position], strides[position]
    return 0, Layout(Shape(extents), Stride(strides))


def _mode_position(dim: int, positions: int) -> int:
    if not -positions <= dim < positions:
        raise ValueError(f"dim {dim} is out of range [{-positions}, {positions - 1}]")
    return dim % positions


def stride_of_shape(shape: Shape, strides: Iterable[int]) -> Stride:
    """Nest one stride per leaf, depth first, like a shape."""
    return Stride(_like(shape.top_level, iter(strides)))


def _like(level: Iterable[Mode], leaves: Iterator[int]) -> list[Mode]:
    return [next(leaves) if isinstance(mode, int) else _like(mode, leaves) for mode in level]
