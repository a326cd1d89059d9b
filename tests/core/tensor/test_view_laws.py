"""Views of arbitrary layouts against a coordinate-by-coordinate reading of the source."""

from collections.abc import Callable
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.testing import ArrayCarrier

Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def layouts(draw: Draw) -> Layout:
    """Draw a small layout: flat or nested, with gaps, permuted, sometimes broadcast."""
    extents = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    strides, span = {}, 1
    for leaf in draw(st.permutations(range(len(extents)))):
        strides[leaf] = draw(st.sampled_from([span, span, span + 1, 0]))
        span += (extents[leaf] - 1) * strides[leaf]
    shape, stride = list(extents), [strides[leaf] for leaf in range(len(extents))]
    if len(shape) > 1 and draw(st.booleans()):
        return Layout(Shape([shape[0], shape[1:]]), Stride([stride[0], stride[1:]]))
    return Layout(Shape(shape), Stride(stride))


def ramp(layout: Layout) -> Tensor:
    """Build a Tensor in which every slot holds its own number."""
    carrier = ArrayCarrier(0, dtype=DType.Float32).new_like(list(range(layout.cosize + 2)))
    return Tensor(carrier, 2, layout)


def read(tensor: Tensor) -> list[float]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def mode_sizes(tensor: Tensor) -> list[int]:
    return [mode.size for mode in tensor.shape]


@pytest.mark.rule("T-48", "T-10")
@given(layouts())
def test_tolist_reads_every_coordinate(layout: Layout) -> None:
    tensor = ramp(layout)
    nested = tensor.tolist()
    for coordinate in product(*(range(size) for size in mode_sizes(tensor))):
        value = nested
        for component in coordinate:
            value = value[component]
        assert value == tensor[coordinate]


@pytest.mark.rule("T-29", "T-20")
@given(layouts(), st.data())
def test_slicing_selects_like_a_list(layout: Layout, data: st.DataObject) -> None:
    tensor = ramp(layout)
    key: list[int | slice] = []
    picked: list[range | int] = []
    for mode, size in zip(layout, mode_sizes(tensor), strict=True):
        kind = data.draw(st.sampled_from(["integer", "slice", "whole"]))
        if kind == "integer":
            key.append(data.draw(st.integers(0, size - 1)))
            picked.append(key[-1])  # type: ignore[arg-type]  # the integer of the line above
        elif kind == "slice" and mode.is_leaf:
            start = data.draw(st.integers(0, size - 1))
            stop = data.draw(st.integers(start + 1, size))
            steps = [step for step in range(1, 5) if (stop - start) % step == 0]
            step = data.draw(st.sampled_from(steps))
            key.append(slice(start, stop, step))
            picked.append(range(start, stop, step))
        else:
            key.append(slice(None))
            picked.append(range(size))
    view = tensor.carrier.dispatch_op("view").forward(tensor, tuple(key))
    kept = [entry for entry in picked if isinstance(entry, range)]
    assert mode_sizes(view) == [len(entry) for entry in kept]
    for position in product(*(range(len(entry)) for entry in kept)):
        components = iter(position)
        source = tuple(
            entry[next(components)] if isinstance(entry, range) else entry for entry in picked
        )
        assert view[position] == tensor[source]


@pytest.mark.rule("T-31")
@given(layouts(), st.data())
def test_a_permutation_reads_the_permuted_coordinate(layout: Layout, data: st.DataObject) -> None:
    tensor = ramp(layout)
    order = data.draw(st.permutations(range(len(layout))))
    view = sw.permute(tensor, *order)
    for coordinate in product(*(range(size) for size in mode_sizes(view))):
        source = [0] * len(order)
        for mode, component in zip(order, coordinate, strict=True):
            source[mode] = component
        assert view[coordinate] == tensor[source]
    inverse = [order.index(mode) for mode in range(len(order))]
    assert sw.permute(view, inverse).layout == layout


@pytest.mark.rule("T-32", "G-1")
@given(layouts())
def test_a_reshape_keeps_the_logical_order_or_is_refused(layout: Layout) -> None:
    tensor, values = ramp(layout), read(ramp(layout))
    steps = {later - earlier for earlier, later in pairwise(values)}
    target = Shape([1, [layout.size]])
    if len(steps) > 1:
        with pytest.raises(ValueError, match="coalesces to one logical leaf"):
            sw.reshape(tensor, target)
    else:
        view = sw.reshape(tensor, target)
        assert view.shape == target and read(view) == values


@pytest.mark.rule("T-33", "T-34", "G-1")
@given(layouts(), st.data())
def test_as_strided_reads_the_selected_ordinals_or_is_refused(
    layout: Layout, data: st.DataObject
) -> None:
    tensor = ramp(layout)
    extents = data.draw(st.lists(st.integers(1, 3), min_size=0, max_size=3))
    strides = data.draw(st.lists(st.integers(0, 9), min_size=len(extents), max_size=len(extents)))
    selector = Layout(Shape(extents), Stride(strides))
    try:
        view = sw.as_strided(tensor, selector.shape, selector.stride)
    except ValueError:
        return
    assert view.shape == selector.shape
    assert read(view) == [tensor[selector(ordinal)] for ordinal in range(selector.size)]


@pytest.mark.rule("T-37", "T-38")
@given(layouts(), st.data())
def test_squeeze_undoes_unsqueeze(layout: Layout, data: st.DataObject) -> None:
    tensor = ramp(layout)
    rank = len(layout)
    dim = data.draw(st.integers(-(rank + 1), rank))
    view = sw.unsqueeze(tensor, dim)
    assert read(view) == read(tensor)
    assert sw.squeeze(view, dim).layout == layout


@pytest.mark.rule("T-39", "T-47")
@given(layouts(), st.data())
def test_a_gradient_is_the_transpose_of_the_reading(layout: Layout, data: st.DataObject) -> None:
    tensor = ramp(layout)
    order = data.draw(st.permutations(range(len(layout))))
    view = sw.permute(tensor, *order)
    positions = read(sw.permute(_ordinals(layout), *order))
    node = view.autograd_ctx
    assert node is not None
    (gradient,) = node.backward(_cotangent(view))
    expected = dict(zip(positions, range(layout.size), strict=True))
    assert gradient is not None
    assert read(gradient) == [expected[ordinal] for ordinal in range(layout.size)]


def _ordinals(layout: Layout) -> Tensor:
    """Number the coordinates of a shape, each in a slot of its own."""
    carrier = ArrayCarrier(0, dtype=DType.Float32).new_like(list(range(layout.size)))
    flat = Tensor(carrier, 0, Layout(Shape(layout.size), Stride(1)))
    return sw.reshape(flat, layout.shape)


def _cotangent(view: Tensor) -> Tensor:
    """Number the coordinates of a view, in its own layout where that is injective."""
    if not view.layout.is_injective:
        return _ordinals(view.layout)
    cells = [0.0] * view.layout.cosize
    for ordinal in range(view.size()):
        cells[view.layout(ordinal)] = float(ordinal)
    return Tensor(ArrayCarrier(0, dtype=DType.Float32).new_like(cells), 0, view.layout)
