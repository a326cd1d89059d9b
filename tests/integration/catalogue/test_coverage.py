"""The parity matrix leaves no operation, no dtype plan and no carrier out."""

import pytest

from strideweave import CPU, Carrier, Generic
from strideweave.carriers.operation_capability import capabilities_for_carrier_class
from strideweave.carriers.operation_policy import registered_operations, resolvable_plans
from strideweave.operation import operation_definitions
from strideweave.testing import ArrayCarrier
from strideweave.testing.cases import gradient_cases, operation_cases

CATALOGUE = {spec.name for spec in registered_operations()}


@pytest.mark.rule("G-13", "O-30", "C-85")
@pytest.mark.parametrize("carrier_class", [Generic, CPU, ArrayCarrier])
def test_every_carrier_executes_every_plan(carrier_class: type[Carrier]) -> None:
    capabilities = capabilities_for_carrier_class(carrier_class)
    assert all(
        any(capability.matches(plan) for capability in capabilities) for plan in resolvable_plans()
    )


@pytest.mark.rule("G-13")
def test_every_operation_has_cases() -> None:
    defined = {definition.name for definition in operation_definitions()} & CATALOGUE
    assert {case.operation for case in operation_cases()} == CATALOGUE == defined


@pytest.mark.rule("G-13", "F-14")
def test_every_differentiable_operation_has_gradient_cases() -> None:
    differentiable = {
        definition.name
        for definition in operation_definitions()
        if definition.name in CATALOGUE and callable(definition.vjp)
    }
    assert {case.operation for case in gradient_cases()} == differentiable
