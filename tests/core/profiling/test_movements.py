"""Moves and copies: two events, of which the second may complete after the profile."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Profiler, Shape, Tensor, profile
from strideweave.operation.recording import recording
from strideweave.profiling.recorder import Completion
from strideweave.testing import ArrayCarrier

Make = Callable[..., Tensor]


class Movement(sw.Operation):
    """Stands for the operation of a move."""


def submitted(kind: Any = "move") -> Completion | None:
    """Submit a movement the way movement does, and give what awaits the outcome."""
    recorder = recording.movements
    assert recorder is not None
    with recorder.submission(kind, ArrayCarrier, Movement, Shape(2, (3, 4))) as interval:
        interval.close()
    return recorder.completion(interval)


@pytest.mark.rule("A-42", "A-45")
def test_a_pending_completion_completes_after_exit(clock: Callable[..., None]) -> None:
    clock(10, 15, 20, 90)
    with profile(record_shapes=True) as profiler:
        completion = submitted()
    submit, pending = profiler.events()
    assert (submit.name, submit.duration_ns, submit.self_time_ns) == ("move.submit", 5, 5)
    assert (submit.carrier_type, submit.implementation_type) == (ArrayCarrier, Movement)
    assert submit.input_shapes == pending.input_shapes == ((2, (3, 4)),)
    assert (pending.id, pending.parent_id, pending.name) == (1, 0, "move.complete")
    assert (pending.completed, pending.succeeded) == (False, False)
    assert (pending.start_time_ns, pending.duration_ns, pending.self_time_ns) == (20, 0, 0)
    assert [row.name for row in profiler.key_averages()] == ["move.submit"]
    assert completion is not None
    thread = threading.Thread(target=completion.close, args=(True,))
    thread.start()
    thread.join()
    again, complete = profiler.events()
    assert again == submit
    assert (complete.completed, complete.succeeded, complete.duration_ns) == (True, True, 70)
    assert complete.self_time_ns == 70 and complete.thread_id == threading.get_ident()
    assert [row.name for row in profiler.key_averages()] == ["move.complete", "move.submit"]


@pytest.mark.rule("A-42")
def test_a_completion_inside_the_profile_keeps_its_place(f: Make) -> None:
    with profile() as profiler:
        completion = submitted("copy")
        sw.relu(f(2))
        assert completion is not None
        completion.close(False)
    found = [(event.id, event.name, event.succeeded) for event in profiler.events()]
    assert found == [(0, "copy.submit", True), (1, "copy.complete", False), (2, "relu", True)]


@pytest.mark.rule("A-41")
def test_movements_of_other_classes_are_not_recorded() -> None:
    with profile(carriers=[]) as profiler:
        assert submitted() is None
    assert profiler.events() == ()


@pytest.mark.rule("A-43")
def test_movements_inside_a_vjp_are_recorded(f: Make) -> None:
    class Moving(sw.Operation):
        def _forward(self, *inputs: Any) -> Any:
            return inputs[0].detach()

        def backward(self, gradient: Any) -> tuple[Tensor]:
            sw.relu(gradient)
            submitted()
            return (gradient,)

    with profile() as profiler:
        Moving().forward(f(2)).backward(f(2))
    assert [event.name for event in profiler.events()] == ["move.submit", "move.complete"]


@pytest.mark.rule("A-45")
def test_executions_during_a_submission_are_inside_it(f: Make, clock: Callable[..., None]) -> None:
    clock(0, 10, 30, 50)
    with profile() as profiler:
        recorder = recording.movements
        assert recorder is not None
        with recorder.submission("move", ArrayCarrier, Movement, Shape(2)):
            sw.relu(f(2))
    submit, execution = profiler.events()
    assert (submit.succeeded, submit.duration_ns, submit.self_time_ns) == (False, 50, 50)
    assert (execution.name, execution.parent_id) == ("relu", 0)


@pytest.mark.rule("A-42")
def test_a_submission_that_outlives_the_profile_has_no_completion() -> None:
    profiler: Profiler = profile().__enter__()
    recorder = recording.movements
    assert recorder is not None
    with recorder.submission("move", ArrayCarrier, Movement, Shape(2)) as interval:
        profiler.__exit__(None, None, None)
    assert recorder.completion(interval) is None
    assert [event.name for event in profiler.events()] == ["move.submit"]
