"""The C expressions name the slots that the layouts name."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strideweave import Layout, Shape, Stride

from strideweave_opencl.addressing import Leaves, leaves, merged, slots

EXTENTS = st.lists(st.integers(1, 4), min_size=0, max_size=4)


def evaluated(expression: str, ordinal: int) -> int:
    value: Any = eval(expression.replace("/", "//"), {}, {"item": ordinal})
    return int(value)


def indexed(place: Leaves, ordinal: int) -> int:
    slot = 0
    for extent, stride in place:
        slot += ordinal % extent * stride
        ordinal //= extent
    return slot


@given(EXTENTS, st.data())
def test_every_ordinal_has_the_slot_of_its_coordinate(extents: list[int], data: Any) -> None:
    strides = st.tuples(*(st.integers(0, 9) for _ in extents))
    places = [tuple(zip(extents, data.draw(strides), strict=True)) for _ in range(3)]
    size = 1
    for extent in extents:
        size *= extent
    for expression, place in zip(slots("item", *places), places, strict=True):
        found = [evaluated(expression, ordinal) for ordinal in range(size)]
        assert found == [indexed(place, ordinal) for ordinal in range(size)]


@given(EXTENTS, st.data())
def test_in_any_order_the_same_slots_are_paired(extents: list[int], data: Any) -> None:
    strides = st.tuples(*(st.integers(0, 9) for _ in extents))
    places = [tuple(zip(extents, data.draw(strides), strict=True)) for _ in range(2)]
    size = 1
    for extent in extents:
        size *= extent
    left, right = slots("item", *places, any_order=True)
    found = sorted((evaluated(left, n), evaluated(right, n)) for n in range(size))
    assert found == sorted((indexed(places[0], n), indexed(places[1], n)) for n in range(size))


@pytest.mark.parametrize(
    ("shape", "stride", "ordinals"),
    [
        (Shape(4), Stride(3), [0, 3, 6, 9]),
        (Shape(2, (2, 2)), Stride(4, (0, 1)), [0, 4, 0, 4, 1, 5, 1, 5]),
    ],
)
def test_leaves_are_those_of_the_layout(shape: Shape, stride: Stride, ordinals: list[int]) -> None:
    layout = Layout(shape, stride)
    (expression,) = slots("item", leaves(layout))
    assert [evaluated(expression, ordinal) for ordinal in range(layout.size)] == ordinals
    assert [layout.index(ordinal) for ordinal in range(layout.size)] == ordinals


def test_equal_row_major_layouts_are_one_run_of_slots() -> None:
    row_major = leaves(Layout(Shape(3, 5), Stride(5, 1)))
    assert merged([row_major, row_major], any_order=True) == ([15], [(1,), (1,)])
    assert merged([row_major]) == ([3, 5], [(5, 1)])
