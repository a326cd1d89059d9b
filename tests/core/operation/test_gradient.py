"""Backward of operations with a definition."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import NON_DIFFERENTIABLE, DType, Layout, ResultSpec, Shape, Stride, Tensor
from strideweave.carriers.extension import ProviderResult
from strideweave.carriers.operation_policy import (
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationPlan,
)
from strideweave.operation import ResolvedInvocation

VECTOR = Layout(Shape(2), Stride(1))


def double_cotangent(context: Any, cotangents: Any) -> Any:
    (cotangent,) = cotangents
    fresh = cotangent.carrier.new_like([2.0 * cotangent[i] for i in range(cotangent.size())])
    return (Tensor(fresh, 0, cotangent.layout),)


@pytest.mark.rule("O-75", "O-76")
def test_the_operation_becomes_the_node_and_the_vjp_runs(harness: Any) -> None:
    seen: list[Any] = []

    def vjp(context: Any, cotangents: Any) -> Any:
        seen.append((context, cotangents, sw.is_grad_enabled()))
        return double_cotangent(context, cotangents)

    operation, tensor = harness.ready(vjp=vjp, saved_operands=(0,))
    result = operation(tensor)
    node = result.autograd_ctx
    assert node.inputs() == (tensor,)
    assert node.input_versions() == (((tensor.carrier, tensor.version),),)
    cotangent = harness.tensor(type(tensor.carrier), [10.0, 20.0])
    result.backward(cotangent)
    assert [tensor.grad[0], tensor.grad[1]] == [20.0, 40.0]
    ((context, cotangents, enabled),) = seen
    assert context.outputs == (result,) and context.saved_operands == (tensor,)
    assert context.invocation.definition is operation
    assert cotangents == (cotangent,) and enabled is False
    with pytest.raises(AttributeError, match="read-only"):
        context.outputs = ()


@pytest.mark.rule("O-75")
def test_a_custom_definition_checks_the_versions_it_saves_only(harness: Any) -> None:
    unsaved, tensor = harness.ready(vjp=double_cotangent)
    result = unsaved(tensor)
    assert result.autograd_ctx.input_versions() == (None,)
    tensor[0] = 5.0
    result.backward(harness.tensor(type(tensor.carrier), [1.0, 1.0]))
    saving, tensor = harness.ready(vjp=double_cotangent, saved_operands=(0,))
    result = saving(tensor)
    tensor[0] = 5.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        result.backward(harness.tensor(type(tensor.carrier), [1.0, 1.0]))
    assert tensor.grad is None


@pytest.mark.rule("O-76")
def test_a_freed_node_is_reported_before_versions(harness: Any) -> None:
    operation, tensor = harness.ready(vjp=double_cotangent, saved_operands=(0,))
    result = operation(tensor)
    ones = harness.tensor(type(tensor.carrier), [1.0, 1.0])
    result.backward(ones)
    tensor[0] = 5.0
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        result.backward(ones)


@pytest.mark.rule("O-51")
def test_released_values_that_backward_needs(harness: Any) -> None:
    operation, tensor = harness.ready(vjp=double_cotangent, saved_operands=(0,))
    result = operation(tensor)
    ones = harness.tensor(type(tensor.carrier), [1.0, 1.0])
    released = harness.tensor(type(tensor.carrier), [1.0, 1.0])
    released.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        result.autograd_ctx.backward(released)
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        result.autograd_ctx.backward(ones)


@pytest.mark.rule("O-77")
def test_a_direct_backward_checks_its_cotangent(harness: Any) -> None:
    operation, tensor = harness.ready(vjp=double_cotangent)
    node = operation(tensor).autograd_ctx
    with pytest.raises(TypeError, match="gradient must be a Tensor"):
        node.backward(3)
    with pytest.raises(ValueError, match="shape"):
        node.backward(harness.tensor(type(tensor.carrier), [1.0]))


@pytest.mark.rule("O-78")
@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (lambda t: [t], TypeError, "must return a tuple"),
        (lambda t: (3,), TypeError, "vjp entry 0 must be a Tensor or None"),
        (lambda t: (t, t), ValueError, "one entry per differentiable operand, 1, got 2"),
        (lambda t: (t[0:1],), ValueError, "shape"),
        (
            lambda t: (Tensor(t.carrier.new_like([1, 2], dtype=DType.Int32), 0, VECTOR),),
            TypeError,
            "dtype",
        ),
    ],
)
def test_faulty_answers_of_a_vjp(
    harness: Any, answer: Any, error: type[Exception], text: str
) -> None:
    operation, tensor = harness.ready(vjp=lambda context, cotangents: answer(cotangents[0]))
    result = operation(tensor)
    with pytest.raises(error, match=text):
        result.backward(harness.tensor(type(tensor.carrier), [1.0, 1.0]))
    assert tensor.grad is None


@pytest.mark.rule("O-79")
def test_a_non_differentiable_operation_attaches_no_node(harness: Any) -> None:
    operation, tensor = harness.ready(vjp=NON_DIFFERENTIABLE)
    assert operation(tensor).autograd_ctx is None
    dispatched = tensor.carrier.dispatch_op(operation.name)
    dispatched.forward(tensor)
    with pytest.raises(RuntimeError, match="not differentiable"):
        dispatched.backward(tensor)


@pytest.mark.rule("O-75")
def test_an_operand_the_schema_does_not_differentiate_records_nothing(harness: Any) -> None:
    operation, tensor = harness.ready(vjp=double_cotangent, differentiable=False)
    assert operation(tensor).autograd_ctx is None


@pytest.mark.rule("O-76")
def test_a_node_with_several_results_runs_once_with_all_cotangents(harness: Any) -> None:
    seen: list[Any] = []
    spec = ResultSpec(DType.Float32, VECTOR.shape, VECTOR)

    def resolve(call: Any) -> ResolvedInvocation:
        operand = OperandPlan(OperandRole.TENSOR, DType.Float32, DType.Float32)
        plan = OperationPlan(
            call.definition.name, (operand,), Arithmetic.BINARY32, None, None, DType.Float32
        )
        return ResolvedInvocation(call, plan, (spec, spec))

    def vjp(context: Any, cotangents: Any) -> Any:
        seen.append([None if c is None else c[0] for c in cotangents])
        return (next(c for c in cotangents if c is not None),)

    operation = harness.operation(resolve=resolve, vjp=vjp)

    def compute(invocation: Any) -> ProviderResult:
        first, second = harness.doubled(invocation), harness.doubled(invocation)
        return ProviderResult([*first.outputs, *second.outputs])

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    first, second = operation(tensor)
    assert first.autograd_ctx is second.autograd_ctx
    second.backward(harness.tensor(carrier_class, [7.0, 8.0]))
    assert seen == [[None, 7.0]]
    assert tensor.grad[1] == 8.0


@pytest.mark.rule("O-75")
def test_a_recorded_result_forms_no_reference_cycle(harness: Any) -> None:
    import gc
    import weakref

    operation, tensor = harness.ready(vjp=double_cotangent)
    gc.collect()
    gc.disable()
    try:
        result = operation(tensor)
        alive = weakref.ref(result)
        del result
        assert alive() is None
    finally:
        gc.enable()
