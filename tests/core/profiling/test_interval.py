"""Where an execution begins and ends, and what is none."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Tensor, profile
from strideweave.operation import bind_kernel

Make = Callable[..., Tensor]


def names(work: Callable[[], object]) -> list[str]:
    with profile() as profiler:
        work()
    return [event.name for event in profiler.events()]


@pytest.mark.rule("A-43", "Y-33")
def test_what_a_public_function_refuses_first_is_no_event(f: Make) -> None:
    with profile() as profiler:
        with pytest.raises(TypeError, match="must be a Tensor"):
            sw.add(f(2), 3)  # type: ignore[arg-type]  # the refusal is the point
        with pytest.raises(TypeError, match="must be a Tensor"):
            sw.permute(3, 0)  # type: ignore[arg-type]  # the refusal is the point
    assert profiler.events() == ()


@pytest.mark.rule("A-43")
def test_operands_of_two_carrier_classes_are_no_event(shelves: Any, f: Make) -> None:
    other = shelves.put(shelves.delegating(), f(2))
    with profile() as profiler, pytest.raises(TypeError, match="carriers must match"):
        sw.add(f(2), other)
    assert profiler.events() == ()


@pytest.mark.rule("A-43", "Y-33")
def test_incompatible_shapes_are_a_failed_event(f: Make) -> None:
    with profile(record_shapes=True) as profiler, pytest.raises(ValueError, match="not"):
        sw.add(f(1, 2), f(1, 2, 3))
    (event,) = profiler.events()
    assert (event.name, event.succeeded, event.completed) == ("add", False, True)
    assert event.input_shapes == ((1, 2), (1, 2, 3))


@pytest.mark.rule("A-43", "Y-34")
def test_binding_by_hand_belongs_to_the_event(f: Make) -> None:
    tensor = f(2)
    with profile(record_shapes=True) as profiler, pytest.raises(TypeError, match="Tensor"):
        tensor.carrier.dispatch_op("add").forward(tensor, "x")
    (event,) = profiler.events()
    assert (event.name, event.succeeded, event.input_shapes) == ("add", False, ((2,), None))


@pytest.mark.rule("A-43")
def test_faults_before_the_execution_are_no_event(f: Make) -> None:
    tensor = f(2)
    other = sw.carriers.operation_policy.operation_execution_options("matmul")
    used = tensor.carrier.dispatch_op("relu")
    used.forward(tensor)
    with profile() as profiler:
        operation = tensor.carrier.dispatch_op("relu")
        with pytest.raises(TypeError, match="only options="):
            operation.forward(tensor, axis=1)
        with pytest.raises(ValueError, match="options were made for 'matmul'"):
            operation.forward(tensor, options=other)
        with pytest.raises(RuntimeError, match="executes once"):
            used.forward(tensor)
        with pytest.raises(NotImplementedError, match="'nope'"):
            tensor.carrier.dispatch_op("nope")
    assert profiler.events() == ()


@pytest.mark.rule("A-43")
def test_a_released_operand_is_a_failed_event(f: Make) -> None:
    tensor = f(2)
    tensor.carrier.release()
    with profile() as profiler, pytest.raises(RuntimeError, match="released"):
        sw.relu(tensor)
    assert [(event.name, event.succeeded) for event in profiler.events()] == [("relu", False)]


@pytest.mark.rule("A-43")
def test_a_missing_capability_is_a_failed_event(shelves: Any, f: Make) -> None:
    tensor = shelves.put(shelves.delegating(), f(2))
    with profile() as profiler, pytest.raises(sw.UnsupportedOperationPlan):
        sw.tanh(tensor)
    assert [(event.name, event.succeeded) for event in profiler.events()] == [("tanh", False)]


def raising(invocation: Any) -> Tensor:
    raise ZeroDivisionError


def returning_its_operand(invocation: Any) -> Any:
    return invocation.operands[0]


def returning_nothing(invocation: Any) -> Any:
    return None


BAD_KERNELS = [
    (raising, ZeroDivisionError),
    (returning_its_operand, sw.ProviderContractError),
    (returning_nothing, TypeError),
]


@pytest.mark.rule("A-43")
@pytest.mark.parametrize(("kernel", "error"), BAD_KERNELS)
def test_faults_of_the_kernel_are_failed_events(
    shelves: Any, f: Make, kernel: Any, error: type[Exception]
) -> None:
    tensor = shelves.put(shelves.with_kernel(kernel), f(2))
    with profile() as profiler, pytest.raises(error):
        sw.relu(tensor)
    assert [(event.name, event.succeeded) for event in profiler.events()] == [("relu", False)]


class Absent(sw.Operation):
    """Returns no Tensor."""

    def _forward(self, *inputs: Any) -> Any:
        return None


@pytest.mark.rule("A-43", "O-40")
def test_an_operation_of_the_carrier_is_recorded_when_it_was_dispatched(
    shelves: Any, f: Make
) -> None:
    tensor = shelves.put(shelves.shelf_class(lambda name: Absent()), f(2))
    with profile() as profiler:
        with pytest.raises(TypeError, match="must return a Tensor"):
            sw.relu(tensor)
        with pytest.raises(TypeError, match="must return a Tensor"):
            Absent().forward(tensor)
    (event,) = profiler.events()
    assert (event.name, event.implementation_type, event.succeeded) == ("relu", Absent, False)


class Kept(sw.Operation):
    """Answers with a Tensor that the test holds."""

    def __init__(self, result: Tensor) -> None:
        self.result = result

    def _forward(self, *inputs: Any) -> Tensor:
        return self.result


@pytest.mark.rule("A-43")
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "own"])
def test_the_event_ends_before_the_node_is_attached(
    shelves: Any, f: Make, monkeypatch: pytest.MonkeyPatch, bound: bool
) -> None:
    held: list[Tensor] = []
    nodes: list[object] = []

    def look_at_the_clock() -> int:
        nodes.extend(tensor.autograd_ctx for tensor in held)
        return len(nodes)

    def kernel(invocation: Any) -> Any:
        held.append(shelves.put(shelf_class, f(2)))
        return held[0]

    def dispatch(name: str) -> sw.Operation:
        return bind_kernel(name, kernel) if bound else Kept(kernel(None))

    shelf_class = shelves.shelf_class(dispatch)
    tensor = shelves.put(shelf_class, f(2))
    monkeypatch.setattr("strideweave.profiling.recorder.perf_counter_ns", look_at_the_clock)
    with profile() as profiler:
        result = sw.relu(tensor)
    assert result is held[0] and result.autograd_ctx is not None
    assert set(nodes) == {None}
    assert profiler.events()[0].succeeded is True


@pytest.mark.rule("A-43", "O-61")
def test_calling_a_definition_is_an_event_from_its_dispatch_on(workshop: Any) -> None:
    operation = workshop.operation()
    shelf = workshop.defined([workshop.pattern(operation)])
    empty = workshop.defined([])
    tensor, unsupported = workshop.tensor(shelf, 1.0, 2.0), workshop.tensor(empty, 1.0)
    with profile(record_shapes=True) as profiler:
        operation(tensor)
        with pytest.raises(sw.UnsupportedOperationPlan):
            operation(unsupported)
    (event,) = profiler.events()
    assert (event.name, event.carrier_type, event.succeeded) == (operation.name, shelf, True)
    assert event.input_shapes == ((2,),)


@pytest.mark.rule("A-43")
def test_access_lookups_and_explanations_are_no_events(f: Make) -> None:
    tensor = f(2, 3)

    def work() -> None:
        tensor[0, 1] = tensor[1, 1]
        tensor[...] = f(2, 3)
        tensor.tolist()
        tensor.detach()
        tensor.carrier.dispatch_op("relu")
        sw.explain("add", tensor, tensor)
        sw.explain(sw.relu, tensor)

    assert names(work) == []


@pytest.mark.rule("A-43", "O-83")
def test_what_runs_inside_an_explanation_is_no_event(workshop: Any, f: Make) -> None:
    def prepare(invocation: Any, interface: Any) -> Any:
        sw.relu(f(2))
        return workshop.prepare_double(invocation, interface)

    operation = workshop.operation()
    shelf = workshop.defined([workshop.pattern(operation, prepare=prepare)])
    tensor = workshop.tensor(shelf, 1.0)
    assert names(lambda: sw.explain(operation, tensor)) == []
    assert names(lambda: operation(tensor)) == [operation.name, "relu"]


@pytest.mark.rule("A-43")
def test_vjps_are_no_events(f: Make) -> None:
    lhs, rhs = f(2, 2), f(2, 2)

    def work() -> None:
        loss = sw.reduce_sum(sw.mul(sw.matmul(lhs, rhs), lhs), "a b -> 1")
        loss.backward()
        sw.relu(lhs)

    assert names(work) == ["matmul", "mul", "reduce_sum", "relu"]
    assert lhs.grad is not None


@pytest.mark.rule("A-43")
def test_vjps_by_hand_and_by_grad_are_no_events(f: Make) -> None:
    tensor = f(2)
    result = sw.mul(tensor, tensor)
    node = result.autograd_ctx
    assert node is not None
    assert names(lambda: node.backward(f(2))) == []
    assert names(lambda: sw.grad(result, [tensor], f(2))) == []
    assert names(lambda: sw.relu(tensor)) == ["relu"]


class Doubling(sw.Operation):
    """Computes with public functions, forward and backward."""

    def _forward(self, *inputs: Any) -> Tensor:
        return sw.mul(inputs[0], 2.0).detach()

    def backward(self, gradient: Any) -> tuple[Tensor]:
        return (sw.mul(gradient, 2.0),)


@pytest.mark.rule("A-43")
def test_public_functions_inside_a_vjp_are_no_events(f: Make) -> None:
    tensor = f(2)

    def work() -> None:
        result = Doubling().forward(tensor)
        result.backward(f(2))
        Tensor.backwards_traversal(f(2), Doubling().forward(tensor).autograd_ctx)

    assert names(work) == ["mul", "mul"], "of the two calls of forward"
    assert tensor.grad is not None and tensor.grad.tolist() == [4.0, 8.0]
