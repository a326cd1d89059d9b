"""Profiles of the shipped carriers."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, OperationCapability, Tensor, profile
from strideweave.carriers.operation_capability import register_operation_capabilities
from strideweave.carriers.operation_policy import resolve_operation_plan
from strideweave.operation import bind_kernel

carriers = pytest.mark.parametrize("carrier_class", [sw.Generic, sw.CPU])


def tensor(carrier_class: Any, values: list[Any], notation: str, dtype: Any = DType.Float32) -> Any:
    return Tensor(empty(carrier_class, dtype).new_like(values), 0, Layout.parse(notation))


def empty(carrier_class: Any, dtype: Any = DType.Float32) -> Any:
    arguments: dict[Any, list[Any]] = {sw.Generic: [[]], sw.CPU: [0], sw.FileBacked: []}
    return carrier_class(*arguments[carrier_class], dtype=dtype)


class Wrapper(sw.Carrier):
    """Runs ``relu`` on the carrier it holds."""

    def __init__(self, inner: sw.Carrier) -> None:
        super().__init__()
        self.inner = inner

    def size(self) -> int:
        return self.inner.size()

    def dtype(self) -> DType:
        return DType.Float32

    def get_value(self, index: Any) -> Any:
        return self.inner.get_value(index)

    def _dispatch_op(self, operation_name: str) -> sw.Operation:
        return bind_kernel(operation_name, run_inside)


def run_inside(invocation: Any) -> Tensor:
    (operand,) = invocation.operands
    result = sw.relu(Tensor(operand.carrier.inner, operand.offset, operand.layout))
    return Tensor(Wrapper(result.carrier), 0, result.layout)


register_operation_capabilities(
    Wrapper, [OperationCapability.from_plan(resolve_operation_plan("relu", DType.Float32))]
)


@pytest.mark.rule("A-43", "A-45", "A-46")
@carriers
def test_an_execution_is_one_event(carrier_class: Any) -> None:
    x = tensor(carrier_class, [1.0, 3.0, 2.0, 4.0], "(2,2):(1,2)")
    with profile(record_shapes=True) as profiler:
        sw.matmul(x, x)
        sw.softmax(x[:, 0:1], 0)
    first, second, *rest = profiler.events()
    assert (first.name, first.input_shapes) == ("matmul", ((2, 2), (2, 2)))
    assert (second.name, second.input_shapes) == ("view", ((2, 2), None))
    assert rest, "softmax is made of events"
    assert {event.carrier_type for event in profiler.events()} == {carrier_class}
    assert all(event.parent_id is None and event.succeeded for event in profiler.events())


@pytest.mark.rule("A-43")
@carriers
def test_a_fault_that_shows_in_the_kernel_is_a_failed_event(carrier_class: Any) -> None:
    x = tensor(carrier_class, [2**31 - 1], "1:1", DType.Int32)
    with profile() as profiler, pytest.raises(OverflowError):
        sw.add(x, x)
    assert [(event.name, event.succeeded) for event in profiler.events()] == [("add", False)]


@pytest.mark.rule("A-43")
@carriers
def test_a_training_step_shows_its_forward_part(carrier_class: Any) -> None:
    x = tensor(carrier_class, [1.0, 3.0, 2.0, 4.0], "(2,2):(1,2)")
    with profile() as profiler:
        sw.reduce_sum(sw.relu(sw.matmul(x, x)), "a b -> 1").backward()
    assert [event.name for event in profiler.events()] == ["matmul", "relu", "reduce_sum"]
    assert x.grad is not None


@pytest.mark.rule("A-41", "A-47")
@carriers
@pytest.mark.parametrize("filtered", ["all", "inner", "outer", "none"])
def test_a_carrier_over_another_nests(carrier_class: Any, filtered: str) -> None:
    inner = tensor(carrier_class, [1.0, -2.0], "2:1")
    x = Tensor(Wrapper(inner.carrier), 0, inner.layout)
    chosen = {"all": None, "inner": {carrier_class}, "outer": {Wrapper}, "none": ()}[filtered]
    with profile(carriers=chosen) as profiler:
        sw.relu(x)
    events = profiler.events()
    found = [(event.id, event.parent_id, event.carrier_type) for event in events]
    assert (
        found
        == {
            "all": [(0, None, Wrapper), (1, 0, carrier_class)],
            "inner": [(0, None, carrier_class)],
            "outer": [(0, None, Wrapper)],
            "none": [],
        }[filtered]
    )
    if filtered == "outer":
        assert events[0].self_time_ns < events[0].duration_ns


PAIRS = [
    (sw.CPU, sw.FileBacked, sw.CpuToFileBackedMoveOperation),
    (sw.FileBacked, sw.CPU, sw.FileBackedToCpuMoveOperation),
]


@pytest.mark.rule("M-36", "M-39", "M-55")
@pytest.mark.parametrize(("source", "destination", "implementation"), PAIRS)
@pytest.mark.parametrize("act", [sw.move, sw.copy, sw.move_async, sw.copy_async])
def test_moves_to_and_from_files_are_two_events(
    source: Any, destination: Any, implementation: Any, act: Any
) -> None:
    x = tensor(source, [1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    with profile(carriers={source}, record_shapes=True) as profiler:
        answer = act(x, empty(destination).allocate_like(4))
    if isinstance(answer, sw.AwaitMove):
        answer.wait(30.0)
    kind = act.__name__.removesuffix("_async")
    events = profiler.events()
    assert [event.name for event in events] == [f"{kind}.submit", f"{kind}.complete"]
    assert [event.parent_id for event in events] == [None, 0]
    for event in events:
        assert (event.carrier_type, event.implementation_type) == (source, implementation)
        assert event.input_shapes == ((2, 2),) and event.succeeded and event.completed
        assert event.self_time_ns == event.duration_ns
    assert events[1].start_time_ns >= events[0].start_time_ns + events[0].duration_ns


@pytest.mark.rule("M-39")
def test_a_training_step_over_a_file_shows_the_move_back() -> None:
    x = tensor(sw.CPU, [1.0, 2.0], "2:1")
    with profile() as profiler:
        moved = sw.move(x, empty(sw.FileBacked))
        sw.mul(sw.copy(moved, sw.CPU(2)), 3.0).backward(tensor(sw.CPU, [1.0, 1.0], "2:1"))
    found = [(event.name, event.carrier_type) for event in profiler.events()]
    assert found == [
        ("move.submit", sw.CPU),
        ("move.complete", sw.CPU),
        ("copy.submit", sw.FileBacked),
        ("copy.complete", sw.FileBacked),
        ("mul", sw.CPU),
        ("move.submit", sw.CPU),
        ("move.complete", sw.CPU),
        ("move.submit", sw.FileBacked),
        ("move.complete", sw.FileBacked),
    ]
    assert x.grad is not None and x.grad.tolist() == [3.0, 3.0]


@pytest.mark.rule("M-39", "C-72")
def test_moves_of_a_hierarchy_show_and_its_transitions_do_not() -> None:
    primary = tensor(sw.CPU, [1.0, -2.0], "2:1").carrier
    hierarchy = sw.Evictable(primary, empty(sw.FileBacked))
    x = Tensor(hierarchy, 0, Layout.parse("2:1"))
    with profile() as profiler:
        hierarchy.evict()
        hierarchy.promote()
        sw.copy(x, sw.CPU(2))
        hierarchy.evict()
        hierarchy.promote()
        sw.move(x, empty(sw.FileBacked))
    found = [(event.name, event.carrier_type) for event in profiler.events()]
    assert found == [
        (name, sw.Evictable)
        for name in ("copy.submit", "copy.complete", "move.submit", "move.complete")
    ]
