"""ResidencyPlan: three disjoint tile sets."""

import copy
import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from strideweave import ResidencyPlan, TileSelection, TileSet

HERE, THERE = TileSet([(0, 0)]), TileSet([(1, 0)])


@pytest.mark.rule("TE-8")
def test_fields_keep_the_given_objects() -> None:
    plan = ResidencyPlan(HERE, evict=THERE)
    assert plan.promote is HERE
    assert plan.evict is THERE
    assert plan.retain == TileSet()


@pytest.mark.rule("TE-8")
def test_none_becomes_an_empty_set() -> None:
    plan = ResidencyPlan()
    assert (plan.promote, plan.retain, plan.evict) == (TileSet(), TileSet(), TileSet())


@pytest.mark.rule("TE-9")
def test_compares_and_hashes_by_value() -> None:
    assert ResidencyPlan(HERE) == ResidencyPlan(TileSet([(0, 0)]))
    assert hash(ResidencyPlan(HERE)) == hash(ResidencyPlan(TileSet([(0, 0)])))
    assert ResidencyPlan(HERE) != ResidencyPlan(retain=HERE)
    assert repr(ResidencyPlan(HERE)) == (
        "ResidencyPlan(promote=TileSet(coordinates=((0, 0),)), "
        "retain=TileSet(coordinates=()), evict=TileSet(coordinates=()))"
    )


@pytest.mark.rule("TE-9", "S-19")
def test_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError, match="promote"):
        ResidencyPlan().promote = HERE  # type: ignore[misc]  # the refusal under test


@pytest.mark.rule("G-18")
def test_round_trips_by_value() -> None:
    plan = ResidencyPlan(HERE, None, THERE)
    assert copy.copy(plan) == copy.deepcopy(plan) == pickle.loads(pickle.dumps(plan)) == plan


@pytest.mark.rule("TE-8", "G-17")
@pytest.mark.parametrize("field", ["promote", "retain", "evict"])
@pytest.mark.parametrize("value", [(), TileSelection([[0]]), 0])
def test_refuses_a_field_of_another_type(field: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"{field} must be a TileSet or None, got .*"):
        ResidencyPlan(**{field: value})


@pytest.mark.rule("TE-8", "G-17")
def test_refuses_a_tile_in_two_fields() -> None:
    with pytest.raises(ValueError, match=r"tile \(0, 0\) is in both promote and evict"):
        ResidencyPlan(promote=HERE, evict=TileSet([(1, 0), (0, 0)]))
