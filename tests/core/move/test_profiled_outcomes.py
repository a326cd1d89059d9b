"""What a profile says about pending and failed moves."""

import gc
import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Tensor, profile
from strideweave.carriers.move import ElementwiseMoveOperation, registered_move_operation
from strideweave.testing import ArrayCarrier

FLOAT32 = DType.Float32
BOUND = 20.0


class Started:
    """A pending move, begun inside a profile that was left."""

    def __init__(self, yard: Any) -> None:
        self.completion = yard.Pending()
        source, destination = yard.pair(self.completion.submit)
        tensor, target = yard.tensor(source, 1.0, 2.0), destination(2, dtype=FLOAT32)
        with profile() as self.profiler:
            self.handle: Any = sw.move_async(tensor, target)
            sw.relu(Tensor(ArrayCarrier(1, dtype=FLOAT32), 0, yard.flat(1)))

    def outcome(self) -> None:
        try:
            self.handle.wait(BOUND)
        except OSError:
            pass


@pytest.fixture
def started(yard: Any) -> Started:
    return Started(yard)


def outcomes(profiler: sw.Profiler) -> list[tuple[str, bool, bool]]:
    return [(event.name, event.succeeded, event.completed) for event in profiler.events()]


@pytest.mark.rule("M-38", "A-42", "A-49")
@pytest.mark.parametrize("fails", [False, True])
def test_a_pending_move_completes_its_event_after_the_profile(
    started: Started, clock: Any, fails: bool
) -> None:
    profiler = started.profiler
    submit, pending, execution = profiler.events()
    assert [submit.id, pending.id, execution.id] == [0, 1, 2]
    assert (pending.name, pending.parent_id) == ("move.complete", 0)
    assert (pending.completed, pending.succeeded) == (False, False)
    assert (pending.duration_ns, pending.self_time_ns) == (0, 0)
    assert profiler.events() == (submit, pending, execution)
    assert [row.name for row in profiler.key_averages()] == ["move.submit", "relu"]
    assert "move.complete" not in profiler.table() + profiler.chrome_trace()
    clock.now = pending.start_time_ns + 40
    if fails:
        started.completion.fail(OSError("lost"))
    else:
        started.completion.finish()
    started.outcome()
    again, complete, same = profiler.events()
    assert (again, same) == (submit, execution)
    assert (complete.completed, complete.succeeded) == (True, not fails)
    assert (complete.duration_ns, complete.self_time_ns) == (40, 40)
    for field in ("id", "parent_id", "name", "carrier_type", "implementation_type", "thread_id"):
        assert getattr(complete, field) == getattr(pending, field)
    assert complete.start_time_ns == pending.start_time_ns
    assert complete.thread_id == threading.get_ident()
    rows = profiler.key_averages()
    assert [row.name for row in rows] == ["move.complete", "move.submit", "relu"]
    assert (rows[0].count, rows[0].total_time_ns) == (1, 40)


@pytest.mark.rule("M-28", "M-38")
def test_the_event_is_complete_before_the_outcome_shows(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish, seen = started.handle._finished.set, []

    def see() -> None:
        seen.append(started.profiler.events()[1].completed)
        publish()

    monkeypatch.setattr(started.handle._finished, "set", see)
    started.completion.finish()
    started.handle.wait(BOUND)
    assert seen == [True]


@pytest.mark.rule("M-38")
def test_ids_are_given_when_events_start(yard: Any) -> None:
    first, second = yard.Pending(), yard.Pending()
    waiting = [first, second]
    source, destination = yard.pair(lambda request: waiting.pop(0).submit(request))
    with profile() as profiler:
        handles = [
            sw.move_async(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)) for _ in range(2)
        ]
        second.finish()
        handles[1].wait(BOUND)
    found = [
        (event.id, event.parent_id, event.name, event.completed) for event in profiler.events()
    ]
    assert found == [
        (0, None, "move.submit", True),
        (1, 0, "move.complete", False),
        (2, None, "move.submit", True),
        (3, 2, "move.complete", True),
    ]
    first.finish()
    handles[0].wait(BOUND)
    assert [event.id for event in profiler.events()] == [0, 1, 2, 3]
    assert all(event.completed and event.succeeded for event in profiler.events())


@pytest.mark.rule("M-37")
def test_repeated_waits_add_nothing(started: Started) -> None:
    started.completion.finish()
    started.handle.wait(BOUND)
    before = started.profiler.events()
    with profile() as during:
        threads = [threading.Thread(target=started.handle.wait) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
        started.handle.wait()
    assert during.events() == () and started.profiler.events() == before


@pytest.mark.rule("M-38", "M-27")
def test_a_dropped_handle_still_completes_the_event(started: Started) -> None:
    waiting = threading.Event()
    started.handle._then(waiting.set)
    started.handle = None
    gc.collect()
    started.completion.finish()
    assert waiting.wait(BOUND)
    assert [event.completed for event in started.profiler.events()] == [True] * 3


@pytest.mark.rule("A-48", "M-38")
@pytest.mark.parametrize("leaves", [True, False])
def test_a_move_outlives_a_discarded_profile(yard: Any, leaves: bool) -> None:
    completion = yard.Pending()
    source, destination = yard.pair(completion.submit)
    profiler: sw.Profiler | None = profile().__enter__()
    handle = sw.move_async(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32))
    if leaves:
        thread = threading.Thread(target=leave, args=(profiler,))
        thread.start()
        thread.join(BOUND)
    profiler = None
    gc.collect()
    completion.finish()
    assert handle.wait(BOUND).tolist() == [1.0]
    with profile() as following:
        sw.copy(handle.wait(), source(1, dtype=FLOAT32))
    assert outcomes(following) == [("copy.submit", True, True), ("copy.complete", True, True)]


def leave(profiler: sw.Profiler) -> None:
    with pytest.raises(RuntimeError, match="another thread"):
        profiler.__exit__(None, None, None)


def raising(request: Any) -> Any:
    raise OSError("lost")


def refusing_to_say(request: Any) -> Any:
    return type("Mute", (), {"done": property(raising), "wait": lambda self: None})()


def ending_in_three(request: Any) -> Any:
    return type("Three", (), {"done": True, "wait": lambda self: 3})()


@pytest.mark.rule("M-37")
@pytest.mark.parametrize(
    ("submit", "error", "is_submitted"),
    [
        (raising, OSError, False),
        (lambda request: 3, TypeError, True),
        (refusing_to_say, OSError, True),
        (ending_in_three, TypeError, True),
    ],
)
def test_a_submission_fails_only_when_submit_raises(
    submit: Callable[[Any], Any], error: type[Exception], is_submitted: bool, yard: Any
) -> None:
    source, destination = yard.pair(submit)
    for act in (sw.move_async, sw.copy_async):
        tensor = yard.tensor(source, 1.0)
        with profile() as profiler:
            handle = act(tensor, destination(1, dtype=FLOAT32))
        with pytest.raises(error):
            handle.wait(BOUND)
        assert [event.succeeded for event in profiler.events()] == [is_submitted, False]
        assert all(event.completed for event in profiler.events())


@pytest.mark.rule("M-37", "S-8")
def test_an_interrupted_submission_is_a_failed_one(yard: Any) -> None:
    def submit(request: Any) -> None:
        raise KeyboardInterrupt

    source, destination = yard.pair(submit)
    with profile() as profiler, pytest.raises(KeyboardInterrupt):
        sw.move_async(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32))
    assert outcomes(profiler) == [("move.submit", False, True), ("move.complete", False, True)]


@pytest.mark.rule("M-37", "M-30")
def test_a_failing_copy_or_commit_is_a_failed_completion(yard: Any) -> None:
    class Boom(ElementwiseMoveOperation):
        def _copy(self, *arguments: Any) -> None:
            raise OSError("boom")

    shelf = yard.subclass("Shelf", yard.Listed)
    stuck = yard.subclass("Stuck", yard.Listed, _release=lambda self: raising(None))
    cases = [(shelf, sw.move), (shelf, sw.copy), (stuck, sw.move)]
    for source, act in cases:
        with registered_move_operation(shelf, shelf, Boom):
            with profile() as profiler, pytest.raises(OSError):
                act(yard.over(source([1.0])), shelf([0.0]))
        assert [event.succeeded for event in profiler.events()] == [True, False]
        assert all(event.completed for event in profiler.events())
