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
    prototype = carrier_class(0 if carrier_class is sw.CPU else [], dtype=dtype)
    return Tensor(prototype.new_like(values), 0, Layout.parse(notation))


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
