"""Views of several subtensors against decoding every coordinate through all levels by hand."""

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import Carrier, CompoundDType, DType, Layout, Operation, Shape, Stride, Tensor
from strideweave.operation import bind_view
from strideweave.tensor.representation import Subtensor, TensorRepresentation

Draw = Callable[[st.SearchStrategy[Any]], Any]
Slots = tuple[int, ...]


class Numbered(Carrier):
    """Storage of a size, without values."""

    def __init__(self, slots: int) -> None:
        super().__init__()
        self.slots = slots

    def size(self) -> int:
        return self.slots

    def dtype(self) -> DType:
        return DType.Float32

    def _dispatch_op(self, operation_name: str) -> Operation:
        return bind_view(operation_name)


class Stack(CompoundDType, abstract=False):
    """A compound of Float32 planes without rules."""


STACKS = {
    count: Stack(f"TestStack{count}", simple_types=(DType.Float32,) * count) for count in (2, 3)
}


@st.composite
def layouts(draw: Draw, shape: Shape, most: int | None = None) -> Layout:
    """Draw a layout of a shape; its indices stay below ``most`` where that is given."""
    strides: list[int] = []
    room = most
    for extent in shape.leaves:
        bound = 4 if room is None else (room - 1) // max(extent - 1, 1)
        stride = draw(st.integers(0, bound))
        strides.append(stride)
        if room is not None:
            room -= (extent - 1) * stride
    leaves = iter(strides)

    def nested(level: tuple[Any, ...]) -> list[Any]:
        return [nested(mode) if isinstance(mode, tuple) else next(leaves) for mode in level]

    return Layout(shape, Stride(nested(shape.top_level)))


@st.composite
def shapes(draw: Draw) -> Shape:
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    if len(extents) > 1 and draw(st.booleans()):
        return Shape([extents[0], extents[1:]])
    return Shape(extents)


@st.composite
def tensors(draw: Draw) -> Tensor:
    """Draw a Tensor of two or three subtensors, in layouts that repeat and leave gaps."""
    count = draw(st.sampled_from(sorted(STACKS)))
    placements = [draw(shapes().flatmap(layouts)) for _ in range(count)]
    adjacent = [draw(layouts(lower.shape, upper.size)) for lower, upper in pairwise(placements)]
    subtensors = []
    for placement in placements:
        offset = draw(st.integers(0, 3))
        carrier = Numbered(offset + placement.cosize)
        subtensors.append(Subtensor(DType.Float32, carrier, offset, placement))
    return Tensor._from_representation(TensorRepresentation(STACKS[count], subtensors, adjacent))


def decoded(tensor: Tensor) -> list[Slots]:
    """Follow every coordinate of level 0 through all levels: the slot it has in each carrier."""
    representation = tensor._representation()
    followed = []
    for ordinal in range(tensor.size()):
        slots = []
        position = ordinal
        for level, entry in enumerate(representation.subtensors):
            slots.append(entry.offset + entry.layout(position))
            if level < len(representation.adjacent_layouts):
                position = representation.adjacent_layouts[level](position)
        followed.append(tuple(slots))
    return followed


def ordinal_of(sizes: list[int], coordinate: tuple[int, ...]) -> int:
    """Number a coordinate of top-level modes, the first mode fastest."""
    ordinal, step = 0, 1
    for component, size in zip(coordinate, sizes, strict=True):
        ordinal += component * step
        step *= size
    return ordinal


def in_order(sizes: list[int]) -> list[tuple[int, ...]]:
    """List all coordinates of top-level modes, the first mode fastest."""
    return [entry[::-1] for entry in product(*(range(size) for size in reversed(sizes)))]


def mode_sizes(tensor: Tensor) -> list[int]:
    return [mode.size for mode in tensor.shape]


def shares_everything_deeper(view: Tensor, tensor: Tensor) -> bool:
    after, before = view._representation(), tensor._representation()
    carriers = [
        left.carrier is right.carrier and left.offset == right.offset
        for left, right in zip(after.subtensors, before.subtensors, strict=True)
    ]
    return (
        all(carriers)
        and after.subtensors[1:] == before.subtensors[1:]
        and after.adjacent_layouts[1:] == before.adjacent_layouts[1:]
    )


@pytest.mark.rule("T-17", "T-19", "T-29")
@given(tensors(), st.data())
def test_slicing_from_zero_keeps_what_each_coordinate_means(
    tensor: Tensor, data: st.DataObject
) -> None:
    key: list[Any] = []
    picked: list[range] = []
    for mode, size in zip(tensor.layout, mode_sizes(tensor), strict=True):
        step = data.draw(st.integers(1, 3))
        count = data.draw(st.integers(1, max(1, size // step)))
        if data.draw(st.booleans()):
            key.append(0)
            picked.append(range(1))
        elif mode.is_leaf and step * count <= size:
            key.append(slice(0, step * count, step))
            picked.append(range(0, step * count, step))
        else:
            key.append(slice(None))
            picked.append(range(size))
    view = tensor.carrier.dispatch_op("view").forward(tensor, tuple(key))
    source, sizes = decoded(tensor), mode_sizes(tensor)
    expected = [
        source[ordinal_of(sizes, coordinate[::-1])] for coordinate in product(*picked[::-1])
    ]
    assert decoded(view) == expected
    assert shares_everything_deeper(view, tensor)


@pytest.mark.rule("T-17", "T-19", "T-31")
@given(tensors(), st.data())
def test_permute_keeps_what_each_coordinate_means(tensor: Tensor, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(tensor.layout))))
    view = sw.permute(tensor, *order)
    source, sizes = decoded(tensor), mode_sizes(tensor)
    expected = []
    for coordinate in in_order(mode_sizes(view)):
        original = [0] * len(order)
        for mode, component in zip(order, coordinate, strict=True):
            original[mode] = component
        expected.append(source[ordinal_of(sizes, tuple(original))])
    assert decoded(view) == expected
    assert shares_everything_deeper(view, tensor)


@pytest.mark.rule("T-19", "T-32", "T-37", "T-38")
@given(tensors(), st.data())
def test_views_that_keep_the_logical_order(tensor: Tensor, data: st.DataObject) -> None:
    source = decoded(tensor)
    dim = data.draw(st.integers(-len(tensor.layout) - 1, len(tensor.layout)))
    widened = sw.unsqueeze(tensor, dim)
    assert decoded(widened) == source and shares_everything_deeper(widened, tensor)
    assert decoded(sw.squeeze(widened, dim)) == source
    try:
        flat = sw.reshape(tensor, Shape([1, [tensor.size()]]))
    except ValueError:
        steps = [
            {later - earlier for earlier, later in pairwise(column)}
            for column in (
                [slots[0] for slots in source],
                [tensor._representation().adjacent_layouts[0](i) for i in range(tensor.size())],
            )
        ]
        assert max(map(len, steps)) > 1  # refused only where one of them steps unevenly
    else:
        assert decoded(flat) == source and shares_everything_deeper(flat, tensor)


@pytest.mark.rule("T-19", "T-33", "T-34")
@given(tensors(), st.data())
def test_as_strided_selects_ordinals_or_is_refused(tensor: Tensor, data: st.DataObject) -> None:
    extents = data.draw(st.lists(st.integers(1, 3), min_size=0, max_size=3))
    strides = data.draw(st.lists(st.integers(0, 9), min_size=len(extents), max_size=len(extents)))
    selector = Layout(Shape(extents), Stride(strides))
    source = decoded(tensor)
    try:
        view = sw.as_strided(tensor, selector.shape, selector.stride)
    except ValueError:
        return
    assert decoded(view) == [source[selector(ordinal)] for ordinal in range(selector.size)]
    assert shares_everything_deeper(view, tensor)


@pytest.mark.rule("T-19", "T-35", "T-36")
@given(tensors(), st.integers(2, 3), st.data())
def test_broadcasts_repeat_what_each_coordinate_means(
    tensor: Tensor, extent: int, data: st.DataObject
) -> None:
    rank = len(tensor.layout)
    dim = data.draw(st.integers(0, rank))
    modes = list(tensor.shape.top_level)
    target = Shape([*modes[:dim], extent, *modes[dim:]])
    kept = tuple(position for position in range(rank + 1) if position != dim)
    view = sw.broadcast_in_dim(tensor, target, kept)
    source, sizes = decoded(tensor), mode_sizes(tensor)
    assert decoded(view) == [
        source[ordinal_of(sizes, coordinate[:dim] + coordinate[dim + 1 :])]
        for coordinate in in_order(mode_sizes(view))
    ]
    assert shares_everything_deeper(view, tensor)
    assert decoded(sw.broadcast_to(sw.unsqueeze(tensor, dim), target)) == decoded(view)
