"""TileSelection: an ordered product of tile indices per axis."""

import copy
import pickle
from collections.abc import Iterable
from dataclasses import FrozenInstanceError
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strideweave import TileSelection, TileSet

axes = st.lists(
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True), min_size=1, max_size=3
)


@pytest.mark.rule("TE-5")
def test_keeps_the_order_of_the_caller_per_axis() -> None:
    selection = TileSelection(([7, 2], [4, 9]))
    assert selection.per_axis == ((7, 2), (4, 9))
    assert selection.rank == 2
    assert selection.compact_grid_shape == (2, 2)
    assert selection.coordinates == ((7, 4), (2, 4), (7, 9), (2, 9))
    assert selection.tile_set == TileSet([(2, 4), (7, 4), (2, 9), (7, 9)])
    assert selection.tile_set.coordinates == ((2, 4), (7, 4), (2, 9), (7, 9))


@pytest.mark.rule("TE-5")
def test_lists_tiles_with_axis_0_fastest() -> None:
    assert TileSelection(([0, 1], [0, 1])).coordinates == ((0, 0), (1, 0), (0, 1), (1, 1))


@pytest.mark.rule("TE-5")
def test_consumes_each_iterable_once() -> None:
    consumed: list[str] = []

    def once(name: str, values: Iterable[Any]) -> Iterable[Any]:
        consumed.append(name)
        yield from values

    inner = [once("axis 0", [1, 0]), once("axis 1", [2])]
    selection = TileSelection(once("per_axis", inner))
    assert selection.coordinates == ((1, 2), (0, 2))
    assert sorted(consumed) == ["axis 0", "axis 1", "per_axis"]


@given(axes)
@pytest.mark.rule("TE-6")
def test_compact_coordinate_stands_for_its_source_tile(per_axis: list[list[int]]) -> None:
    selection = TileSelection(per_axis)
    compact = [c[::-1] for c in product(*map(range, reversed(selection.compact_grid_shape)))]
    expected = [tuple(per_axis[i][c[i]] for i in range(selection.rank)) for c in compact]
    assert list(selection.coordinates) == expected


@pytest.mark.rule("TE-9")
def test_compares_and_hashes_by_value() -> None:
    selection = TileSelection([[2, 7], [4]])
    assert selection == TileSelection(((2, 7), (4,)))
    assert hash(selection) == hash(TileSelection(((2, 7), (4,))))
    assert selection != TileSelection([[7, 2], [4]])
    assert selection.__eq__(((2, 7), (4,))) is NotImplemented
    assert repr(selection) == "TileSelection(per_axis=((2, 7), (4,)))"


@pytest.mark.rule("TE-9", "S-19")
def test_is_frozen() -> None:
    selection = TileSelection([[0]])
    with pytest.raises(FrozenInstanceError, match="per_axis"):
        selection.per_axis = ((1,),)  # type: ignore[misc]  # the refusal under test
    with pytest.raises(FrozenInstanceError, match="per_axis"):
        del selection.per_axis
    assert selection.per_axis == ((0,),)


@pytest.mark.rule("G-18")
def test_round_trips_by_value() -> None:
    selection = TileSelection([[2, 7], [4]])
    assert selection.coordinates
    assert copy.copy(selection) == copy.deepcopy(selection) == selection
    assert pickle.loads(pickle.dumps(selection)).tile_set == selection.tile_set


@pytest.mark.rule("TE-5", "G-17")
@pytest.mark.parametrize(
    ("per_axis", "error", "message"),
    [
        (3, TypeError, r"per_axis must be a finite iterable, got 3 \(int\)"),
        ([3], TypeError, r"per_axis\[0\] must be a finite iterable, got 3 \(int\)"),
        ([[0], None], TypeError, r"per_axis\[1\] must be a finite iterable"),
        ([[True]], TypeError, r"per_axis\[0\]\[0\] must be an int, got True \(bool\)"),
        ([[0, 1.0]], TypeError, r"per_axis\[0\]\[1\] must be an int, got 1.0 \(float\)"),
        (["1"], TypeError, r"per_axis\[0\]\[0\] must be an int, got '1' \(str\)"),
        ([[0], [2, -1]], ValueError, r"per_axis\[1\]\[1\] must not be negative, got -1"),
        ([[3, 0, 3]], ValueError, r"per_axis\[0\]\[2\] repeats per_axis\[0\]\[0\], tile 3"),
        ([], ValueError, "per_axis is empty"),
        ([[0], []], ValueError, r"per_axis\[1\] is empty"),
    ],
)
def test_refuses_other_arguments(per_axis: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TileSelection(per_axis)


@pytest.mark.rule("TE-5")
@pytest.mark.parametrize(
    ("per_axis", "error"),
    [([[-1, True]], ValueError), ([[True, -1]], TypeError), ([[1, 1, "x"]], ValueError)],
)
def test_first_offending_component_decides(per_axis: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        TileSelection(per_axis)
