"""Definition-free carriers: the dispatch hook, bind_kernel, bind_view and own operations."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor, UnsupportedOperationPlan
from strideweave.carriers.operation_policy import resolve_operation_plan
from strideweave.operation import bind_kernel, bind_view

F = DType.Float32
VECTOR = Layout(Shape(2), Stride(1))


def hook_class(dispatch: Any, capabilities: bool = True) -> Any:
    """A definition-free carrier over a list, with this dispatch hook."""

    class Listed(sw.Carrier):
        def __init__(self, values: Any) -> None:
            super().__init__()
            self.values = list(values)

        def size(self) -> int:
            return 0 if self.is_released() else len(self.values)

        def dtype(self) -> DType:
            return F

        def get_value(self, index: Any) -> Any:
            return self.values[index]

        def set_value(self, index: Any, value: Any) -> None:
            self.values[index] = value

        def _is_mutable(self) -> bool:
            return True

        def new_like(self, values: Any, *, mutable: bool = True) -> "Listed":  # type: ignore[override]  # C-35: enough
            return Listed(values)

        def _dispatch_op(self, operation_name: str) -> Any:
            return dispatch(operation_name)

    if capabilities:
        plan = resolve_operation_plan("neg", F)
        sw.carriers.operation_capability.register_operation_capabilities(
            Listed, [sw.OperationCapability.from_plan(plan)]
        )
    return Listed


def negated(invocation: Any) -> Tensor:
    operand = invocation.operands[0]
    return Tensor(operand.carrier.new_like([-operand[0], -operand[1]]), 0, VECTOR)


def bound(name: str) -> Any:
    return bind_view(name) if name == "permute" else bind_kernel(name, negated)


@pytest.mark.rule("O-52")
def test_a_bound_kernel_runs_the_whole_pipeline() -> None:
    tensor = Tensor(hook_class(bound)([1.0, 2.0]), 0, VECTOR)
    result = sw.neg(tensor)
    assert [result[0], result[1]] == [-1.0, -2.0]
    node = result.autograd_ctx
    assert node is not None and node.inputs() == (tensor,)
    result.backward(Tensor(tensor.carrier.new_like([1.0, 10.0]), 0, VECTOR))
    assert tensor.grad is not None and tensor.grad.tolist() == [-1.0, -10.0]


@pytest.mark.rule("O-52")
def test_bind_kernel_failures() -> None:
    with pytest.raises(NotImplementedError, match="'nope'"):
        bind_kernel("nope", negated)
    with pytest.raises(TypeError, match="kernel must be callable"):
        bind_kernel("neg", 3)  # type: ignore[arg-type]  # the refusal is the point
    with pytest.raises(TypeError, match="must be a str"):
        bind_kernel(3, negated)  # type: ignore[arg-type]  # the refusal is the point


@pytest.mark.rule("O-53")
def test_bind_view_serves_views() -> None:
    tensor = Tensor(hook_class(bound)([1.0, 2.0]), 0, VECTOR)
    assert sw.permute(tensor, 0).carrier is tensor.carrier
    with pytest.raises(NotImplementedError, match="'neg' is no view"):
        bind_view("neg")
    with pytest.raises(TypeError, match="must be a str"):
        bind_view(3)  # type: ignore[arg-type]  # the refusal is the point


@pytest.mark.rule("O-50", "O-27")
def test_an_undeclared_plan_is_refused_although_the_hook_would_serve_it() -> None:
    tensor = Tensor(hook_class(bound, capabilities=False)([1.0, 2.0]), 0, VECTOR)
    with pytest.raises(UnsupportedOperationPlan, match="neg"):
        sw.neg(tensor)


@pytest.mark.rule("O-50")
@pytest.mark.parametrize("answer", [3, None, [1.0], (1.0,)])
def test_a_kernel_returns_tensors(answer: Any) -> None:
    tensor = Tensor(hook_class(lambda name: bind_kernel(name, lambda i: answer))([1, 2]), 0, VECTOR)
    with pytest.raises(TypeError, match="neg"):
        sw.neg(tensor)


@pytest.mark.rule("O-41")
def test_the_base_hook_names_the_operation() -> None:
    class Silent(sw.Carrier):
        pass

    with pytest.raises(NotImplementedError, match=r"Silent.*'neg'"):
        Silent().dispatch_op("neg")


@pytest.mark.rule("O-41")
def test_the_hook_answers_with_a_fresh_operation() -> None:
    with pytest.raises(TypeError, match=r"_dispatch_op\('neg'\) must return an Operation, got int"):
        sw.neg(Tensor(hook_class(lambda name: 3)([1.0, 2.0]), 0, VECTOR))
    kept = bind_kernel("neg", negated)
    tensor = Tensor(hook_class(lambda name: kept)([1.0, 2.0]), 0, VECTOR)
    sw.neg(tensor)
    with pytest.raises(TypeError, match="dispatched before as 'neg'"):
        sw.neg(tensor)
    assert kept._operation_name == "neg"


@pytest.mark.rule("O-40", "O-41", "G-13", "G-17")
@pytest.mark.parametrize("other", ["exp", "permute"])
def test_a_hook_that_answers_with_another_operation_is_refused(other: str) -> None:
    def made(name: str) -> Any:
        return bind_view(other) if other == "permute" else bind_kernel(other, negated)

    tensor = Tensor(hook_class(made)([1.0, 2.0]), 0, VECTOR)
    message = rf"Listed\._dispatch_op\('neg'\) returned an operation made for '{other}'"
    for use in (
        lambda: sw.neg(tensor),
        lambda: sw.operation.operation_definition("neg")(tensor),
        lambda: tensor.carrier.dispatch_op("neg"),
    ):
        with pytest.raises(TypeError, match=message):
            use()
    with pytest.raises(TypeError, match=rf"_dispatch_op\('squeeze'\).* made for '{other}'"):
        sw.squeeze(tensor, 0)


class Halve(sw.Operation):
    """An operation that a carrier wrote by itself."""

    def _forward(self, *inputs: Any) -> Tensor:
        (tensor,) = inputs
        self.ctx["factor"] = 0.5
        values = [0.5 * tensor[0], 0.5 * tensor[1]]
        return Tensor(tensor.carrier.new_like(values), 0, VECTOR)

    def backward(self, gradient: Tensor) -> Any:
        values = [self.ctx["factor"] * gradient[0], self.ctx["factor"] * gradient[1]]
        return (Tensor(gradient.carrier.new_like(values), 0, VECTOR),)


@pytest.mark.rule("O-52", "O-46", "A-25", "A-7")
def test_an_own_operation_records_and_differentiates() -> None:
    tensor = Tensor(hook_class(lambda name: Halve())([1.0, 2.0]), 0, VECTOR)
    result = sw.neg(tensor)
    node = result.autograd_ctx
    assert type(node) is Halve and node.inputs() == (tensor,)
    assert node._dispatch_carrier_class is type(tensor.carrier)
    result.backward(Tensor(tensor.carrier.new_like([2.0, 4.0]), 0, VECTOR))
    assert tensor.grad is not None and tensor.grad.tolist() == [1.0, 2.0]
    assert node.inputs() == () and node.input_versions() == () and dict(node.ctx) == {}
    with sw.no_grad():
        assert sw.neg(tensor).autograd_ctx is None


@pytest.mark.rule("O-46")
def test_a_plain_operation_without_forward_or_with_a_wrong_result() -> None:
    with pytest.raises(TypeError, match="has no _forward"):
        sw.Operation().forward()

    class Wrong(sw.Operation):
        def _forward(self, *inputs: Any) -> Any:
            return 3

    with pytest.raises(TypeError, match="_forward must return a Tensor, got int"):
        Wrong().forward()
    with pytest.raises(RuntimeError, match="no backward"):
        sw.Operation().backward(None)
