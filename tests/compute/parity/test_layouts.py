"""Any hierarchical layout, aliasing or not, is one strided view to CPU."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import CPU, DType, Generic, Layout, Shape, Stride, Tensor

EXTENTS = st.integers(1, 4)
MODES = st.recursive(EXTENTS, lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=5)


def strides_like(mode: Any, draw: Any) -> Any:
    if isinstance(mode, int):
        return draw(st.integers(0, 9))
    return [strides_like(inner, draw) for inner in mode]


@st.composite
def placed(draw: Any, modes: Any) -> tuple[Layout, int, list[float]]:
    shape = draw(modes)
    layout = Layout(Shape(shape), Stride([strides_like(mode, draw) for mode in shape]))
    offset = draw(st.integers(0, 2))
    size = offset + layout.cosize + draw(st.integers(0, 2))
    return (
        layout,
        offset,
        draw(st.lists(st.integers(-8, 8).map(float), min_size=size, max_size=size)),
    )


def both(placement: tuple[Layout, int, list[float]]) -> tuple[Tensor, Tensor]:
    layout, offset, values = placement
    return Tensor(CPU(0).new_like(values), offset, layout), Tensor(Generic(values), offset, layout)


def same(made: Tensor, expected: Tensor) -> bool:
    return bool(made.layout == expected.layout and made.tolist() == expected.tolist())


@pytest.mark.rule("F-8", "G-13")
@given(placed(st.lists(MODES, min_size=1, max_size=3)), st.data())
def test_pointwise(placement: tuple[Layout, int, list[float]], data: st.DataObject) -> None:
    mine, reference = both(placement)
    assert same(sw.neg(mine), sw.neg(reference))
    shape = placement[0].shape
    other = Layout(shape, Stride([strides_like(mode, data.draw) for mode in shape.top_level]))
    values = data.draw(st.lists(st.just(1.5), min_size=other.cosize, max_size=other.cosize))
    rhs, rhs_reference = both((other, 0, values))
    assert same(sw.add(mine, rhs), sw.add(reference, rhs_reference))
    assert same(sw.lt(rhs, mine), sw.lt(rhs_reference, reference))


@pytest.mark.rule("F-26", "F-27", "F-32")
@given(placed(st.lists(MODES, min_size=2, max_size=2)))
def test_two_modes(placement: tuple[Layout, int, list[float]]) -> None:
    mine, reference = both(placement)
    for name in ("reduce_sum", "reduce_max", "reduce_min", "argmax", "argmin"):
        made = mine.carrier.dispatch_op(name).forward(mine)
        assert same(made, reference.carrier.dispatch_op(name).forward(reference))
    for dimension in (0, 1):
        assert same(sw.cumsum(mine, dimension), sw.cumsum(reference, dimension))
        assert same(sw.flip(mine, dimension), sw.flip(reference, dimension))
    assert same(sw.matmul(mine, mine), sw.matmul(reference, reference))


@pytest.mark.rule("F-41", "F-42", "F-43")
@given(placed(st.lists(MODES, min_size=1, max_size=3)), st.data())
def test_indexing(placement: tuple[Layout, int, list[float]], data: st.DataObject) -> None:
    mine, reference = both(placement)
    axis = data.draw(st.integers(0, len(placement[0].shape) - 1))
    extent = placement[0].shape[axis].size
    chosen = data.draw(st.lists(st.integers(0, extent - 1), min_size=1, max_size=4))
    layout = Layout.parse(f"{len(chosen)}:1")
    indices = Tensor(CPU(0, dtype=DType.Int32).new_like(chosen), 0, layout)
    index_reference = Tensor(Generic(chosen, dtype=DType.Int32), 0, layout)
    made, expected = sw.gather(mine, indices, axis), sw.gather(reference, index_reference, axis)
    assert same(made, expected)
    assert same(
        sw.scatter_add(mine, indices, made, axis),
        sw.scatter_add(reference, index_reference, expected, axis),
    )
    if len(set(chosen)) == len(chosen):
        assert same(
            sw.scatter(mine, indices, made, axis),
            sw.scatter(reference, index_reference, expected, axis),
        )


@pytest.mark.rule("F-45", "F-49")
@given(placed(st.lists(MODES, min_size=1, max_size=3)), st.data())
def test_ordering_and_joining(
    placement: tuple[Layout, int, list[float]], data: st.DataObject
) -> None:
    mine, reference = both(placement)
    modes = placement[0].shape.top_level
    axis = data.draw(st.integers(0, len(modes) - 1))
    k = data.draw(st.integers(1, placement[0].shape[axis].size))
    for made, expected in (
        *zip(sw.sort(mine, axis), sw.sort(reference, axis), strict=True),
        *zip(sw.topk(mine, k, axis), sw.topk(reference, k, axis), strict=True),
    ):
        assert same(made, expected)
    counts = st.tuples(st.integers(0, 2), st.integers(0, 2))
    padding = [data.draw(counts) if isinstance(mode, int) else (0, 0) for mode in modes]
    made, expected = sw.pad(mine, padding, 0.5), sw.pad(reference, padding, 0.5)
    assert same(made, expected)
    assert same(sw.stack((mine, mine), axis), sw.stack((reference, reference), axis))
    if isinstance(modes[axis], int) and sum(map(sum, padding)) == sum(padding[axis]):
        assert same(sw.concat((mine, made), axis), sw.concat((reference, expected), axis))


@pytest.mark.rule("F-41", "F-42", "F-44")
def test_faulty_indices_name_the_first_offender() -> None:
    base = Tensor(CPU(3), 0, Layout.parse("3:1"))
    for values, text in (([0, 3, -1], "3 at ordinal 1"), ([2, -1, 9], "-1 at ordinal 1")):
        indices = Tensor(CPU(0, dtype=DType.Int32).new_like(values), 0, Layout.parse("3:1"))
        with pytest.raises(IndexError, match=text):
            sw.gather(base, indices, 0)
        for scatter in (sw.scatter, sw.scatter_add):
            with pytest.raises(IndexError, match=text):
                scatter(base, indices, base, 0)
    repeated = Tensor(CPU(0, dtype=DType.Int32).new_like([2, 1, 2]), 0, Layout.parse("3:1"))
    with pytest.raises(ValueError, match="distinct, but 2 occurs again at ordinal 2"):
        sw.scatter(base, repeated, base, 0)


@pytest.mark.rule("F-8")
def test_more_leaves_than_an_array_has_axes() -> None:
    layout = Layout(Shape(3, *[1] * 70, 2), Stride(2, *[5] * 70, 1))
    tensor = Tensor(CPU(0).new_like([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), 0, layout)
    assert sw.neg(tensor).tolist()[2][0][0] != 0
    other = Tensor(tensor.carrier, 0, Layout(layout.shape, Stride(1, *[0] * 70, 3)))
    total = sw.add(tensor, other)
    assert total.carrier.size() == 6
    assert [total.carrier[slot] for slot in range(6)] == [2.0, 5.0, 8.0, 6.0, 9.0, 12.0]
