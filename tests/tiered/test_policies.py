"""What policies are asked, what their answers do, and how the capacity is kept."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, ResidencyPlan, ResidencyPolicy, Tensor, TileSelection, TileSet
from strideweave.carriers.tiled_evictable import LRUResidency, PinnedResidency
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]


def one(*numbers: int) -> TileSet:
    return TileSet([(number,) for number in numbers])


class Answering:
    """Notes what it is asked, and gives a fixed answer."""

    def __init__(self, answer: object = None) -> None:
        self.answer = ResidencyPlan() if answer is None else answer
        self.calls: list[tuple[TileSet, str]] = []

    def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
        self.calls.append((required, purpose))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]  # some answers are wrong on purpose


@pytest.mark.rule("TE-36", "TE-37")
def test_purposes_and_required_tiles(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    policy = Answering()
    carrier = tiled((3,), (2,), stored=True, policy=policy)
    tensor = full(carrier)
    selection = TileSelection([[2, 0]])
    compact = carrier.project(tensor, selection).wait()
    assert compact.tolist() == [4, 5, 0, 1]
    carrier.scatter(compact, tensor, selection).wait()
    carrier.update(compact, TileSelection([[1, 2]]))
    result = sw.mul(tensor, tensor)
    result.backward(result.detach())
    everything = one(0, 1, 2)
    assert policy.calls == [
        (one(0, 2), "projection"),
        (one(0, 2), "scatter"),
        (one(1, 2), "scatter"),
        (everything, "operation"),
        (everything, "backward"),
    ]


@pytest.mark.rule("TE-36")
def test_each_carrier_is_asked_once_in_operand_order(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    first, second = Answering(), Answering()
    x, y = full(tiled((2,), (1,), policy=first)), full(tiled((1,), (2,), policy=second))
    sw.add(x, y)
    sw.add(y, x)
    sw.add(x, x)
    assert len(first.calls) == 3 and len(second.calls) == 2


@pytest.mark.rule("TE-36", "TE-95")
def test_gradients_that_read_nothing_ask_nobody(tiled: Any, full: Callable[..., Tensor]) -> None:
    policy = Answering()
    x = full(tiled((2,), (2,), policy=policy))
    for result in (sw.add(x, x), sw.mul(x, 2.0), sw.mul(3.0, x)):
        result.backward(result.detach())
    assert [purpose for _, purpose in policy.calls] == ["operation"] * 3


@pytest.mark.rule("TE-38")
def test_promoted_retained_and_evicted_tiles(tiled: Any, full: Callable[..., Tensor]) -> None:
    policy = Answering(ResidencyPlan(promote=one(3), evict=one(0, 1)))
    carrier = tiled((4,), (1,), stored=True, policy=policy)
    carrier.promote(one(1))
    carrier.project(full(carrier), TileSelection([[0]])).wait()
    assert carrier.primary_tiles == one(3)
    assert carrier.residency_stats().evictions == 2


@pytest.mark.rule("TE-38")
def test_failed_work_evicts_nothing(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    policy = Answering(ResidencyPlan(promote=one(0), evict=one(1)))
    carrier = tiled((2,), (1,), tiers=controlled_tiers, policy=policy)
    carrier.evict(one(0))
    controlled.fail(0, "complete")
    handle = carrier.project(full(carrier), TileSelection([[0]]))
    with pytest.raises(OSError, match="fails this transfer"):
        handle.wait(30)
    assert carrier.primary_tiles == one(1)


@pytest.mark.rule("TE-38")
def test_a_tile_in_use_is_evicted_when_it_becomes_free(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    policy = Answering()
    carrier = tiled((3,), (1,), tiers=controlled_tiers, policy=policy)
    carrier.evict(one(2))
    controlled.is_held = True
    slow = carrier.project(full(carrier), TileSelection([[0, 2]]))
    controlled.is_held = False
    policy.answer = ResidencyPlan(evict=one(0))
    carrier.project(full(carrier), TileSelection([[1]])).wait(30)
    assert carrier.primary_tiles == one(0, 1)  # pinned by the slow projection
    policy.answer = ResidencyPlan()
    controlled.release()
    slow.wait(30)
    assert carrier.primary_tiles == one(1, 2)


@pytest.mark.rule("TE-38", "TE-98")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
def test_a_late_eviction_that_fails_is_not_the_failure_of_other_work(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    stage: str,
) -> None:
    policy = Answering()
    carrier = tiled((3,), (1,), tiers=controlled_tiers, policy=policy)
    carrier.evict(one(2))
    controlled.is_held = True
    slow = carrier.project(full(carrier), TileSelection([[0, 2]]))
    policy.answer = ResidencyPlan(evict=one(0))
    carrier.project(full(carrier), TileSelection([[1]])).wait(30)
    policy.answer = ResidencyPlan()
    controlled.fail(0, stage)  # the eviction of tile 0, when the slow projection ends
    controlled.release()
    assert slow.wait(30).tolist() == [0, 2]
    assert carrier.primary_tiles == one(0, 1, 2)
    controlled.failing = {}
    carrier.project(full(carrier), TileSelection([[0]])).wait(30)
    assert carrier.primary_tiles == one(1, 2) and carrier[0] == 0


@pytest.mark.rule("TE-38", "TE-52", "G-3")
def test_an_eviction_without_a_way_is_refused_before_any_work(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled_tiers: Tiers,
) -> None:
    policy = Answering(ResidencyPlan(evict=one(0)))
    carrier = tiled((2,), (2,), tiers=(controlled_tiers[0], ArrayCarrier), policy=policy)
    compact = dense([5, 6], tier=controlled_tiers[0])
    x, selection = full(carrier), TileSelection([[0]])
    attempts: list[Callable[[], object]] = [
        lambda: carrier.project(x, selection),
        lambda: carrier.scatter(compact, x, selection),
        lambda: carrier.update(compact, selection),
        lambda: sw.relu(x),
    ]
    for attempt in attempts:
        with pytest.raises(NotImplementedError, match="cannot move between these tiers"):
            attempt()
    assert carrier.primary_tiles == one(0, 1) and carrier.version == 0
    assert x.tolist() == [0, 1, 2, 3] and not compact.carrier.is_owned()
    policy.answer = ResidencyPlan(evict=TileSet())
    assert carrier.project(x, selection).wait().tolist() == [0, 1]


@pytest.mark.rule("TE-38", "TE-97")
def test_retained_tiles_are_pinned_until_the_end(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    policy = Answering(ResidencyPlan(retain=one(1)))
    carrier = tiled((2,), (1,), tiers=controlled_tiers, policy=policy)
    carrier.evict(one(0))
    controlled.is_held = True
    handle = carrier.project(full(carrier), TileSelection([[0]]))
    with pytest.raises(RuntimeError, match="pinned"):
        carrier.evict(one(1))
    controlled.release()
    handle.wait(30)
    carrier.evict(one(1))


@pytest.mark.rule("TE-39", "G-3")
@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (KeyError("policy"), KeyError, "policy"),
        (3, TypeError, "must return a ResidencyPlan"),
        (ResidencyPlan(promote=one(9)), ValueError, "outside"),
        (ResidencyPlan(evict=TileSet([(0, 0)])), ValueError, "rank"),
    ],
)
def test_policy_failures_come_before_any_work(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    answer: object,
    error: type[Exception],
    message: str,
) -> None:
    carrier = tiled((2,), (2,), stored=True, policy=Answering(answer))
    x, selection = full(carrier), TileSelection([[0]])
    compact = dense([1, 2])
    attempts: list[Callable[[], object]] = [
        lambda: carrier.project(x, selection),
        lambda: carrier.scatter(compact, x, selection),
        lambda: carrier.update(compact, selection),
        lambda: sw.relu(x),
    ]
    for attempt in attempts:
        with pytest.raises(error, match=message):
            attempt()
    assert carrier.primary_tiles == TileSet() and carrier.version == 0
    assert not compact.carrier.is_owned()
    carrier.release()


@pytest.mark.rule("TE-42", "TE-43")
def test_shipped_policies() -> None:
    assert isinstance(LRUResidency(), ResidencyPolicy)
    for purpose in ("operation", "projection", "scatter", "backward"):
        assert LRUResidency().plan(one(1), purpose) == ResidencyPlan(promote=one(1))
    pinned = PinnedResidency(TileSelection([[0, 2]]))
    assert pinned.pinned_tiles == one(0, 2)
    assert pinned.plan(one(1, 2), "scatter") == ResidencyPlan(promote=one(0, 1, 2))
    with pytest.raises(TypeError, match="TileSet or a TileSelection"):
        PinnedResidency([(0,)])  # type: ignore[arg-type]  # refused at run time too


@pytest.mark.rule("TE-43", "TE-40", "G-8")
def test_pinned_tiles_never_make_room(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((4,), (1,), stored=True, capacity=2, policy=PinnedResidency(one(3)))
    carrier.promote(one(3))
    for number in range(3):
        carrier.promote(one(number))
        assert carrier.primary_tiles == one(number, 3)
    with pytest.raises(MemoryError, match=r"\(3,\)"):
        carrier.promote(one(0, 1))
    carrier.evict(one(3))
    carrier.promote(one(0, 1))
    assert carrier.primary_tiles == one(0, 1)


@pytest.mark.rule("TE-40", "G-7")
def test_the_least_recently_used_tile_makes_room(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((4,), (1,), stored=True, capacity=2, tiers=controlled_tiers)
    carrier.promote(one(0))
    carrier.promote(one(1))
    assert carrier[0] == 0.0  # a use
    carrier.promote(one(2))
    assert carrier.primary_tiles == one(0, 2)
    carrier[2] = 7.0
    assert carrier[0] == 0.0
    carrier.promote(one(3))
    assert carrier.primary_tiles == one(0, 3)
    assert controlled.log == ["in", "in", "in", "out", "in"]
    assert carrier[2] == 7.0


@pytest.mark.rule("TE-40", "TE-33", "G-3")
def test_a_victim_that_cannot_be_written_fails_the_request(
    tiled: Any, controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (1,), stored=True, capacity=1, tiers=controlled_tiers)
    carrier[0] = 5.0
    for stage in ("prepare", "submit", "complete"):
        controlled.fail(0, stage)
        with pytest.raises(OSError, match="the test fails"):
            carrier.promote(one(1))
        assert carrier.primary_tiles == carrier.dirty_tiles == one(0) and carrier[0] == 5.0
    carrier.promote(one(1))
    assert carrier.primary_tiles == one(1) and carrier[0] == 5.0


@pytest.mark.rule("TE-41", "G-8")
def test_a_request_that_cannot_fit_names_what_is_pinned(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
) -> None:
    carrier = tiled((4,), (1,), stored=True, capacity=2, tiers=controlled_tiers)
    x = full(carrier)
    with pytest.raises(MemoryError, match=r"needs 3 tiles .* primary_capacity is 2"):
        carrier.promote(one(0, 1, 2))
    with pytest.raises(MemoryError):
        carrier.project(x, TileSelection([[0, 1, 2]]))
    compact = dense([1, 2, 3], tier=controlled_tiers[0])
    with pytest.raises(MemoryError):
        carrier.update(compact, TileSelection([[0, 1, 2]]))
    controlled.is_held = True
    busy = carrier.project(x, TileSelection([[0, 1]]))
    with pytest.raises(MemoryError, match=r"\(0,\), \(1,\).* wait"):
        carrier.promote(one(3))
    assert controlled.log == ["in", "in"]
    controlled.release()
    busy.wait(30)
    carrier.promote(one(3))
    assert len(carrier.primary_tiles.coordinates) == 2


@pytest.mark.rule("TE-44", "TE-84")
def test_worked_example_of_the_counters(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((4,), (4,), range(-8, 8), stored=True, capacity=2)
    assert sw.relu(full(carrier)).tolist() == [0] * 8 + list(range(8))
    assert carrier.primary_tiles == one(2, 3)
    first = carrier.residency_stats()
    assert (first.hits, first.misses, first.promotions, first.evictions) == (0, 4, 4, 2)
    assert (first.bytes_in, first.bytes_out) == (64, 0) and first.wait_seconds > 0
    sw.relu(full(carrier))
    second = carrier.residency_stats()
    assert (second.hits, second.misses, second.evictions) == (0, 8, 6)
    carrier.release()
    assert carrier.residency_stats() == second


@pytest.mark.rule("TE-44")
def test_a_fresh_carrier_has_counted_nothing(tiled: Any) -> None:
    assert tiled((2,), (2,), capacity=1).residency_stats() == (
        sw.carriers.tiled_evictable.ResidencyStats()
    )
    with pytest.raises(AttributeError):
        tiled((2,), (2,)).residency_stats().hits = 3


@pytest.mark.rule("TE-44")
@pytest.mark.parametrize("request_kind", ["promote", "project", "scatter"])
def test_waiting_on_a_handle_is_counted(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Any,
    request_kind: str,
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    x, selection = full(carrier), TileSelection([[0]])
    controlled.is_held = True
    handle: Any
    if request_kind == "promote":
        handle = carrier.promote_async(selection)
    elif request_kind == "project":
        handle = carrier.project(x, selection)
    else:
        compact = dense([1, 2], tier=controlled_tiers[0])
        handle = carrier.scatter(compact, x, selection, reduction="add")
    assert carrier.residency_stats().wait_seconds == 0
    with pytest.raises(TimeoutError):
        handle.wait(0.05)
    counted = carrier.residency_stats().wait_seconds
    assert 0.04 < counted < 5
    controlled.release()
    handle.wait(30)
    total = carrier.residency_stats().wait_seconds
    assert total >= counted
    handle.wait()
    assert carrier.residency_stats().wait_seconds == total


@pytest.mark.rule("TE-40", "TE-41", "G-7")
@pytest.mark.parametrize("selected", [0, 1, 2])
def test_a_template_tile_that_is_not_read_makes_room(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor], selected: int
) -> None:
    policy = Answering(ResidencyPlan(promote=one(0)))
    carrier = tiled((3,), (2,), stored=True, capacity=1, policy=policy)
    carrier[2] = 7.0  # tile 1 is primary and dirty
    result = carrier.scatter(dense([8, 9]), full(carrier), TileSelection([[selected]])).wait()
    assert carrier.primary_tiles == one(0)
    assert full(carrier).tolist() == [0, 1, 7, 3, 4, 5]
    assert [result[2 * selected], result[2 * selected + 1]] == [8, 9]


@pytest.mark.rule("TE-40", "TE-84")
def test_tiles_that_pass_make_room_before_a_tile_in_use(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    carrier = tiled((6,), (2,), stored=True, capacity=3)
    carrier.promote(one(5))
    found = []
    for _ in range(3):
        before = carrier.residency_stats().hits
        assert sw.reduce_sum(full(carrier), "a -> 1").item() == sum(range(12))
        found.append(carrier.residency_stats().hits - before)
        assert (5,) in carrier.primary_tiles.coordinates
    assert found == [1, 1, 1]  # two places are for the tile at work and the next one
