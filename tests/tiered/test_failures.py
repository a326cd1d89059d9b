"""Protection, failure at every transfer, and release."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, Tensor, TiledEvictable, TileSelection, TileSet

Tiers = tuple[type[Carrier], type[Carrier]]
STAGES = ["prepare", "submit", "complete"]


def one(*numbers: int) -> TileSet:
    return TileSet([(number,) for number in numbers])


def observed(carrier: TiledEvictable, *others: Carrier) -> object:
    """Give the whole observable state."""
    states = [carrier.tile_state((number,)) for number in range(carrier.grid_shape[0])]
    values = [carrier[slot] if carrier.valid_tiles else None for slot in range(carrier.size())]
    flags = [(one.version, one.is_owned(), one.size()) for one in (carrier, *others)]
    return states, values, flags, carrier._state.occupants.keys()


@pytest.fixture
def mixed(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> TiledEvictable:
    """A carrier of capacity 3: tile 0 is dirty, 1 clean, 2 and 3 secondary, 4 implicit."""
    prototype = tiled((5,), (2,), (), capacity=3, tiers=controlled_tiers)
    carrier: TiledEvictable = prototype.new_like([1, 2, 3, 4, 5, 6, 7, 8, 0, 0])
    carrier.promote(one(0))
    carrier.promote(one(1))
    carrier.evict(one(2, 3))
    carrier[0] = -1.0
    controlled.log.clear()
    return carrier


REQUESTS: dict[str, tuple[int, Callable[[TiledEvictable, Tensor, Tensor], Any]]] = {
    "promote": (3, lambda c, x, v: c.promote_async(one(2, 3, 4)).wait(30)),
    "evict": (1, lambda c, x, v: c.evict_async(one(0, 1)).wait(30)),
    "project": (3, lambda c, x, v: c.project(x, TileSelection([[3, 4, 2]])).wait(30)),
    "scatter": (
        3,  # a dirty tile makes room
        lambda c, x, v: c.scatter(v, x, TileSelection([[3, 2]]), reduction="add").wait(30),
    ),
    "update": (3, lambda c, x, v: c.update(v, TileSelection([[3, 2]]), reduction="add")),
    "write": (1, lambda c, x, v: c.__setitem__(6, 9.0)),
}


@pytest.mark.rule("TE-98", "TE-33", "TE-97", "G-3")
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize(
    ("name", "position"),
    [(name, place) for name, (count, _) in REQUESTS.items() for place in range(count)],
)
def test_a_failing_transfer_restores_everything(
    mixed: TiledEvictable,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    name: str,
    position: int,
    stage: str,
) -> None:
    compact = dense([10, 20, 30, 40], tier=controlled_tiers[0])
    count, request = REQUESTS[name]
    x = full(mixed)
    before = observed(mixed, compact.carrier)
    controlled.fail(position, stage)
    with pytest.raises(OSError, match="the test fails"):
        request(mixed, x, compact)
    controlled.failing = {}
    assert observed(mixed, compact.carrier) == before
    assert all(tile.pins == 0 and tile.holder is None for tile in mixed._state.tiles)
    controlled.log.clear()
    request(mixed, x, compact)
    assert len(controlled.log) == count
    assert mixed.version == (2 if name in ("update", "write") else 1)
    mixed.release()


@pytest.mark.rule("TE-63", "TE-98")
@pytest.mark.parametrize("size", [0, 4])
def test_a_failed_projection_leaves_its_destination(
    mixed: TiledEvictable,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    size: int,
) -> None:
    destination = controlled_tiers[0](size, dtype=sw.DType.Float32)
    controlled.fail(0, "complete")
    handle = mixed.project(full(mixed), TileSelection([[2, 0]]), destination)
    with pytest.raises(OSError) as first:
        handle.wait(30)
    with pytest.raises(OSError) as second:
        handle.wait(30)
    assert first.value is second.value
    assert destination.size() == size and destination.version == 0
    assert not destination.is_owned() and destination.is_mutable()


@pytest.mark.rule("TE-98", "G-10")
def test_a_dirty_tile_whose_eviction_failed_stays_dirty(
    mixed: TiledEvictable, controlled: Any
) -> None:
    controlled.fail(0, "complete")
    handle = mixed.evict_async(one(0))
    with pytest.raises(OSError):
        handle.wait(30)
    assert mixed.tile_state((0,)).dirty and mixed[0] == -1.0
    mixed[1] = 5.0
    mixed.evict(one(0))
    assert [mixed[0], mixed[1]] == [-1, 5] and mixed.secondary_tiles == one(0, 2, 3)


@pytest.mark.rule("TE-98", "G-6")
def test_scatter_add_reports_an_overflow_and_ends_its_holds(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (1,), [2**31 - 1, 1], dtype=sw.DType.Int32)
    compact = dense([1], dtype=sw.DType.Int32)
    handle = carrier.scatter(compact, full(carrier), TileSelection([[0]]), reduction="add")
    with pytest.raises(OverflowError):
        handle.wait()
    with pytest.raises(OverflowError):
        carrier.update(compact, TileSelection([[0]]), reduction="add")
    assert not compact.carrier.is_owned() and carrier.version == 0
    carrier.release()


@pytest.mark.rule("TE-100", "C-29")
def test_release_gives_everything_up(
    mixed: TiledEvictable, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    tiers = mixed.primary, mixed.secondary
    x = full(mixed)
    mixed.release()
    assert mixed.release() is None and mixed.is_released()  # type: ignore[func-returns-value]  # it is part of the rule
    assert all(tier.is_released() and not tier.is_owned() for tier in tiers)
    empty = TileSet()
    assert mixed.primary_tiles == mixed.secondary_tiles == mixed.valid_tiles == empty
    assert mixed.dirty_tiles == empty and mixed.size() == 0
    attempts: list[Callable[[], object]] = [
        lambda: mixed.promote(one(0)),
        lambda: mixed.evict(one(0)),
        lambda: mixed.project(x, TileSelection([[0]])),
        lambda: mixed.scatter(dense([1, 2]), x, TileSelection([[0]])),
        lambda: mixed[0],
        lambda: sw.relu(x),
        lambda: mixed.dispatch_op("relu"),
    ]
    for attempt in attempts:
        with pytest.raises(RuntimeError, match="TiledEvictable is released"):
            attempt()


@pytest.mark.rule("TE-100", "G-6")
def test_release_is_refused_while_work_is_pending(
    mixed: TiledEvictable, full: Callable[..., Tensor], controlled: Any
) -> None:
    controlled.is_held = True
    handle = mixed.promote_async(one(2))
    with pytest.raises(RuntimeError, match="wait"):
        mixed.release()
    assert not mixed.is_released() and mixed[0] == -1.0
    controlled.release()
    handle.wait(30)
    mixed.release()


@pytest.mark.rule("TE-99", "G-4")
def test_only_writes_advance_the_version(
    mixed: TiledEvictable, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    x, start = full(mixed), mixed.version
    mixed.promote(one(2))
    mixed.evict(one(0, 1, 2))
    mixed.promote(one(4))
    mixed.project(x, TileSelection([[0]])).wait()
    result = sw.relu(x)
    result.backward(result.detach())
    assert mixed.version == start == 1
    mixed[0] = 1.0
    assert mixed.version == 2
    assert mixed.new_like(range(10)).version == mixed.allocate_like(10).version == 0
