"""Tile states, reading and writing single slots, and the factories."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Tensor, TileSelection, TileSet
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]


def values(carrier: Carrier) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


def all_tiles(carrier: sw.TiledEvictable) -> TileSet:
    return TileSelection([range(count) for count in carrier.grid_shape]).tile_set


@pytest.mark.rule("TE-20", "TE-21")
def test_states_of_all_locations(tiled: Any) -> None:
    carrier = tiled((3,), (2,)).new_like([1, 2, 0, 0, 3, 4])
    carrier.evict(TileSet([(2,)]))
    carrier[0] = 9.0
    states = [carrier.tile_state([number]) for number in range(3)]
    assert [(one.location, one.valid, one.dirty) for one in states] == [
        ("primary", True, True),
        ("implicit", True, False),
        ("secondary", True, False),
    ]
    assert carrier.primary_tiles == carrier.dirty_tiles == TileSet([(0,)])
    assert carrier.secondary_tiles == TileSet([(2,)])
    assert carrier.valid_tiles == all_tiles(carrier)
    with pytest.raises(AttributeError):
        states[0].location = "implicit"
    carrier.release()
    gone = carrier.tile_state((1,))
    assert (gone.location, gone.valid, gone.dirty) == ("invalid", False, False)


@pytest.mark.rule("TE-20")
@pytest.mark.parametrize(
    ("coordinate", "error", "message"),
    [
        (3, TypeError, "finite iterable"),
        ((True,), TypeError, "must be an int"),
        ((-1,), ValueError, "negative"),
        ((0, 0), ValueError, "rank"),
        ((2,), ValueError, "outside"),
    ],
)
def test_coordinates_are_those_of_a_tile_set(
    tiled: Any, coordinate: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tiled((2,), (2,)).tile_state(coordinate)


@pytest.mark.rule("TE-22", "TE-26")
@pytest.mark.parametrize(
    ("dtype", "zero"), [(DType.Float32, 0.0), (DType.Int32, 0), (DType.Bool, False)]
)
def test_implicit_tiles_hold_zero_without_storage(tiled: Any, dtype: DType, zero: object) -> None:
    carrier = tiled((2,), (2,), (), dtype=dtype).allocate_like(4)
    assert [carrier.tile_state((number,)).location for number in range(2)] == ["implicit"] * 2
    assert values(carrier) == [zero] * 4 and type(carrier[0]) is type(zero)
    assert carrier.primary_tiles == TileSet()


@pytest.mark.rule("TE-23")
def test_reading_never_moves_a_tile(tiled: Any) -> None:
    carrier = tiled((2, 2), (2, 2), stored=True)
    assert values(carrier) == list(range(16))
    assert carrier.primary_tiles == TileSet() and carrier.version == 0
    with pytest.raises(RuntimeError, match="invalid"):
        tiled((2,), (2,), ())[1]


@pytest.mark.rule("TE-23", "TE-24", "TE-33")
@pytest.mark.parametrize("direction", ["promote_async", "evict_async"])
def test_a_pending_tile_is_read_and_not_written(
    tiled: Any, controlled: Any, controlled_tiers: Tiers, direction: str
) -> None:
    carrier = tiled((2,), (2,), stored=direction == "promote_async", tiers=controlled_tiers)
    controlled.is_held = True
    handle = getattr(carrier, direction)(TileSet([(0,)]))
    assert not handle.done and carrier[1] == 1.0
    with pytest.raises(RuntimeError, match="wait"):
        carrier[1] = 5.0
    controlled.release()
    assert handle.wait() is None and values(carrier) == [0, 1, 2, 3]
    carrier[1] = 5.0
    assert carrier[1] == 5.0 and carrier.version == 1


@pytest.mark.rule("TE-24", "TE-97")
def test_a_pinned_tile_is_not_written(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), tiers=controlled_tiers)
    carrier.evict(TileSet([(1,)]))
    controlled.is_held = True
    handle = carrier.project(full(carrier), TileSelection([[0, 1]]))
    with pytest.raises(RuntimeError, match="pinned"):
        carrier[0] = 5.0
    assert carrier[0] == 0.0
    controlled.release()
    handle.wait()
    carrier[0] = 5.0


@pytest.mark.rule("TE-24", "TE-99", "G-4")
def test_writing_goes_through_the_primary_tier(tiled: Any) -> None:
    carrier = tiled((3,), (2,), stored=True)
    carrier[3] = -1.0
    assert carrier.tile_state((1,)) == sw.carriers.tiled_evictable.state.TileState(
        "primary", True, True
    )
    assert values(carrier) == [0, 1, 2, -1, 4, 5] and carrier.version == 1
    assert carrier.secondary_tiles == TileSet([(0,), (2,)])
    with pytest.raises(RuntimeError, match="invalid"):
        tiled((2,), (2,), ())[0] = 1.0


@pytest.mark.rule("TE-24", "TE-99")
def test_writing_zero_to_an_implicit_tile_stores_nothing(tiled: Any) -> None:
    carrier = tiled((2,), (2,), ()).allocate_like(4)
    carrier[0] = 0.0
    assert carrier.version == 1 and carrier.primary_tiles == TileSet()
    carrier[0] = -0.0
    assert carrier.version == 2 and carrier.dirty_tiles == TileSet([(0,)])
    assert str(carrier[0]) == "-0.0" and values(carrier) == [0, 0, 0, 0]
    carrier[3] = 2.0
    assert values(carrier) == [0, 0, 0, 2] and carrier.version == 3
    assert carrier.dirty_tiles == TileSet([(0,), (1,)])


@pytest.mark.rule("TE-24")
def test_common_checks_come_first(tiled: Any) -> None:
    carrier = tiled((2,), (2,))
    with pytest.raises(IndexError):
        carrier[4] = 1.0
    with pytest.raises(IndexError):
        carrier[-1]
    with pytest.raises(TypeError):
        carrier[0] = "x"
    assert carrier.version == 0 and carrier.dirty_tiles == TileSet()
    carrier.release()
    with pytest.raises(RuntimeError, match="TiledEvictable is released"):
        carrier[0]
    with pytest.raises(RuntimeError, match="released"):
        carrier[0] = 1.0


@pytest.mark.rule("TE-25")
def test_new_like_places_values_in_slot_order(tiled: Any) -> None:
    class Policy:
        def plan(self, required: TileSet, purpose: str) -> sw.ResidencyPlan:
            return sw.ResidencyPlan()

    policy = Policy()
    prototype = tiled((2, 1), (1, 2), (), policy=policy, capacity=2)
    fresh = prototype.new_like(iter([0, 1, 0, 2]), mutable=False)
    assert type(fresh) is sw.TiledEvictable and values(fresh) == [0, 1, 0, 2]
    assert fresh.version == 0 and not fresh.is_mutable()
    assert fresh.tile_state((0, 0)).location == "implicit"
    assert fresh.tile_state((1, 0)) == sw.carriers.tiled_evictable.state.TileState(
        "primary", True, False
    )
    assert fresh.residency_policy is policy and fresh.primary_capacity == 2
    assert type(fresh.primary) is type(fresh.secondary) is ArrayCarrier
    whole = prototype.new_like([3, 0, 0, 0], dtype=DType.Int32)
    assert whole.dtype() is DType.Int32 and values(whole) == [3, 0, 0, 0]


@pytest.mark.rule("TE-25", "TE-40")
def test_new_like_spills_beyond_the_capacity(tiled: Any) -> None:
    carrier = tiled((4,), (1,), (), capacity=2).new_like([1, 2, 3, 4])
    assert carrier.primary_tiles == TileSet([(2,), (3,)]) and values(carrier) == [1, 2, 3, 4]
    assert carrier.secondary_tiles == TileSet([(0,), (1,)])


@pytest.mark.rule("TE-25", "S-11")
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (3, TypeError, "iterable"),
        ([1, 2, 3], ValueError, "number 4"),
        ([1] * 5, ValueError, "number 4"),
        ([1, None, 3, 4], TypeError, "None"),
        ([1, "x", 3, 4], TypeError, "x"),
    ],
)
def test_new_like_refuses(tiled: Any, given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tiled((2,), (2,)).new_like(given)


@pytest.mark.rule("TE-26")
@pytest.mark.parametrize(
    ("size", "error", "message"),
    [("4", TypeError, "int"), (True, TypeError, "int"), (5, ValueError, "must be 4")],
)
def test_allocate_like_refuses(tiled: Any, size: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        tiled((2,), (2,)).allocate_like(size)
    with pytest.raises(TypeError, match="empty must be a bool"):
        tiled((2,), (2,)).allocate_like(4, empty=1)


@pytest.mark.rule("TE-26", "TE-100", "C-30")
def test_factories_work_after_release(tiled: Any) -> None:
    carrier = tiled((2,), (2,))
    carrier.release()
    assert carrier.allocate_like(4, empty=True).valid_tiles == TileSet()
    assert carrier.allocate_like(4).valid_tiles == TileSet([(0,), (1,)])
    assert values(carrier.new_like([1, 2, 3, 4])) == [1, 2, 3, 4]


@pytest.mark.rule("T-47", "TE-24")
def test_a_bulk_write_is_one_step(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,), stored=True, capacity=1)
    tensor = full(carrier)
    tensor[...] = full(tiled((2,), (2,)).new_like([5, 6, 7, 8]))
    assert values(carrier) == [5, 6, 7, 8] and carrier.version == 1
    assert carrier.primary_tiles == carrier.dirty_tiles == TileSet([(1,)])
    tensor[...] = 3.0
    assert values(carrier) == [3, 3, 3, 3] and carrier.version == 2
