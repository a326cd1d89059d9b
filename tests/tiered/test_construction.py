"""Building a TiledEvictable: seeds, ownership, registration, and every refusal in order."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    Carrier,
    CarrierDefinition,
    DType,
    OperationCapability,
    ResidencyPlan,
    StorageProvider,
    Tensor,
    TiledEvictable,
    TiledResidencyFacet,
    TileSet,
    register_carrier_definition,
)
from strideweave.carriers.tiled_evictable import PinnedResidency
from strideweave.testing import ArrayCarrier

F, I = DType.Float32, DType.Int32  # noqa: E741  # the names of the contract


def array(values: Any = (), dtype: DType = F) -> ArrayCarrier:
    made = ArrayCarrier(0, dtype=dtype).new_like(list(values))
    assert isinstance(made, ArrayCarrier)
    return made


def values(carrier: Carrier) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("TE-13", "TE-14")
@pytest.mark.parametrize(
    ("primary", "secondary", "location"),
    [
        (range(8), (), "primary"),
        ((), range(8), "secondary"),
        ((), (), "invalid"),
        (range(8), range(8, 16), "primary"),
    ],
)
def test_a_full_tier_seeds_all_tiles(primary: Any, secondary: Any, location: str) -> None:
    tiers = array(primary), array(secondary)
    carrier = TiledEvictable(*tiers, (2, 2), (2, 1))
    states = [carrier.tile_state((i, j)) for j in range(2) for i in range(2)]
    assert {state.location for state in states} == {location}
    assert carrier.dirty_tiles == TileSet()
    if location != "invalid":
        assert values(carrier) == list(range(8))
    assert [values(tier) for tier in tiers] == [list(primary), list(secondary)]
    assert (carrier.primary, carrier.secondary) == tiers


@pytest.mark.rule("TE-14")
def test_both_tiers_are_owned_until_release_or_collection() -> None:
    tiers = array(range(4)), array()
    carrier = TiledEvictable(*tiers, (2,), (2,))
    assert all(tier.is_owned() for tier in tiers)
    with pytest.raises(RuntimeError, match="owned"):
        tiers[0].release()
    del carrier
    gc.collect()
    assert not any(tier.is_owned() or tier.is_released() for tier in tiers)
    TiledEvictable(*tiers, (2,), (2,)).release()
    assert all(tier.is_released() for tier in tiers)


@pytest.mark.rule("TE-15")
@pytest.mark.parametrize("mutable", [True, False])
def test_dtype_and_mutability_are_the_primarys(mutable: bool) -> None:
    primary = array(dtype=I).new_like([1, 2], mutable=mutable)
    carrier = TiledEvictable(primary, array(dtype=I), (2,), (1,))
    assert carrier.dtype() is I and carrier.is_mutable() is mutable
    if not mutable:
        with pytest.raises(RuntimeError, match="not mutable"):
            carrier[0] = 3


class Narrow(Carrier):
    """Stores Float32 only."""


register_carrier_definition(
    Narrow,
    CarrierDefinition(
        StorageProvider[Any](
            lambda carrier, dtype: dtype is F,
            lambda carrier: len(carrier.cells),
            lambda carrier, slots: setattr(carrier, "cells", [0.0] * slots),
            lambda carrier: carrier.cells.clear(),
            lambda carrier, index: carrier.cells[index],
            lambda carrier, index, value: carrier.cells.__setitem__(index, value),
        )
    ),
)


@pytest.mark.rule("TE-16", "R-25")
def test_dtype_support_is_what_both_tiers_store() -> None:
    carrier = TiledEvictable(array(), Narrow(0, dtype=F), (2,), (2,))
    assert carrier.supports_storage_dtype(F) and not carrier.supports_storage_dtype(I)
    both = TiledEvictable(array(), array(), (2,), (2,))
    assert both.supports_storage_dtype(I) and both.supports_storage_dtype(DType.Bool)
    both.release()
    assert both.supports_storage_dtype(I)


@pytest.mark.rule("TE-17", "S-14")
def test_the_definition_moves_nothing_and_is_final(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,))
    other = array(range(4))
    with pytest.raises(NotImplementedError, match="TiledEvictable"):
        sw.move(full(carrier), array([0.0] * 4))
    with pytest.raises(NotImplementedError, match="TiledEvictable"):
        sw.copy(Tensor(other, 0, sw.Layout.parse("(4):(1)")), carrier)
    assert type(carrier.facet(TiledResidencyFacet)) is TiledResidencyFacet
    callbacks: list[Any] = [lambda *arguments: None] * 6
    storage: StorageProvider[Any] = StorageProvider(*callbacks)
    with pytest.raises(TypeError, match="TiledEvictable"):
        register_carrier_definition(TiledEvictable, CarrierDefinition(storage))


class Failing(Carrier):
    """Allocates a limited number of further carriers."""

    left = 0


def _allocate_failing(carrier: Any, slots: int) -> None:
    if Failing.left == 0:
        raise OSError("no space left in the test")
    Failing.left -= 1
    carrier.cells = [0.0] * slots


register_carrier_definition(
    Failing,
    CarrierDefinition(
        StorageProvider[Any](
            lambda carrier, dtype: dtype is F,
            lambda carrier: len(carrier.cells),
            _allocate_failing,
            lambda carrier: carrier.cells.clear(),
            lambda carrier, index: carrier.cells[index],
            lambda carrier, index, value: carrier.cells.__setitem__(index, value),
        )
    ),
)


@pytest.mark.rule("TE-18", "G-3")
def test_a_failure_leaves_both_tiers_as_they_were() -> None:
    Failing.left = 3  # the seed and two of four tiles
    secondary = Failing(8, dtype=F)
    primary = array()
    with pytest.raises(OSError, match="no space"):
        TiledEvictable(primary, secondary, (4,), (2,))
    assert not primary.is_owned() and not secondary.is_owned()
    assert not primary.is_released() and secondary.size() == 8
    Failing.left = 4
    assert TiledEvictable(primary, secondary, (4,), (2,)).secondary_tiles.coordinates


@pytest.mark.rule("TE-19")
def test_a_seed_beyond_the_capacity_spills_the_higher_numbers(tiled: Any) -> None:
    carrier = tiled((2, 2), (1, 2), capacity=3)
    assert carrier.primary_tiles == TileSet([(0, 0), (1, 0), (0, 1)])
    assert carrier.secondary_tiles == TileSet([(1, 1)])
    assert carrier.dirty_tiles == TileSet() and values(carrier) == list(range(8))
    assert carrier.residency_stats().evictions == 0


def released() -> ArrayCarrier:
    carrier = array()
    carrier.release()
    return carrier


def owned() -> ArrayCarrier:
    carrier = array()
    carrier._claim_ownership()
    return carrier


def nested() -> TiledEvictable:
    return TiledEvictable(array(), array(), (1,), (1,))


class Answering:
    pinned_tiles = TileSet([(5,)])

    def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
        return ResidencyPlan()


REFUSALS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"primary": 3, "secondary": 3}, TypeError, "primary must be a Carrier"),
    ({"primary": nested, "secondary": 3}, TypeError, "secondary must be a Carrier"),
    ({"primary": nested, "secondary": nested}, TypeError, "primary must be an independent"),
    ({"secondary": nested}, TypeError, "secondary must be an independent"),
    ({"primary": released, "same": True}, ValueError, "same one twice"),
    ({"primary": released, "secondary": released}, RuntimeError, "primary .* released"),
    ({"primary": owned, "secondary": released}, RuntimeError, "secondary .* released"),
    ({"primary": owned, "secondary": owned}, RuntimeError, "primary .* already owned"),
    ({"secondary": owned, "grid": 3}, RuntimeError, "secondary .* already owned"),
    ({"secondary": lambda: array(dtype=I), "grid": 3}, TypeError, "identical dtype"),
    ({"grid": 3, "tile": 3}, TypeError, "grid_shape must be an iterable"),
    ({"grid": (), "tile": 3}, ValueError, "grid_shape is empty"),
    ({"grid": (True,)}, TypeError, r"grid_shape\[0\] must be an int"),
    ({"grid": (2, 0)}, ValueError, r"grid_shape\[1\] must be positive"),
    ({"tile": 3}, TypeError, "tile_shape must be an iterable"),
    ({"tile": ()}, ValueError, "tile_shape is empty"),
    ({"tile": (1.0,)}, TypeError, r"tile_shape\[0\]"),
    ({"tile": (-1,)}, ValueError, r"tile_shape\[0\]"),
    ({"grid": (2, 1), "primary": lambda: array([1.0])}, ValueError, "one rank"),
    ({"primary": lambda: array([1.0]), "policy": 3}, ValueError, "primary .* must be empty"),
    ({"secondary": lambda: array([1.0]), "policy": 3}, ValueError, "secondary .* must be empty"),
    ({"policy": 3, "capacity": "x"}, TypeError, "callable"),
    ({"policy": type("P", (), {"plan": 3})(), "capacity": "x"}, TypeError, "callable"),
    ({"capacity": True}, TypeError, "primary_capacity must be an int"),
    ({"capacity": 0}, ValueError, "at least 1"),
    ({"policy": Answering()}, ValueError, "outside"),
    (
        {"policy": PinnedResidency(TileSet([(0,), (1,)])), "capacity": 1},
        ValueError,
        "pins 2 tiles",
    ),
]


@pytest.mark.rule("TE-18", "TE-43")
@pytest.mark.parametrize(("changes", "error", "message"), REFUSALS)
def test_refusals_in_order(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    def made(role: str) -> Any:
        value = changes.get(role, array)
        return value() if callable(value) else value

    primary = made("primary")
    secondary = primary if "same" in changes else made("secondary")
    with pytest.raises(error, match=message):
        TiledEvictable(
            primary,
            secondary,
            changes.get("grid", (2,)),
            changes.get("tile", (2,)),
            residency_policy=changes.get("policy"),
            primary_capacity=changes.get("capacity"),
        )
    for tier, maker in ((primary, changes.get("primary")), (secondary, changes.get("secondary"))):
        if isinstance(tier, ArrayCarrier) and maker is not owned:
            assert not tier.is_owned()


@pytest.mark.rule("TE-18")
def test_configuration_is_immutable(tiled: Any) -> None:
    carrier = tiled((2,), (2,), capacity=2)
    for name in ("primary", "grid_shape", "residency_policy", "primary_capacity", "primary_tiles"):
        with pytest.raises(AttributeError):
            setattr(carrier, name, None)


@pytest.mark.rule("TE-80", "O-43", "R-18")
def test_capabilities_are_the_primarys_filtered(tiled: Any) -> None:
    carrier = tiled((2,), (2,), dtype=I)
    found = carrier.operation_capabilities()
    assert {entry.operation for entry in found} == {
        *("add", "elementwise_mul", "mul", "relu", "reduce_sum", "matmul")
    }
    expected = [
        entry
        for entry in array(dtype=I).operation_capabilities()
        if entry.operation in {one.operation for one in found} and entry.operands[0].dtype is I
    ]
    assert list(found) == expected and all(isinstance(one, OperationCapability) for one in found)
    carrier.release()
    assert carrier.operation_capabilities() == found
    storage_only = TiledEvictable(Narrow(0, dtype=F), array(), (2,), (2,))
    assert storage_only.operation_capabilities() == ()
