"""Large products with a capacity: two threads, each of which brings tiles and computes."""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, Tensor, TiledEvictable, TileSet
from strideweave.carriers.latch import Latch
from strideweave.carriers.move.pool import MOST_WORKERS, completion_pool
from strideweave.carriers.tiled_evictable import PinnedResidency, lanes, streaming

Tiers = tuple[type[Carrier], type[Carrier]]
Watch = Callable[[int, int], object]

ROWS, COLUMNS, INNER = 2, 8, 4
LHS = [float(value) for value in range(ROWS * INNER)]
RHS = [float(value) for value in range(COLUMNS * INNER)]
EXPECTED = [
    [
        sum(LHS[row + ROWS * k] * RHS[column + COLUMNS * k] for k in range(INNER))
        for column in range(COLUMNS)
    ]
    for row in range(ROWS)
]


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every product count as a large one, for which a thread is to spare."""
    monkeypatch.setattr(streaming, "MANY_READ", 1)
    assert comes_true(lambda: completion_pool().lent == 0)


def comes_true(condition: Callable[[], bool]) -> bool:
    """Wait for something that other threads are about to do."""
    deadline = time.monotonic() + 30
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.001)
    return condition()


@pytest.fixture
def operands(tiled: Any, full: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """Build a batch of one tile, and a weight of four by two tiles in the secondary tier."""

    def make(**options: Any) -> tuple[Tensor, Tensor]:
        options = {"stored": True, "capacity": 3, **options}
        batch = tiled((1, 1), (ROWS, INNER), LHS, **{**options, "policy": None})
        weight = tiled((4, 2), (COLUMNS // 4, INNER // 2), RHS, **options)
        return full(batch), full(weight)

    return make


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Watch], list[int]]:
    """Call something before each step, with its place in the order of beginning, and its box.

    Gives the threads that computed, in that order.
    """
    compute = streaming._block_result
    threads: list[int] = []
    lock = threading.Lock()

    def install(watcher: Watch) -> list[int]:
        def watched(invocation: Any, blocks: Any) -> Tensor:
            with lock:
                place = len(threads)
                threads.append(threading.get_ident())
            watcher(place, int(blocks[1][0, 0]) % COLUMNS // 2)
            return compute(invocation, blocks)

        monkeypatch.setattr(streaming, "_block_result", watched)
        return threads

    return install


def assert_free(*tensors: Tensor) -> None:
    """Check that no tile is held by anything."""
    for tensor in tensors:
        assert isinstance(tensor.carrier, TiledEvictable)
        state = tensor.carrier._state
        assert all(tile.pins == 0 and tile.holder is None for tile in state.tiles)
        assert state.active == 0


def meet(count: int) -> Watch:
    """Let the first steps wait for each other, which one thread alone could not do."""
    barrier = threading.Barrier(2, timeout=30)
    return lambda place, box: barrier.wait() if place < count else None


@pytest.mark.rule("TE-84", "TE-85", "G-13")
@pytest.mark.parametrize("capacity", [2, 3, 8])
def test_two_threads_compute_at_the_same_time(
    operands: Any, watch: Callable[[Watch], list[int]], capacity: int
) -> None:
    lhs, rhs = operands(capacity=capacity)
    threads = watch(meet(4))
    assert sw.matmul(lhs, rhs).tolist() == EXPECTED
    assert len(threads) == 8 and len(set(threads)) == 2
    assert threading.get_ident() in threads
    assert_free(lhs, rhs)


@pytest.mark.rule("TE-43", "TE-84")
@pytest.mark.parametrize(
    ("capacity", "policy"), [(1, None), (2, PinnedResidency(TileSet([(3, 1)])))]
)
def test_one_thread_computes_where_two_find_no_room(
    operands: Any,
    watch: Callable[[Watch], list[int]],
    capacity: int,
    policy: PinnedResidency | None,
) -> None:
    lhs, rhs = operands(capacity=capacity, policy=policy)
    if policy is not None:
        rhs.carrier.promote(policy.pinned_tiles)
    threads = watch(lambda place, box: None)
    assert sw.matmul(lhs, rhs).tolist() == EXPECTED
    assert set(threads) == {threading.get_ident()}


@pytest.mark.rule("TE-56", "TE-84")
def test_one_thread_computes_where_none_is_to_spare(
    operands: Any, watch: Callable[[Watch], list[int]]
) -> None:
    lhs, rhs = operands()
    busy, ended = threading.Event(), threading.Event()
    borrowed = [completion_pool().lend(lambda: ended.wait(30)) for _ in range(MOST_WORKERS)]
    completion_pool().run(busy.set)
    try:
        assert busy.wait(30) and borrowed == [True] * (MOST_WORKERS - 1) + [False]
        threads = watch(lambda place, box: None)
        assert sw.matmul(lhs, rhs).tolist() == EXPECTED
        assert set(threads) == {threading.get_ident()}
    finally:
        ended.set()


@pytest.mark.rule("TE-84")
def test_small_products_and_single_boxes_stay_in_one_thread(
    operands: Any,
    tiled: Any,
    full: Callable[..., Tensor],
    watch: Callable[[Watch], list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lhs, rhs = operands()
    monkeypatch.setattr(completion_pool(), "lend", lambda task: pytest.fail("a second thread"))
    narrow = full(tiled((1, 2), (COLUMNS, INNER // 2), RHS, stored=True, capacity=2))
    assert sw.matmul(lhs, narrow).tolist() == EXPECTED
    monkeypatch.setattr(streaming, "MANY_READ", 2**22)
    assert sw.matmul(lhs, rhs).tolist() == EXPECTED


@pytest.mark.rule("TE-40", "TE-84", "G-7")
@pytest.mark.parametrize("capacity", [2, 3, 5])
def test_two_threads_keep_the_capacity(
    operands: Any,
    watch: Callable[[Watch], list[int]],
    controlled: Any,
    controlled_tiers: Tiers,
    capacity: int,
) -> None:
    lhs, rhs = operands(capacity=capacity, tiers=controlled_tiers)
    taken: list[int] = []
    controlled.on_submit = lambda: taken.append(len(rhs.carrier.primary_tiles.coordinates))
    threads = watch(meet(4))
    for repetition in range(1, 4):
        assert sw.matmul(lhs, rhs).tolist() == EXPECTED
        assert len(threads) == 8 * repetition
    assert max(taken) < capacity
    assert len(rhs.carrier.primary_tiles.coordinates) == capacity
    assert "out" not in controlled.log  # clean tiles are never written back
    stats = rhs.carrier.residency_stats()
    assert stats.hits + stats.misses == 3 * 8 and stats.bytes_in == stats.misses * 4 * 4
    assert stats.promotions == stats.misses and stats.wait_seconds > 0


@pytest.mark.rule("TE-84", "TE-98", "G-3")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
@pytest.mark.parametrize("capacity", [2, 3])
def test_two_threads_fail_at_every_transfer_without_a_trace(
    operands: Any,
    watch: Callable[[Watch], list[int]],
    controlled: Any,
    controlled_tiers: Tiers,
    capacity: int,
    stage: str,
) -> None:
    position = failures = 0
    while True:
        lhs, rhs = operands(capacity=capacity, tiers=controlled_tiers)
        weight = rhs.carrier
        for slot in range(2 * capacity):  # these tiles are dirty and have to be written
            weight[slot * 4 + 1] = RHS[slot * 4 + 1]
        version = weight.version
        # What could not begin in one thread is tried in the other, so all that follow fail too.
        has_failed = controlled.attempt(partial(sw.matmul, lhs, rhs), position, stage, 64)
        if has_failed is None:
            break  # every transfer has failed once
        failures += has_failed
        assert_free(lhs, rhs)
        assert [weight[slot] for slot in range(len(RHS))] == RHS and weight.version == version
        assert len(weight.primary_tiles.coordinates) <= capacity
        assert sw.matmul(lhs, rhs).tolist() == EXPECTED
        position += 1
    assert position == failures >= 1 + 8 - capacity


@pytest.mark.rule("TE-84", "TE-98")
@pytest.mark.parametrize("place", range(1, 9))
def test_a_transfer_that_fails_in_the_other_thread_is_tried_again(
    operands: Any, controlled: Any, controlled_tiers: Tiers, place: int
) -> None:
    caller = threading.get_ident()
    lhs, rhs = operands(tiers=controlled_tiers)
    failed: list[int] = []

    def fail_elsewhere() -> None:
        if threading.get_ident() != caller and len(controlled.log) > place:
            failed.append(place)
            raise OSError("the test fails in the other thread")

    controlled.on_submit = fail_elsewhere
    assert sw.matmul(lhs, rhs).tolist() == EXPECTED
    assert len(failed) <= 1  # the other thread then ends
    assert_free(lhs, rhs)


@pytest.mark.rule("TE-41", "TE-84")
def test_a_tile_that_finds_no_room_waits_for_the_other_thread(
    operands: Any, watch: Callable[[Watch], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    lhs, rhs = operands(capacity=1)
    monkeypatch.setattr(streaming, "_has_room", lambda leases: True)  # until just now
    threads = watch(lambda place, box: None)
    assert sw.matmul(lhs, rhs).tolist() == EXPECTED
    assert len(threads) == 8
    assert_free(lhs, rhs)


@pytest.mark.rule("TE-84", "TE-98", "G-3")
@pytest.mark.parametrize("failing", [{0}, {1}, {0, 1}, {2, 3}, {3}])
def test_the_first_failure_is_raised_when_both_threads_have_ended(
    operands: Any, watch: Callable[[Watch], list[int]], failing: set[int]
) -> None:
    lhs, rhs = operands()
    computing: list[int] = []
    together = meet(2)

    def fail(place: int, box: int) -> None:
        computing.append(box)
        together(place, box)
        if box == 0:
            threading.Event().wait(0.01)  # so that the failure that comes later is known earlier
        computing.remove(box)
        if box in failing:
            raise ArithmeticError(f"box {box}")

    watch(fail)
    with pytest.raises(ArithmeticError, match=f"box {min(failing)}"):
        sw.matmul(lhs, rhs)
    assert computing == []
    assert_free(lhs, rhs)


@pytest.mark.rule("TE-84", "G-3")
def test_an_interrupt_waits_for_the_other_thread(
    operands: Any, watch: Callable[[Watch], list[int]]
) -> None:
    lhs, rhs = operands()
    caller, interrupted, ended = threading.get_ident(), threading.Event(), threading.Event()
    together = meet(2)

    def interrupt(place: int, box: int) -> None:
        together(place, box)
        if threading.get_ident() == caller:
            interrupted.set()
            raise KeyboardInterrupt
        assert interrupted.wait(30)
        ended.set()

    threads = watch(interrupt)
    with pytest.raises(KeyboardInterrupt):
        sw.matmul(lhs, rhs)
    assert ended.is_set() and len(threads) == 2
    assert_free(lhs, rhs)
    lhs.carrier.release()
    rhs.carrier.release()


@pytest.mark.rule("TE-98", "G-3")
def test_a_failed_product_keeps_nothing_alive(
    operands: Any, watch: Callable[[Watch], list[int]]
) -> None:
    lhs, rhs = operands()
    reference = weakref.ref(rhs)

    def fail(place: int, box: int) -> None:
        raise ArithmeticError("both threads")

    watch(fail)
    gc.disable()
    try:
        try:
            sw.matmul(lhs, rhs)
        except ArithmeticError:
            pass
        del rhs
        assert comes_true(lambda: reference() is None)
    finally:
        gc.enable()


@pytest.mark.rule("TE-84", "TE-98", "G-3", "G-14")
@pytest.mark.parametrize("step", ["begun", "ending", "waiting"])
def test_an_interrupt_between_steps_leaves_no_thread_behind(
    operands: Any,
    watch: Callable[[Watch], list[int]],
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    lhs, rhs = operands()
    caller, helps, interrupted = threading.get_ident(), threading.Event(), threading.Event()
    computing: list[int] = []

    def compute(place: int, box: int) -> None:
        computing.append(place)
        if threading.get_ident() == caller:
            assert helps.wait(30)
        else:
            helps.set()
            assert interrupted.wait(30)
        computing.remove(place)

    def interrupt() -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    begin, end, wait = lanes._Helper.begin, lanes._Helper.end, Latch.wait

    def begun(helper: lanes._Helper, work: Callable[[], None]) -> bool:
        is_lent = begin(helper, work)
        assert helps.wait(30)
        interrupt()
        return is_lent

    def ending(helper: lanes._Helper) -> None:
        interrupt()
        end(helper)

    def waiting(latch: Latch, timeout: float | None = None) -> bool:
        if threading.get_ident() == caller:
            interrupt()
        return wait(latch, timeout)

    watch(compute)
    if step == "begun":
        monkeypatch.setattr(lanes._Helper, "begin", begun)
    elif step == "ending":
        monkeypatch.setattr(lanes._Helper, "end", ending)
    else:
        monkeypatch.setattr(Latch, "wait", waiting)
    with pytest.raises(KeyboardInterrupt):
        sw.matmul(lhs, rhs)
    assert interrupted.is_set() and computing == []
    assert_free(lhs, rhs)
    monkeypatch.undo()
    assert comes_true(lambda: completion_pool().lent == 0)
    assert sw.matmul(lhs, rhs).tolist() == EXPECTED
