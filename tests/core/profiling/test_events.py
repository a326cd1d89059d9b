"""What is an event, and what it says."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import ProfilerEvent, Tensor, profile
from strideweave.testing import ArrayCarrier

Make = Callable[..., Tensor]


def recorded(work: Callable[[], object], **options: Any) -> tuple[ProfilerEvent, ...]:
    with profile(**options) as profiler:
        work()
    return profiler.events()


def names(work: Callable[[], object]) -> list[str]:
    return [event.name for event in recorded(work)]


def shapes(work: Callable[[], object]) -> list[Any]:
    return [event.input_shapes for event in recorded(work, record_shapes=True)]


@pytest.mark.rule("A-45", "A-46")
def test_an_event_describes_the_execution(f: Make) -> None:
    before = time.perf_counter_ns()
    first, second = recorded(lambda: (sw.relu(f(2)), sw.permute(f(2, 3), 1, 0)))
    after = time.perf_counter_ns()
    assert (first.id, second.id) == (0, 1)
    assert (first.name, second.name) == ("relu", "permute")
    for event in (first, second):
        assert event.parent_id is None
        assert event.carrier_type is ArrayCarrier
        assert issubclass(event.implementation_type, sw.Operation)
        assert event.input_shapes is None
        assert before <= event.start_time_ns
        assert event.start_time_ns + event.duration_ns <= after
        assert event.self_time_ns == event.duration_ns > 0
        assert event.thread_id == threading.get_ident()
        assert event.succeeded is True and event.completed is True
    assert first.start_time_ns + first.duration_ns <= second.start_time_ns
    assert first.implementation_type is not second.implementation_type


@pytest.mark.rule("A-45", "A-49", "S-19")
@pytest.mark.parametrize(("record", "count"), [(ProfilerEvent, 12), (sw.ProfilerAggregate, 9)])
def test_records_take_all_fields_unchecked_and_are_frozen(record: Any, count: int) -> None:
    made = record(*range(count))
    fields = record.__slots__
    assert record(**dict(zip(fields, range(count), strict=True))) == made
    assert [getattr(made, name) for name in fields] == list(range(count))
    with pytest.raises(TypeError, match="missing"):
        record(*range(count - 1))
    with pytest.raises(AttributeError, match="name is read-only"):
        made.name = "other"
    with pytest.raises(AttributeError):
        made.extra = 1


@pytest.mark.rule("A-45")
def test_fields_in_order() -> None:
    text = (
        "id parent_id name carrier_type implementation_type input_shapes start_time_ns "
        "duration_ns self_time_ns thread_id succeeded completed"
    )
    assert list(ProfilerEvent.__match_args__) == text.split()


@pytest.mark.rule("A-46", "Y-30")
def test_a_reduction_is_one_event_with_the_shape_of_its_operand(f: Make) -> None:
    (event,) = recorded(lambda: sw.reduce_sum(f(2, 3), "a b -> a"), record_shapes=True)
    assert (event.name, event.input_shapes) == ("reduce_sum", ((2, 3),))


@pytest.mark.rule("A-46", "Y-31")
def test_only_tensors_have_a_shape(f: Make) -> None:
    assert shapes(lambda: sw.mul(f(2, 3), 2.0)) == [((2, 3), None)]
    assert shapes(lambda: sw.pow(2.0, f(2, 3))) == [(None, (2, 3))]


@pytest.mark.rule("A-46")
def test_shapes_are_nested_tuples_of_extents(f: Make) -> None:
    nested = f(2, (3, 4))
    ((shape,),) = shapes(lambda: sw.relu(nested))
    assert shape == (2, (3, 4))
    assert type(shape) is tuple and type(shape[1]) is tuple
    assert shapes(lambda: sw.relu(f())) == [((),)]
    assert shapes(lambda: nested.carrier.dispatch_op("add").forward(nested, nested)) == [
        ((2, (3, 4)), (2, (3, 4)))
    ]


@pytest.mark.rule("A-46")
def test_options_have_no_entry(f: Make) -> None:
    options = sw.carriers.operation_policy.operation_execution_options(
        "reduce_sum", accumulator_dtype=sw.DType.Float32
    )
    tensor = f(1, 2)
    operation = tensor.carrier.dispatch_op("reduce_sum")
    assert shapes(lambda: operation.forward(tensor, options=options)) == [((1, 2),)]


@pytest.mark.rule("A-44")
def test_names_are_dispatch_names(f: Make) -> None:
    assert names(lambda: sw.gt(f(2), f(2))) == ["lt"]
    assert names(lambda: f(2, 3)[0:1, 1:3]) == ["view"]
    assert names(lambda: sw.mul(2.0, f(2))) == ["mul"]
    assert names(lambda: sw.sort(f(3))) == ["_sort_values", "_sort_indices"]


@pytest.mark.rule("A-44", "O-67")
def test_views_that_the_pipeline_makes_are_no_events(f: Make) -> None:
    assert names(lambda: sw.add(f(2, 1), f(2, 3))) == ["add"]


@pytest.mark.rule("A-44", "O-67")
def test_views_made_for_an_operation_of_the_carrier_are_no_events(shelves: Any, f: Make) -> None:
    class Total(sw.Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            return Tensor(inputs[0].carrier.new_like([0.0, 0.0]), 0, sw.Layout.parse("2:1"))

    tensor = shelves.put(shelves.shelf_class(lambda name: Total()), f(2, 3))
    (event,) = recorded(lambda: sw.reduce_sum(tensor, "a b -> a"))
    assert (event.name, event.implementation_type) == ("reduce_sum", Total)
    assert event.succeeded is True


@pytest.mark.rule("A-51")
def test_times_are_host_wall_time(shelves: Any, f: Make) -> None:
    def kernel(invocation: Any) -> Any:
        time.sleep(0.002)
        return shelves.put(shelf_class, f(2))

    shelf_class = shelves.with_kernel(kernel)
    (event,) = recorded(lambda: sw.relu(shelves.put(shelf_class, f(2))))
    assert event.duration_ns >= 2_000_000
