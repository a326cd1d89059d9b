"""What a profile says about a move or copy: which two events, of what, and how long."""

import threading
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Tensor, Unsupported, profile
from strideweave.carriers.move import ElementwiseMoveOperation, registered_move_operation
from strideweave.testing import ArrayCarrier

FLOAT32 = DType.Float32
BOUND = 20.0


def held(values: list[float], text: str | None = None) -> Tensor:
    layout = Layout.parse(text or f"{len(values)}:1")
    return Tensor(ArrayCarrier(0, dtype=FLOAT32).new_like(values), 0, layout)


def room(slots: int = 0) -> ArrayCarrier:
    return ArrayCarrier(slots, dtype=FLOAT32)


def names(profiler: sw.Profiler) -> list[str]:
    return [event.name for event in profiler.events()]


@pytest.mark.rule("60/E-27", "M-36")
def test_a_move_is_two_events(yard: Any) -> None:
    source, destination = yard.pair()
    tensor = yard.tensor(source, 1.0, 2.0)
    with profile(carriers={source}, record_shapes=True) as profiler:
        sw.move(tensor, destination(2, dtype=FLOAT32))
    submit, complete = profiler.events()
    assert (submit.name, complete.name) == ("move.submit", "move.complete")
    assert (submit.id, submit.parent_id) == (0, None)
    assert (complete.id, complete.parent_id) == (1, submit.id)
    assert submit.input_shapes == complete.input_shapes == ((2,),)
    assert submit.carrier_type is complete.carrier_type is source
    assert submit.completed and submit.succeeded and complete.completed and complete.succeeded
    assert submit.thread_id == complete.thread_id == threading.get_ident()


@pytest.mark.rule("M-36", "M-39", "M-55")
@pytest.mark.parametrize("act", [sw.move, sw.copy, sw.move_async, sw.copy_async])
def test_a_registered_operation_is_the_implementation(act: Any, clock: Any, yard: Any) -> None:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)

    class Slow(ElementwiseMoveOperation):
        def _copy(self, *arguments: Any) -> None:
            clock.pass_by(70)
            super()._copy(*arguments)

    tensor = yard.over(shelf([1.0] * 24), Layout.parse("(2,(3,4)):(1,(2,6))"))
    with registered_move_operation(shelf, box, Slow), profile(record_shapes=True) as profiler:
        answer = act(tensor, box([0.0] * 24))
    if isinstance(answer, sw.AwaitMove):
        answer.wait(BOUND)
    kind = act.__name__.removesuffix("_async")
    submit, complete = profiler.events()
    assert (submit.name, complete.name) == (f"{kind}.submit", f"{kind}.complete")
    for event in (submit, complete):
        assert event.implementation_type is Slow and event.carrier_type is shelf
        assert event.input_shapes == ((2, (3, 4)),) and event.completed and event.succeeded
        assert event.thread_id == threading.get_ident()
    assert (submit.duration_ns, submit.self_time_ns) == (0, 0)
    assert (complete.duration_ns, complete.self_time_ns) == (70, 70)


@pytest.mark.rule("M-36", "M-55")
@pytest.mark.parametrize("act", [sw.move_async, sw.copy_async])
def test_the_completion_includes_asynchronous_work(act: Any, yard: Any, clock: Any) -> None:
    completion = yard.Pending()

    def submit(request: Any) -> Any:
        clock.pass_by(5)
        return completion.submit(request)

    def prepare(request: Any) -> Any:
        clock.pass_by(1000)  # belongs to the validation
        return sw.carriers.extension.PreparedTransfer(lambda: submit(request))

    source, destination = yard.pair(prepare=prepare)
    tensor, target = yard.tensor(source, 1.0, 2.0), destination(2, dtype=FLOAT32)
    with profile() as profiler:
        handle = act(tensor, target)
        clock.pass_by(100)
        completion.finish()
        moved = handle.wait(BOUND)
    submitted, complete = profiler.events()
    assert (submitted.start_time_ns, submitted.duration_ns) == (1000, 5)
    assert (complete.start_time_ns, complete.duration_ns) == (1005, 100)
    assert (submitted.self_time_ns, complete.self_time_ns) == (5, 100)
    assert submitted.input_shapes is None and complete.input_shapes is None
    assert submitted.implementation_type is complete.implementation_type
    assert submitted.implementation_type is type(moved.autograd_ctx)
    assert submitted.thread_id == complete.thread_id == threading.get_ident()


@pytest.mark.rule("M-36", "M-12")
def test_a_declined_route_shows_the_copy_that_stands_in(yard: Any) -> None:
    source, destination = yard.pair(prepare=lambda _: Unsupported("no"), fallback=(True, True))
    with profile() as profiler:
        sw.move(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32))
    assert {event.implementation_type for event in profiler.events()} == {ElementwiseMoveOperation}


@pytest.mark.rule("M-36", "A-41")
def test_the_filter_names_the_exact_class_of_the_source(yard: Any) -> None:
    base = yard.subclass("Base", yard.Listed)
    derived, other = yard.subclass("Derived", base), yard.subclass("Other", yard.Listed)

    def recorded(*chosen: Any) -> list[str]:
        with profile(carriers=chosen) as profiler:
            sw.move(yard.over(derived([1.0])), other([0.0]))
        return names(profiler)

    assert recorded(derived) == recorded(other, derived) == ["move.submit", "move.complete"]
    assert recorded(base) == recorded(sw.Carrier) == recorded(other) == recorded() == []


@pytest.mark.rule("M-36", "A-45", "A-47")
def test_what_the_submission_runs_is_inside_it(yard: Any, clock: Any) -> None:
    staging = yard.elementwise("Staging")

    def submit(request: Any) -> None:
        clock.pass_by(3)
        values = sw.copy(request.tensor, staging(0, dtype=FLOAT32)).tolist()
        sw.relu(held([1.0]))
        request.destination.cells[:] = values

    source, destination = yard.subclass("S"), yard.subclass("D")
    yard.define(source, [yard.route(source, destination, submit)], True)
    yard.define(destination, [yard.route(destination, source)])

    def recorded(**options: Any) -> list[tuple[str, int | None]]:
        with profile(**options) as profiler:
            sw.move(yard.tensor(source, 1.0, 2.0), destination(2, dtype=FLOAT32))
        events = profiler.events()
        assert [event.id for event in events] == list(range(len(events)))
        assert all(event.self_time_ns == event.duration_ns for event in events)
        return [(event.name, event.parent_id) for event in events]

    assert recorded() == [
        ("move.submit", None),
        ("copy.submit", 0),
        ("copy.complete", 1),
        ("relu", 0),
        ("move.complete", 0),
    ]
    assert recorded(carriers=[ArrayCarrier]) == [("relu", None)]


@pytest.mark.rule("M-36", "A-48")
def test_moves_of_other_threads_are_not_seen() -> None:
    def move() -> None:
        sw.move(held([1.0]), room())

    with profile() as profiler:
        thread = threading.Thread(target=move)
        thread.start()
        thread.join(BOUND)
    assert profiler.events() == ()


@pytest.mark.rule("M-36")
def test_a_move_belongs_to_the_profile_it_began_in(yard: Any) -> None:
    completion = yard.Pending()
    source, destination = yard.pair(completion.submit)
    with profile() as earlier:
        handle = sw.move_async(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32))
    with profile() as later:
        completion.finish()
        handle.wait(BOUND)
    assert later.events() == () and [event.completed for event in earlier.events()] == [True, True]


@pytest.mark.rule("M-36", "M-40")
def test_an_explanation_is_no_event() -> None:
    with profile() as profiler:
        sw.explain_move(held([1.0]), room())
    assert profiler.events() == ()


@pytest.mark.rule("M-39", "A-43")
@pytest.mark.parametrize("way", ["backward", "grad", "node"])
def test_the_move_back_is_profiled_and_nothing_else_of_backward(way: str, yard: Any) -> None:
    source, destination = yard.pair()
    tensor = yard.tensor(source, 1.0, 2.0, 3.0, 4.0)
    leaf = yard.over(tensor.carrier, Layout.parse("(2,2):(1,2)"))
    moved = sw.move(leaf, destination(4, dtype=FLOAT32))
    cotangent = held([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    node: Any = moved.autograd_ctx
    with profile(record_shapes=True) as profiler:
        if way == "backward":
            moved.backward(cotangent)
        elif way == "grad":
            sw.grad(moved, [leaf], cotangent)
        else:
            node.backward(cotangent)
    submit, complete = profiler.events()
    assert (submit.name, complete.name) == ("move.submit", "move.complete")
    assert complete.parent_id == submit.id and complete.succeeded
    assert submit.carrier_type is complete.carrier_type is destination
    assert submit.implementation_type is complete.implementation_type is type(node)
    assert submit.input_shapes == complete.input_shapes == ((2, 2),)


@pytest.mark.rule("M-39", "M-55")
def test_between_other_steps_of_a_training_step_only_moves_show() -> None:
    leaf = held([1.0, 2.0])
    with profile() as profiler:
        result = sw.mul(sw.copy(leaf, room()), 3.0)
        result.backward(held([1.0, 1.0]))
    forward = ["copy.submit", "copy.complete", "mul"]
    assert names(profiler) == [*forward, "move.submit", "move.complete"]
    assert leaf.grad is not None and leaf.grad.tolist() == [3.0, 3.0]
