"""reference_pattern: a complete carrier from the operations' own references."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    NON_DIFFERENTIABLE,
    DType,
    OperandKind,
    OperandSpec,
    OperationCapability,
    OperationSchema,
    ResultSpec,
)
from strideweave.carriers.extension import reference_pattern
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import ResolvedInvocation, operation_definition

FLOAT32 = DType.Float32


@pytest.mark.rule("C-85")
def test_it_serves_every_plan_of_a_built_in_operation(workshop: Any) -> None:
    add = operation_definition("add")
    pattern = reference_pattern(add, preference=-2)
    expected = [
        OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation == "add"
    ]
    assert pattern.operation is add and list(pattern.plans) == expected
    assert (pattern.kernel_id, pattern.preference) == ("reference:add", -2)
    tensor = workshop.tensor(workshop.defined([pattern]), 1.0, 2.0)
    result = sw.add(tensor, tensor)
    assert result.tolist() == [2.0, 4.0] and type(result.carrier) is type(tensor.carrier)


@pytest.mark.rule("C-85")
def test_it_serves_only_the_plans_that_are_passed(workshop: Any) -> None:
    add = operation_definition("add")
    plans = [entry for entry in reference_pattern(add).plans if entry.output is DType.Int32]
    carrier_class = workshop.defined([reference_pattern(add, plans)])
    assert carrier_class(1, dtype=FLOAT32).operation_capabilities() == tuple(plans)
    with pytest.raises(ValueError, match="plans must hold at least one capability"):
        reference_pattern(add, [])


@pytest.mark.rule("C-85")
def test_gradients_run_on_the_carrier_itself(workshop: Any) -> None:
    names = ("add", "elementwise_mul")
    carrier_class = workshop.defined(
        [reference_pattern(operation_definition(name)) for name in names]
    )
    tensor = workshop.tensor(carrier_class, 3.0)
    sw.elementwise_mul(tensor, tensor).backward()
    assert tensor.grad.tolist() == [6.0] and type(tensor.grad.carrier) is carrier_class


def custom(workshop: Any, name: str, reference: Any) -> Any:
    def resolve(call: Any) -> ResolvedInvocation:
        operand = call.operands[0]
        spec = ResultSpec(FLOAT32, operand.shape, operand.layout)
        return ResolvedInvocation(call, workshop.plan(name), (spec,))

    schema = OperationSchema([OperandSpec("tensor", OperandKind.TENSOR)])
    return sw.define_operation(name, schema, resolve, reference, NON_DIFFERENTIABLE)


@pytest.mark.rule("C-85", "O-65")
def test_a_custom_reference_may_return_a_tensor_or_a_tuple(workshop: Any) -> None:
    answers: list[Any] = []
    definition = custom(workshop, "reference.tests", lambda invocation: answers[-1](invocation))
    plans = [workshop.capability(definition.name)]
    tensor = workshop.tensor(workshop.defined([reference_pattern(definition, plans)]), 1.0)
    for answer in (
        lambda invocation: workshop.doubled(invocation).outputs,
        lambda invocation: workshop.doubled(invocation).outputs[0],
    ):
        answers.append(answer)
        assert definition(tensor).tolist() == [2.0]
    for wrong, kind, message in (
        (lambda invocation: 3, TypeError, "must be a Tensor, got 3"),
        (lambda invocation: (3,), TypeError, "must be a Tensor, got 3"),
        (lambda invocation: (), sw.ProviderContractError, "result_count"),
    ):
        answers.append(wrong)
        with pytest.raises(kind, match=message):
            definition(tensor)


@pytest.mark.rule("C-85")
def test_refused_arguments(workshop: Any) -> None:
    with pytest.raises(TypeError, match="definition must be an OperationDefinition, got 'add'"):
        reference_pattern("add")  # type: ignore[arg-type]
    without = workshop.operation()
    with pytest.raises(ValueError, match=f"'{without.name}' has no reference"):
        reference_pattern(without, [workshop.capability(without.name)])
    unknown = custom(workshop, "reference.unknown", lambda invocation: None)
    with pytest.raises(ValueError, match=r"knows no plans of 'reference.unknown'; pass plans="):
        reference_pattern(unknown)
    with pytest.raises(ValueError, match="is a capability of 'relu'"):
        reference_pattern(unknown, [workshop.capability("relu")])
    with pytest.raises(TypeError, match="preference must be an int"):
        reference_pattern(operation_definition("add"), preference=True)
