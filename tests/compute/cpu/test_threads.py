"""Threads that share one kernel."""

import contextlib
import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import strideweave as sw
from strideweave.carriers.cpu.kernels import threads
from strideweave.carriers.cpu.kernels.threads import share, share_parts
from strideweave.carriers.latch import Latch
from strideweave.carriers.move.pool import CompletionPool

TIMEOUT = 30
"""Seconds after which a test fails rather than wait for ever."""

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((8, 16, 64, 64), (16, 16, 3, 3), {"strides": (1, 1), "padding": ((1, 1), (1, 1))}),
    (
        (24, 12, 65, 61),
        (20, 6, 3, 5),
        {"strides": (2, 3), "padding": ((4, 0), (0, 7)), "feature_groups": 2},
    ),
    (
        (5, 16, 40, 33),
        (24, 16, 3, 3),
        {
            "strides": (1, 1),
            "padding": ((0, 3), (2, 2)),
            "lhs_dilation": (1, 2),
            "kernel_dilation": (3, 2),
        },
    ),
]


@pytest.fixture(params=CASES, ids=["plain", "strides and groups", "dilations"])
def convolution(request: pytest.FixtureRequest) -> Any:
    """A convolution with enough work for seven threads, as a call without arguments."""
    lhs_extents, kernel_extents, parameters = request.param
    random = np.random.default_rng(3)
    lhs = sw.from_numpy(random.standard_normal(lhs_extents, np.float32))
    kernel = sw.from_numpy(random.standard_normal(kernel_extents, np.float32))
    return lambda: sw.conv_general(lhs, kernel, **parameters).numpy()


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[threads._Part]:
    """The parts that were offered to helpers, new ones; nothing in the environment limits them."""
    for library in ("OPENBLAS", "MKL", "OMP"):
        monkeypatch.delenv(f"{library}_NUM_THREADS", raising=False)
    parts: list[threads._Part] = []
    offer = threads._Team.offer

    def recorded(team: threads._Team, some: list[threads._Part]) -> None:
        parts.extend(some)
        offer(team, some)

    monkeypatch.setattr(threads._Team, "offer", recorded)
    monkeypatch.setattr(threads, "_team", threads._Team())
    return parts


def with_processors(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    available = set(range(count))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: available, raising=False)


def found_by(
    monkeypatch: pytest.MonkeyPatch, counts: tuple[int, ...], operation: Callable[[], sw.Tensor]
) -> list[Any]:
    """Do the same with several numbers of processors."""
    found = []
    for count in counts:
        with_processors(monkeypatch, count)
        with threadpool_limits(max(counts), user_api="blas"):
            found.append(operation().numpy())
    return found


def share_between_two() -> None:
    """Share parts that only two threads at the same time can compute."""
    meeting = threading.Barrier(2)

    def meet(start: int, stop: int) -> None:
        meeting.wait(TIMEOUT)

    share(meet, 2, 2)


@pytest.mark.rule("F-39", "G-13", "G-14")
def test_values_do_not_depend_on_the_number_of_threads(
    convolution: Any, offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 1)
    expected = convolution()
    assert offered == []
    for count in (2, 3, 7):
        with_processors(monkeypatch, count)
        found = convolution()
        assert len(offered) == count - 1
        assert all(part.ended.is_set() for part in offered)
        assert np.array_equal(found.view(np.int32), expected.view(np.int32))
        offered.clear()


@pytest.mark.rule("G-14")
def test_environment_limits_the_threads(
    convolution: Any, offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 7)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    convolution()
    assert len(offered) == 1
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    convolution()
    assert len(offered) == 1


@pytest.mark.rule("G-14")
def test_convolution_works_where_no_thread_starts(
    convolution: Any, offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 1)
    expected = convolution()

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with_processors(monkeypatch, 3)
    assert np.array_equal(convolution(), expected)
    assert len(offered) == 2


def test_part_for_which_no_thread_started_is_computed_once(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 2)
    computed: list[tuple[int, int]] = []

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        share(lambda start, stop: computed.append((start, stop)), 2, 2)
    # What was offered before a thread failed to start is found by the first helper.
    share_between_two()
    assert computed == [(0, 1), (1, 2)]


@pytest.mark.rule("F-9")
def test_threads_are_as_silent_as_their_caller(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 2)
    images = np.full((8, 16, 64, 64), 3e38, np.float32)
    images[:, :, ::2] = -np.inf
    weights = np.full((16, 16, 3, 3), 2.0, np.float32)
    found = sw.conv_general(sw.from_numpy(images), sw.from_numpy(weights), (1, 1), ((0, 0), (0, 0)))
    assert len(offered) == 1
    assert not np.isfinite(found.numpy()).any()


@pytest.mark.rule("F-38", "G-13", "G-14")
@pytest.mark.parametrize(("batch", "side"), [(250, 64), (36, 128)], ids=["products", "copies"])
def test_batched_products_do_not_depend_on_the_number_of_threads(
    batch: int, side: int, offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(3)
    lhs, rhs = (
        sw.from_numpy(random.standard_normal((batch, side, side), np.float32)) for _ in range(2)
    )
    found = found_by(monkeypatch, (1, 2, 3), lambda: sw.einsum(lhs, rhs, "b i k, b j k -> b i j"))
    assert offered != []
    bits = [array.view(np.int32) for array in found]
    assert np.array_equal(bits[0], bits[1]) and np.array_equal(bits[0], bits[2])


@pytest.mark.rule("F-10", "F-38", "G-3")
@pytest.mark.parametrize("failing", [(0,), (249,), (30, 200)])
def test_a_part_that_fails_fails_the_call(
    failing: tuple[int, ...], offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 3)
    factors = np.ones((250, 64, 64), np.int32)
    for position in failing:
        factors[position] = 2**30 + position
    tensor = sw.from_numpy(factors)
    # The first part in the order of the batch is reported, whichever failed first.
    expected = 64 * (2**30 + failing[0]) ** 2
    with pytest.raises(OverflowError, match=f"the exact result {expected} is out of int32 range"):
        sw.einsum(tensor, tensor, "b i k, b j k -> b i j")
    assert len(offered) == 2
    assert all(part.ended.is_set() for part in offered)


@pytest.mark.rule("G-14")
def test_interrupted_call_ends_after_its_parts(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 3)
    interruptions = [KeyboardInterrupt(), KeyboardInterrupt()]
    meeting = threading.Barrier(3)
    computed: list[int] = []

    wait = Latch.wait

    def interrupted(latch: Latch, timeout: float | None = None) -> bool:
        if interruptions:
            raise interruptions.pop()
        return wait(latch, timeout)

    def work(start: int, stop: int) -> None:
        meeting.wait(TIMEOUT)
        if start:
            time.sleep(0.1)
        computed.append(start)

    monkeypatch.setattr(Latch, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        share(work, 3, 3)
    assert interruptions == [] and sorted(computed) == [0, 1, 2]
    assert threads._team.busy == 0


@pytest.mark.rule("G-3", "G-14")
@pytest.mark.parametrize("processors", [1, 3])
def test_failed_call_keeps_nothing_alive(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with_processors(monkeypatch, processors)
    tensor = sw.from_numpy(np.full((250, 64, 64), 2**30, np.int32))
    reference = weakref.ref(tensor)
    gc.disable()
    try:
        with contextlib.suppress(OverflowError):
            sw.einsum(tensor, tensor, "b i k, b j k -> b i j")
        del tensor
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.rule("F-38", "G-13", "G-14")
@pytest.mark.parametrize(
    ("inner", "columns", "rows"),
    [(16384, 256, 8), (8192, 200, 300), (520, 1700, 900), (520, 900, 1700), (2050, 3, 2100)],
    ids=["terms", "terms, square", "columns", "rows", "narrow"],
)
def test_large_products_are_close_to_exact_ones_whatever_the_threads(
    inner: int,
    columns: int,
    rows: int,
    offered: list[threads._Part],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    left, right = (random.standard_normal((side, inner), np.float32) for side in (rows, columns))
    lhs, rhs = sw.from_numpy(left), sw.from_numpy(right)
    found = found_by(monkeypatch, (1, 2, 3), lambda: sw.matmul(lhs, rhs))
    assert offered != []
    assert_close(found, left, right.T)


@pytest.mark.rule("F-38", "G-13", "G-14")
@pytest.mark.parametrize(
    ("batch", "inner", "columns", "rows"),
    [(70, 90, 130, 100), (3, 300, 1000, 40), (40, 1000, 10, 300), (1, 400, 400, 400)],
    ids=["matrices", "wide", "narrow", "one"],
)
def test_large_batched_products_are_close_to_exact_ones(
    batch: int,
    inner: int,
    columns: int,
    rows: int,
    offered: list[threads._Part],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    left = random.standard_normal((batch, rows, inner), np.float32)
    right = random.standard_normal((batch, columns, inner), np.float32)
    lhs, rhs = sw.from_numpy(left), sw.from_numpy(right)
    found = found_by(monkeypatch, (1, 2, 5), lambda: sw.einsum(lhs, rhs, "b i k, b j k -> b i j"))
    assert_close(found, left, right.transpose(0, 2, 1))


def assert_close(found: list[Any], left: Any, right: Any) -> None:
    """Compare equal results with the product in binary64, of whose terms each may be rounded."""
    assert all(np.array_equal(found[0], other) for other in found[1:])
    expected = left.astype(np.float64) @ right.astype(np.float64)
    bound = 2.0**-23 * left.shape[-1] * (np.abs(left) @ np.abs(right))
    assert (np.abs(found[0] - expected) <= bound).all()


def test_parts_are_shared_once_each_and_a_failure_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_processors(monkeypatch, 4)
    for library in ("OPENBLAS", "MKL", "OMP"):
        monkeypatch.delenv(f"{library}_NUM_THREADS", raising=False)
    taken: list[int] = []
    share_parts(taken.append, 100, 4)
    assert sorted(taken) == list(range(100))

    def fail(part: int) -> None:
        if part == 7:
            raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        share_parts(fail, 100, 4)


def test_helpers_live_on(offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch) -> None:
    with_processors(monkeypatch, 2)
    helpers = []
    for _ in range(3):
        meeting = threading.Barrier(2)

        def work(start: int, stop: int, meeting: threading.Barrier = meeting) -> None:
            meeting.wait(TIMEOUT)
            if start:
                helpers.append(threading.current_thread())

        share(work, 2, 2)
    assert len(helpers) == 3 and len(set(helpers)) == 1


class Caller:
    """A thread that shares a kernel, whose parts go on until it is told to end."""

    def __init__(self, most: int) -> None:
        self.parts: list[tuple[int, int]] = []
        self.begun = threading.Semaphore(0)
        self.goes_on = threading.Event()
        self.thread = threading.Thread(target=share, args=(self.compute, most, most), daemon=True)
        self.thread.start()

    def compute(self, start: int, stop: int) -> None:
        self.parts.append((start, stop))
        self.begun.release()
        self.goes_on.wait(TIMEOUT)

    def await_parts(self, count: int) -> None:
        for _ in range(count):
            assert self.begun.acquire(timeout=TIMEOUT)

    def end(self) -> None:
        self.goes_on.set()
        self.thread.join(TIMEOUT)
        assert not self.thread.is_alive()


@pytest.mark.rule("G-14")
def test_callers_share_the_processors(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 3)
    first = Caller(3)
    first.await_parts(3)
    second = Caller(3)
    second.await_parts(1)
    assert second.parts == [(0, 3)]
    first.end()
    # The second one counts although it computes alone.
    third = Caller(3)
    third.await_parts(2)
    assert sorted(third.parts) == [(0, 1), (1, 3)]
    second.end()
    third.end()
    assert threads._team.busy == 0


@pytest.mark.rule("G-14")
def test_threads_lent_to_long_work_count_as_busy(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 3)
    pool = CompletionPool()
    monkeypatch.setattr(threads, "completion_pool", lambda: pool)
    begun, goes_on = threading.Event(), threading.Event()

    def compute() -> None:
        begun.set()
        goes_on.wait(TIMEOUT)

    assert pool.lend(compute) and begun.wait(TIMEOUT)
    parts: list[tuple[int, int]] = []
    try:
        share(lambda start, stop: parts.append((start, stop)), 6, 6)
    finally:
        goes_on.set()
    assert sorted(parts) == [(0, 3), (3, 6)]


def test_parts_may_share_in_turn(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 8)
    meeting = threading.Barrier(2)
    computed: list[int] = []

    def outer(start: int, stop: int) -> None:
        meeting.wait(TIMEOUT)
        share(lambda first, last: computed.extend(range(first, last)), 10, 2)

    caller = threading.Thread(target=share, args=(outer, 2, 2), daemon=True)
    caller.start()
    caller.join(TIMEOUT)
    assert not caller.is_alive()
    assert sorted(computed) == sorted([*range(10), *range(10)])
    assert len(offered) == 2  # the helper, which may run a finalizer, offers nothing


@pytest.mark.parametrize("failing", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("processors", [1, 3])
def test_first_failure_is_raised_and_nothing_stays_busy(
    processors: int,
    failing: tuple[int, ...],
    offered: list[threads._Part],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_processors(monkeypatch, processors)

    def work(start: int, stop: int) -> None:
        for position in range(start, stop):
            if position in failing:
                raise ValueError(f"position {position}")

    with pytest.raises(ValueError, match=f"position {failing[0]}"):
        share(work, 3, 3)
    assert len(offered) == processors - 1
    assert all(part.ended.is_set() for part in offered)
    assert threads._team.busy == 0


@pytest.mark.rule("G-14")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_child_forked_meanwhile_has_helpers_of_its_own(
    offered: list[threads._Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 2)
    caller = Caller(2)
    caller.await_parts(2)
    child = os.fork()
    if child == 0:
        signal.alarm(TIMEOUT)
        with contextlib.suppress(BaseException):
            share_between_two()
            os._exit(0 if len(offered) == 2 else 1)
        os._exit(2)
    _, status = os.waitpid(child, 0)
    caller.end()
    assert os.waitstatus_to_exitcode(status) == 0
