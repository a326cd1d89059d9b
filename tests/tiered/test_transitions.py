"""Promotion and eviction: what moves, what is refused, and how a tile travels."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    AwaitResidency,
    Carrier,
    ResidencyPlan,
    Tensor,
    TiledEvictable,
    TiledResidencyFacet,
    TileSelection,
    TileSet,
)
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]


def values(carrier: Carrier) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


def one(*numbers: int) -> TileSet:
    return TileSet([(number,) for number in numbers])


@pytest.mark.rule("TE-30")
def test_methods_delegate_to_the_facet(tiled: Any) -> None:
    carrier = tiled((3,), (2,), stored=True)
    facet = carrier.require_facet(TiledResidencyFacet)
    assert carrier.promote(one(0)) is None
    handle = carrier.promote_async(TileSelection([[1]]))
    assert type(handle) is AwaitResidency and handle.wait() is None
    assert facet.promote(carrier, one(2)) is None
    assert facet.evict_async(carrier, one(0)).wait() is None
    assert facet.evict(carrier, TileSelection([[1]])) is None
    assert facet.promote_async(carrier, one(0)).wait() is None
    assert carrier.primary_tiles == one(0, 2)
    with pytest.raises(TypeError, match="must be a TiledEvictable"):
        facet.promote(ArrayCarrier(1, dtype=sw.DType.Float32), one(0))


@pytest.mark.rule("TE-31", "TE-34", "TE-99")
def test_tiles_go_where_they_are_asked_to(tiled: Any) -> None:
    carrier = tiled((3,), (2,))
    before = carrier.version
    carrier.evict(one(0, 2))
    assert carrier.secondary_tiles == one(0, 2) and values(carrier) == list(range(6))
    carrier.promote(one(0, 1))
    assert carrier.primary_tiles == one(0, 1) and values(carrier) == list(range(6))
    assert carrier.version == before == 0


@pytest.mark.rule("TE-31")
def test_a_request_with_nothing_to_do_is_finished(tiled: Any) -> None:
    carrier = tiled((2,), (2,))
    assert carrier.promote_async(one(0, 1)).done
    carrier.evict(one(0))
    assert carrier.evict_async(one(0)).done
    assert carrier.promote_async(TileSet()).done and carrier.evict_async(TileSet()).done
    empty = carrier.allocate_like(4, empty=True)
    assert empty.evict_async(one(0, 1)).done
    implicit = carrier.allocate_like(4)
    assert implicit.evict_async(one(0)).done
    assert implicit.tile_state((0,)).location == "implicit"


@pytest.mark.rule("TE-32", "TE-44")
def test_an_implicit_tile_materializes_without_a_transfer(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), (), tiers=controlled_tiers).allocate_like(4)
    carrier.promote(one(1))
    assert controlled.log == [] and carrier.primary_tiles == one(1)
    assert values(carrier) == [0, 0, 0, 0] and carrier.dirty_tiles == TileSet()
    stats = carrier.residency_stats()
    assert (stats.promotions, stats.bytes_in, stats.hits, stats.misses) == (1, 0, 0, 0)
    carrier.evict(one(1))
    assert controlled.log == ["out"] and carrier.secondary_tiles == one(1)


@pytest.mark.rule("TE-33", "M-20", "M-22")
def test_all_tiles_commit_together(tiled: Any, controlled: Any, controlled_tiers: Tiers) -> None:
    carrier = tiled((3,), (2,), stored=True, tiers=controlled_tiers)
    controlled.is_held = True
    handle = carrier.promote_async(one(0, 1, 2))
    assert len(controlled.pending) == 3  # every transfer has started
    for completion in controlled.pending[:2]:
        completion.finish()
    assert not handle.done and carrier.primary_tiles == TileSet()
    controlled.release()
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(handle.wait(30))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [None] * 3 and carrier.primary_tiles == one(0, 1, 2)


@pytest.mark.rule("TE-34")
def test_disjoint_requests_run_at_the_same_time(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((3,), (2,), stored=True, tiers=controlled_tiers)
    controlled.is_held = True
    first, second = carrier.promote_async(one(0)), carrier.promote_async(one(1))
    controlled.pending[1].finish()
    second.wait(30)
    assert carrier.primary_tiles == one(1) and not first.done
    controlled.release()
    first.wait(30)


@pytest.mark.rule("TE-35", "TE-44")
def test_a_clean_tile_leaves_without_a_transfer(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    carrier.promote(one(0))
    carrier.evict(one(0))
    assert controlled.log == ["in"] and values(carrier) == [0, 1, 2, 3]
    carrier[0] = 7.0
    carrier.evict(one(0))
    assert controlled.log == ["in", "in", "out"] and values(carrier) == [7, 1, 2, 3]
    stats = carrier.residency_stats()
    assert (stats.evictions, stats.bytes_in, stats.bytes_out) == (2, 16, 8)
    assert carrier.dirty_tiles == TileSet()


@pytest.mark.rule("TE-35", "TE-98")
def test_a_dirty_tile_overwrites_its_former_copy(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    room = carrier._state.tiles[0].secondary
    carrier[0] = 7.0
    carrier.evict(one(0))
    assert carrier._state.tiles[0].secondary is room and values(carrier) == [7, 1, 2, 3]
    carrier[1] = 8.0
    controlled.fail(0, "complete")
    handle = carrier.evict_async(one(0))
    with pytest.raises(OSError):
        handle.wait(30)
    assert room.is_released() and carrier.tile_state((0,)).dirty
    assert values(carrier) == [7, 8, 2, 3]
    carrier.evict(one(0))
    assert values(carrier) == [7, 8, 2, 3] and carrier.secondary_tiles == one(0, 1)


@pytest.mark.rule("TE-35", "TE-98")
def test_a_replaced_tile_keeps_its_values_until_its_eviction_succeeds(
    tiled: Any, full: Any, dense: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    class Leave:
        def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
            return ResidencyPlan(evict=required)

    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers, policy=Leave())
    compact = dense([5, 6], tier=controlled_tiers[0])
    for stage in ("submit", "complete"):
        controlled.fail(0, stage)
        with pytest.raises(OSError):
            carrier.update(compact, TileSelection([[0]]))
        assert values(carrier) == [0, 1, 2, 3] and carrier.secondary_tiles == one(0, 1)
    carrier.update(compact, TileSelection([[0]]))
    assert values(carrier) == [5, 6, 2, 3] and carrier.secondary_tiles == one(0, 1)


@pytest.mark.rule("TE-40", "TE-84")
def test_storage_of_a_tile_that_made_room_serves_the_next(tiled: Any, full: Any) -> None:
    carrier = tiled((4,), (2,), stored=True, capacity=1)
    carrier.promote(one(0))
    first = carrier._state.tiles[0].primary
    carrier.promote(one(1))
    assert not first.is_released()
    carrier.promote(one(2))
    assert carrier._state.tiles[2].primary is first
    assert values(carrier) == [0, 1, 2, 3, 4, 5, 6, 7]
    (kept,) = carrier._state.spare
    sw.relu(full(carrier))
    assert kept.is_released() and carrier._state.spare == []
    carrier.promote(one(0))
    carrier.release()
    assert carrier._state.spare == []


@pytest.mark.rule("TE-40")
def test_an_eighth_of_the_capacity_is_kept_spare(tiled: Any) -> None:
    carrier = tiled((32,), (1,), stored=True, capacity=16)
    carrier.promote(one(*range(16)))
    left = [carrier._state.tiles[number].primary for number in range(4)]
    carrier.promote(one(*range(16, 20)))
    assert [storage.is_released() for storage in left] == [False, False, True, True]
    assert carrier._state.spare == left[:2] and values(carrier) == list(range(32))


@pytest.mark.rule("TE-50")
def test_all_transfers_of_a_request_run_side_by_side(
    tiled: Any, full: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((6,), (2,), stored=True, tiers=controlled_tiers)
    requests: tuple[Callable[[], Any], ...] = (
        lambda: carrier.promote_async(one(4, 1, 3)),
        lambda: carrier.project(full(carrier), TileSelection([[5, 0, 2]])),
        lambda: carrier.evict_async(one(0, 1, 2, 3, 4, 5)),
    )
    for start in requests:
        for slot in carrier.primary_tiles.coordinates:
            carrier[2 * slot[0]] = -1.0  # so that its eviction transfers
        controlled.pending.clear()
        controlled.is_held = True
        handle = start()
        held = len(controlled.pending)
        controlled.release()
        handle.wait(30)
        assert held == (6 if len(carrier.secondary_tiles.coordinates) == 6 else 3)
    assert values(carrier) == [-1, 1, -1, 3, -1, 5, -1, 7, -1, 9, -1, 11]


@pytest.mark.rule("TE-30", "TE-31", "TE-97")
def test_refusals_in_order(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((4,), (2,), stored=True, tiers=controlled_tiers)
    for request in (carrier.promote_async, carrier.evict_async):
        with pytest.raises(TypeError, match="TileSet or a TileSelection"):
            request([(0,)])
        with pytest.raises(ValueError, match="rank"):
            request(TileSet([(0, 0)]))
        with pytest.raises(ValueError, match="outside"):
            request(one(0, 4))
    controlled.is_held = True
    pending = carrier.promote_async(one(3))
    with pytest.raises(RuntimeError, match=r"tile \(3,\) is pending .* wait"):
        carrier.promote_async(one(0, 3))
    projecting = carrier.project(full(carrier), TileSelection([[1]]))
    with pytest.raises(RuntimeError, match="pending"):
        carrier.evict_async(one(1))
    controlled.release()
    pending.wait(30)
    projecting.wait(30)
    carrier.release()
    with pytest.raises(RuntimeError, match="TiledEvictable is released"):
        carrier.promote_async(3)


@pytest.mark.rule("TE-30", "TE-97")
def test_pinned_comes_before_invalid_in_coordinate_order(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((3,), (2,), ())
    carrier.update(dense([1, 2]), TileSelection([[0]]))
    with pytest.raises(RuntimeError, match=r"tile \(1,\) is invalid"):
        carrier.promote(one(0, 1, 2))
    carrier._state.tiles[2].pins += 1
    with pytest.raises(RuntimeError, match=r"tile \(2,\) is pinned"):
        carrier.promote(one(2))
    with pytest.raises(RuntimeError, match=r"tile \(1,\) is invalid"):
        carrier.promote(one(1, 2))
    carrier._state.tiles[2].pins -= 1


@pytest.mark.rule("TE-52")
def test_tiers_without_a_route_are_refused_when_a_tile_moves(
    tiled: Any, controlled_tiers: Tiers
) -> None:
    _, slow = controlled_tiers
    carrier = tiled((2,), (2,), tiers=(slow, slow))
    assert values(carrier) == [0, 1, 2, 3]
    with pytest.raises(NotImplementedError, match=r"\(SlowTier, SlowTier\)"):
        carrier.evict(one(0))
    assert carrier.primary_tiles == one(0, 1) and not carrier._state.tiles[0].holder


@pytest.mark.rule("TE-50", "TE-51", "TE-53")
def test_one_transfer_moves_one_whole_tile(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2, 2), (3, 2), tiers=controlled_tiers)
    sizes: list[int] = []
    controlled.on_submit = lambda: sizes.append(carrier.size())
    with sw.profile() as profile:
        carrier.evict(TileSet([(0, 0), (1, 1)]))
        carrier.promote(TileSet([(1, 1)]))
    assert controlled.log == ["out", "out", "in"] and len(sizes) == 3
    assert profile.events() == () and values(carrier) == list(range(24))


@pytest.mark.rule("TE-53", "M-27", "G-6")
def test_a_dropped_handle_changes_nothing(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    controlled.is_held = True
    carrier.promote_async(one(0))
    assert carrier.primary_tiles == TileSet()
    controlled.release()
    with pytest.raises(RuntimeError, match="wait"):
        while carrier.primary_tiles != one(0):
            carrier.promote_async(one(0)).wait()
        raise RuntimeError("nothing to wait for")
    assert values(carrier) == [0, 1, 2, 3]


@pytest.mark.rule("TE-56")
def test_many_delayed_projections_need_few_threads(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carriers = [tiled((2,), (2,), stored=True, tiers=controlled_tiers) for _ in range(24)]
    controlled.is_held = True
    handles = [carrier.project(full(carrier), TileSelection([[1]])) for carrier in carriers]
    assert not any(handle.done for handle in handles)
    controlled.release()
    assert all(handle.wait(30).tolist() == [2.0, 3.0] for handle in handles)


@pytest.mark.rule("TE-54")
def test_a_seed_is_read_slab_by_slab(monkeypatch: pytest.MonkeyPatch) -> None:
    from strideweave.carriers.tiled_evictable import buffers, seeding

    reads: list[tuple[int, int]] = []
    original = buffers.read_slots

    def noted(carrier: Carrier, start: int, count: int) -> object:
        reads.append((start, count))
        return original(carrier, start, count)

    monkeypatch.setattr(seeding, "read_slots", noted)
    seed = ArrayCarrier(0, dtype=sw.DType.Float32).new_like(range(48))
    carrier = TiledEvictable(seed, ArrayCarrier(0, dtype=sw.DType.Float32), (2, 3), (2, 4))
    assert reads == [(0, 16), (16, 16), (32, 16)]
    assert values(carrier) == list(range(48))
