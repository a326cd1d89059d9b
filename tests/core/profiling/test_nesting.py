"""Executions inside executions."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Tensor, profile
from strideweave.testing import ArrayCarrier

Make = Callable[..., Tensor]


@pytest.mark.rule("A-45", "A-47")
def test_an_execution_inside_another_is_its_child(shelves: Any, f: Make) -> None:
    shelf = shelves.delegating()
    with profile() as profiler:
        sw.relu(shelves.put(shelf, f(2)))
    outer, inner = profiler.events()
    assert (outer.id, outer.parent_id, outer.carrier_type) == (0, None, shelf)
    assert (inner.id, inner.parent_id, inner.carrier_type) == (1, 0, ArrayCarrier)
    assert outer.self_time_ns == outer.duration_ns - inner.duration_ns
    assert 0 < outer.self_time_ns < outer.duration_ns
    assert inner.self_time_ns == inner.duration_ns
    assert outer.start_time_ns <= inner.start_time_ns
    assert inner.start_time_ns + inner.duration_ns <= outer.start_time_ns + outer.duration_ns


@pytest.mark.rule("A-41", "A-47")
def test_unrecorded_executions_are_skipped_but_their_time_counts(
    shelves: Any, f: Make, clock: Callable[..., None]
) -> None:
    shelf = shelves.delegating()

    def events(carriers: Any) -> list[tuple[type, int | None, int, int]]:
        clock(100, 110, 125, 140)  # the outer one starts, the inner one, then they end
        with profile(carriers=carriers) as profiler:
            sw.relu(shelves.put(shelf, f(2)))
        return [
            (event.carrier_type, event.parent_id, event.duration_ns, event.self_time_ns)
            for event in profiler.events()
        ]

    assert events(None) == [(shelf, None, 40, 25), (ArrayCarrier, 0, 15, 15)]
    assert events({ArrayCarrier}) == [(ArrayCarrier, None, 15, 15)]
    assert events({shelf}) == [(shelf, None, 40, 25)]
    assert events(set()) == []


@pytest.mark.rule("A-45", "A-47")
def test_the_parent_is_the_nearest_recorded_execution(shelves: Any, f: Make) -> None:
    outermost, middle = shelves.delegating(), shelves.delegating()
    tensor = shelves.put(outermost, shelves.put(middle, f(2)))
    with profile(carriers=[outermost, ArrayCarrier], record_shapes=True) as profiler:
        sw.relu(tensor)
        sw.exp(tensor)
    found = [(event.id, event.parent_id, event.name) for event in profiler.events()]
    assert found == [(0, None, "relu"), (1, 0, "relu"), (2, None, "exp"), (3, 2, "exp")]


@pytest.mark.rule("A-47")
def test_only_immediate_children_are_subtracted(
    shelves: Any, f: Make, clock: Callable[..., None]
) -> None:
    outermost, middle = shelves.delegating(), shelves.delegating()
    tensor = shelves.put(outermost, shelves.put(middle, f(2)))
    clock(0, 3, 10, 20, 50, 100)
    with profile() as profiler:
        sw.relu(tensor)
    times = [(event.duration_ns, event.self_time_ns) for event in profiler.events()]
    assert times == [(100, 53), (47, 37), (10, 10)]


@pytest.mark.rule("A-47")
def test_several_children_are_subtracted(shelves: Any, f: Make, clock: Callable[..., None]) -> None:
    def kernel(invocation: Any) -> Any:
        first = sw.exp(f(2))
        return shelves.put(shelf, sw.neg(first).detach())

    shelf = shelves.with_kernel(kernel)
    clock(0, 10, 15, 20, 27, 30)
    with profile() as profiler:
        sw.relu(shelves.put(shelf, f(2)))
    found = [(event.parent_id, event.name, event.self_time_ns) for event in profiler.events()]
    assert found == [(None, "relu", 18), (0, "exp", 5), (0, "neg", 7)]


@pytest.mark.rule("A-43", "A-47")
def test_a_failing_child_leaves_the_order_intact(shelves: Any, f: Make) -> None:
    def kernel(invocation: Any) -> Any:
        with pytest.raises(ValueError, match="compatible"):
            sw.add(f(2), f(3))
        return shelves.put(shelf, sw.neg(f(2)).detach())

    shelf = shelves.with_kernel(kernel)
    with profile() as profiler:
        sw.relu(shelves.put(shelf, f(2)))
        sw.exp(f(2))
    found = [(event.parent_id, event.name, event.succeeded) for event in profiler.events()]
    assert found == [
        (None, "relu", True),
        (0, "add", False),
        (0, "neg", True),
        (None, "exp", True),
    ]


@pytest.mark.rule("A-42", "A-47")
def test_a_profiler_inside_an_execution_sees_what_is_inside(shelves: Any, f: Make) -> None:
    profiler = profile()

    def kernel(invocation: Any) -> Any:
        with profiler:
            inner = sw.exp(f(2))
        return shelves.put(shelf, inner.detach())

    shelf = shelves.with_kernel(kernel)
    sw.relu(shelves.put(shelf, f(2)))
    assert [(event.name, event.parent_id) for event in profiler.events()] == [("exp", None)]
