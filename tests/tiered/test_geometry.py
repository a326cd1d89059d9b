"""The grid of tiles, and the full tensors that keep to it."""

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import Layout, Shape, Stride, Tensor, TileSelection, TileSet
from strideweave.carriers.tiled_evictable.footprints import placement
from strideweave.carriers.tiled_evictable.geometry import TileGrid, tile_grid
from strideweave.layout.enumeration import slots

FOOTPRINTS = {
    (0, 0): [0, 1, 4, 5],
    (1, 0): [2, 3, 6, 7],
    (0, 1): [8, 9, 12, 13],
    (1, 1): [10, 11, 14, 15],
}
COMPATIBLE = ["(4,4):(1,4)", "((2,2),(2,2)):((4,2),(1,8))"]
INCOMPATIBLE = [
    "((2,2),(2,2)):((1,2),(8,4))",
    "(4,4):(4,1)",
    "(4,4):(1,0)",
    "((2,2),(2,2)):((1,8),(2,4))",
]


@pytest.mark.rule("TE-10", "TE-11", "TE-12")
@pytest.mark.parametrize(("number", "coordinate"), list(enumerate(FOOTPRINTS)))
def test_footprints_of_the_worked_example(number: int, coordinate: tuple[int, int]) -> None:
    grid = tile_grid((2, 2), (2, 2))
    assert (grid.logical_shape, grid.extent) == ((4, 4), 16)
    assert grid.number(coordinate) == number and grid.coordinate(number) == coordinate
    footprint = FOOTPRINTS[coordinate]
    assert [grid.first_slot(number) + slot for slot in slots(grid.footprint)] == footprint
    assert [grid.locate(slot) for slot in footprint] == [(number, local) for local in range(4)]


@pytest.mark.rule("TE-11", "TE-12")
def test_one_expert_per_tile() -> None:
    grid = tile_grid((3, 1, 1), (1, 2, 2))
    assert [grid.first_slot(1) + slot for slot in slots(grid.footprint)] == [1, 4, 7, 10]


@pytest.mark.rule("TE-10")
def test_a_carrier_reports_its_geometry(tiled: Any) -> None:
    carrier = tiled([2, 3], iter([4, 5]))
    assert carrier.grid_shape == (2, 3) and carrier.tile_shape == (4, 5)
    assert carrier.logical_shape == (8, 15)
    assert carrier.size() == 120
    carrier.release()
    assert carrier.size() == 0 and carrier.logical_shape == (8, 15)


@pytest.mark.rule("TE-27")
@pytest.mark.parametrize("text", COMPATIBLE)
def test_compatible_layouts(tiled: Any, full: Callable[..., Tensor], text: str) -> None:
    carrier = tiled((2, 2), (2, 2))
    tensor = full(carrier, text)
    assert sw.relu(tensor).tolist() == tensor.tolist()


@pytest.mark.rule("TE-27", "TE-28")
@pytest.mark.parametrize("text", INCOMPATIBLE)
def test_incompatible_layouts_are_refused_by_every_entry_point(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor], text: str
) -> None:
    calls: list[str] = []

    class Watching:
        def plan(self, required: TileSet, purpose: str) -> sw.ResidencyPlan:
            calls.append(purpose)
            return sw.ResidencyPlan()

    carrier = tiled((2, 2), (2, 2), stored=True, policy=Watching())
    tensor = full(carrier, text)
    selection = TileSelection([[0], [0]])
    attempts: list[Callable[[], object]] = [
        lambda: carrier.project(tensor, selection),
        lambda: carrier.scatter(dense(range(4), 2, 2), tensor, selection),
        lambda: sw.relu(tensor),
        lambda: sw.mul(tensor, 2.0),
    ]
    for attempt in attempts:
        with pytest.raises(ValueError, match="tile footprints"):
            attempt()
    assert calls == [] and carrier.primary_tiles == TileSet() and carrier.version == 0


@pytest.mark.rule("TE-28", "TE-29")
def test_shape_comes_before_footprint(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2, 2), (2, 2))
    for text in ("(16):(1)", "(2,8):(1,2)", "(4,2):(1,4)"):
        with pytest.raises(ValueError, match="full logical shape"):
            carrier.project(full(carrier, text), TileSelection([[0], [0]]))
    shifted = Tensor(tiled((2,), (2,)), 1, Layout.parse("(3):(1)"))
    with pytest.raises(ValueError, match="full logical shape"):
        shifted.carrier.project(shifted, TileSelection([[0]]))  # type: ignore[attr-defined]  # it is tiled


@pytest.mark.rule("TE-29")
def test_an_offset_never_fits() -> None:
    grid = tile_grid((2,), (2,))
    assert placement(grid, 1, grid.full_layout) is None


def factorizations(extent: int) -> st.SearchStrategy[tuple[int, ...]]:
    divisors = [factor for factor in range(2, extent) if extent % factor == 0]
    whole = st.just((extent,))
    if not divisors:
        return whole
    split = st.sampled_from(divisors).flatmap(
        lambda first: factorizations(extent // first).map(lambda rest: (first, *rest))
    )
    return whole | split


@st.composite
def geometries(draw: st.DrawFn) -> tuple[TileGrid, Layout]:
    """Draw a small grid, and a layout of its full shape whose leaves are placed in any order."""
    rank = draw(st.integers(1, 3))
    sizes = st.lists(st.integers(1, 4), min_size=rank, max_size=rank)
    grid = tile_grid(tuple(draw(sizes)), tuple(draw(sizes)))
    modes = [draw(factorizations(extent)) for extent in grid.logical_shape]
    places = [(mode, leaf) for mode, leaves in enumerate(modes) for leaf in range(len(leaves))]
    strides: dict[tuple[int, int], int] = {}
    step = 1
    for mode, leaf in draw(st.permutations(places)):
        strides[mode, leaf] = step
        step *= modes[mode][leaf]
    if draw(st.integers(0, 7)) == 0:
        strides[draw(st.sampled_from(places))] = draw(st.integers(0, 6))
    nested = [
        tuple(strides[mode, leaf] for leaf in range(len(leaves)))
        for mode, leaves in enumerate(modes)
    ]
    return grid, Layout(Shape(modes), Stride(nested))


@pytest.mark.rule("TE-27", "TE-29")
@given(geometries())
def test_the_verdict_is_that_of_the_definition(drawn: tuple[TileGrid, Layout]) -> None:
    grid, layout = drawn
    reached: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for ordinal, slot in enumerate(slots(layout)):
        tile, local, stride = [], 0, 1
        for extent, side in zip(grid.logical_shape, grid.tile_shape, strict=True):
            ordinal, place = divmod(ordinal, extent)
            tile.append(place // side)
            local += (place % side) * stride
            stride *= side
        reached.setdefault(tuple(tile), []).append((local, slot))
    fits = all(
        sorted(slot for _, slot in entries)
        == sorted(grid.first_slot(grid.number(reachable)) + slot for slot in slots(grid.footprint))
        for reachable, entries in reached.items()
    )
    within = placement(grid, 0, layout)
    assert (within is not None) == fits
    if within is not None:
        ordinals = slots(within)
        for coordinate, entries in reached.items():
            for local, slot in entries:
                assert grid.locate(slot) == (grid.number(coordinate), ordinals[local])


@pytest.mark.rule("TE-29")
def test_huge_geometries_are_judged_without_their_elements() -> None:
    grid = tile_grid((2**20, 2**20), (2**12, 2**10))
    assert placement(grid, 0, grid.full_layout) == grid.tile_layout
    blocked = Layout.parse(f"(({2**12},{2**20}),({2**10},{2**20})):((1,{2**12}),({2**32},{2**42}))")
    assert placement(grid, 0, blocked) is not None
    assert prod(grid.logical_shape) == grid.extent
    assert all(first < second for first, second in pairwise(grid.strides))
