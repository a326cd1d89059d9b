"""TileSet: a set of tile coordinates of one rank."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strideweave import TileSet

tiles = st.lists(st.tuples(*[st.integers(0, 5)] * 3), unique=True, max_size=8)


@pytest.mark.rule("TE-7")
def test_sorts_with_axis_0_fastest() -> None:
    assert TileSet([(0, 1), (1, 0), (0, 0)]).coordinates == ((0, 0), (1, 0), (0, 1))


@given(tiles)
@pytest.mark.rule("TE-7")
def test_coordinates_ascend_by_tile_number(coordinates: list[tuple[int, int, int]]) -> None:
    number = {(i, j, k): i + 6 * j + 36 * k for i, j, k in coordinates}
    assert list(TileSet(coordinates).coordinates) == sorted(coordinates, key=number.__getitem__)


@pytest.mark.rule("TE-7")
def test_empty_set_has_no_coordinates() -> None:
    assert TileSet().coordinates == ()
    assert TileSet() == TileSet(iter(()))


@pytest.mark.rule("TE-9")
def test_compares_and_hashes_by_value() -> None:
    assert TileSet([(1, 0), (0, 0)]) == TileSet([[0, 0], [1, 0]])
    assert hash(TileSet([(1, 0), (0, 0)])) == hash(TileSet([(0, 0), (1, 0)]))
    assert TileSet([(1, 0)]) != TileSet([(0, 1)])
    assert repr(TileSet([(1, 0)])) == "TileSet(coordinates=((1, 0),))"


@pytest.mark.rule("TE-9", "S-19")
def test_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError, match="coordinates"):
        TileSet().coordinates = ()  # type: ignore[misc]  # the refusal under test


@pytest.mark.rule("G-18")
def test_round_trips_by_value() -> None:
    original = TileSet([(1, 0), (0, 0)])
    assert copy.copy(original) == copy.deepcopy(original) == original
    assert pickle.loads(pickle.dumps(original)) == original


@pytest.mark.rule("TE-7", "G-17")
@pytest.mark.parametrize(
    ("coordinates", "error", "message"),
    [
        (None, TypeError, r"coordinates must be a finite iterable, got None \(NoneType\)"),
        ([5], TypeError, r"coordinates\[0\] must be a finite iterable, got 5 \(int\)"),
        ([(0, True)], TypeError, r"coordinates\[0\]\[1\] must be an int, got True \(bool\)"),
        ([(0,), (1.0,)], TypeError, r"coordinates\[1\]\[0\] must be an int, got 1.0 \(float\)"),
        ([(0, -2)], ValueError, r"coordinates\[0\]\[1\] must not be negative, got -2"),
        ([(0, 1), (0,)], ValueError, r"coordinates\[1\] has rank 1, but coordinates\[0\] has 2"),
        ([(2,), (0,), (2,)], ValueError, r"coordinates\[2\] repeats coordinates\[0\]"),
    ],
)
def test_refuses_other_arguments(coordinates: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        TileSet(coordinates)
