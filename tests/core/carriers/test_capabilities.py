"""Declaring and querying capabilities of exact classes and of instances."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DependentCarrier, DType, OperationCapability
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    matching_capability,
    register_operation_capabilities,
    require_capability,
    supports_operation_plan,
    unsupported_plan_reason,
)
from strideweave.carriers.operation_policy import resolve_operation_plan

FLOAT32, INT32 = DType.Float32, DType.Int32


def capability(name: str, *operands: Any) -> OperationCapability:
    return OperationCapability.from_plan(resolve_operation_plan(name, *operands))


RELU = resolve_operation_plan("relu", FLOAT32)


@pytest.mark.rule("O-26", "O-25")
def test_a_declaration_is_enumerated_in_deterministic_order(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    declared = [
        capability("relu", FLOAT32),
        capability("add", INT32, INT32),
        capability("relu", INT32),
    ]
    register_operation_capabilities(carrier_class, iter(declared))
    found = capabilities_for_carrier_class(carrier_class)
    assert [(entry.operation, entry.output) for entry in found] == [
        ("add", INT32),
        ("relu", FLOAT32),
        ("relu", INT32),
    ]
    assert capabilities_for_carrier_class(carrier_class, "relu") == found[1:]
    assert capabilities_for_carrier_class(carrier_class, "nothing") == ()
    assert carrier_class().operation_capabilities("add") == found[:1]


@pytest.mark.rule("O-26")
def test_refused_targets_in_order(workshop: Any) -> None:
    entry = [capability("relu", FLOAT32)]
    register: Any = register_operation_capabilities
    for target, message in (
        (3, "must be a class, got 3"),
        (Carrier, "must be a subclass of Carrier, got <class"),
        (int, "must be a subclass of Carrier, got <class 'int'>"),
        (DependentCarrier, "is a DependentCarrier"),
        (workshop.subclass(DependentCarrier), "is a DependentCarrier"),
        (workshop.defined(), "Shelf has a CarrierDefinition"),
    ):
        with pytest.raises(TypeError, match=message):
            register(target, entry)


@pytest.mark.rule("O-26", "G-12")
def test_a_refused_declaration_leaves_the_class_open(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    relu = capability("relu", FLOAT32)
    with pytest.raises(TypeError, match=r"register_operation_capabilities\(Shelf\) must give an"):
        register_operation_capabilities(carrier_class, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="entry 1 must be an OperationCapability, got 'relu'"):
        register_operation_capabilities(carrier_class, [relu, "relu"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="entry 2 repeats"):
        register_operation_capabilities(carrier_class, [relu, capability("exp", FLOAT32), relu])
    register_operation_capabilities(carrier_class, [relu])
    assert capabilities_for_carrier_class(carrier_class) == (relu,)


@pytest.mark.rule("O-26", "O-27")
def test_a_class_is_declared_once_and_only_before_it_is_observed(workshop: Any) -> None:
    declared, constructed, queried = (workshop.subclass() for _ in range(3))
    register_operation_capabilities(declared, ())
    constructed()
    assert capabilities_for_carrier_class(queried) == ()
    for carrier_class, observation in (
        (declared, "its declaration of operation capabilities"),
        (constructed, "the construction of an instance"),
        (queried, "a query of its capabilities"),
    ):
        with pytest.raises(TypeError, match=f"too late: the class was sealed by {observation}"):
            register_operation_capabilities(carrier_class, [capability("relu", FLOAT32)])
        with pytest.raises(TypeError, match="CarrierDefinition for Shelf comes too late"):
            workshop.defined(carrier_class=carrier_class)
        assert capabilities_for_carrier_class(carrier_class) == ()


@pytest.mark.rule("O-26")
def test_a_declaration_that_observes_its_own_class_is_refused(workshop: Any) -> None:
    carrier_class = workshop.subclass()

    def entries() -> Any:
        carrier_class()
        yield capability("relu", FLOAT32)

    with pytest.raises(TypeError, match="too late"):
        register_operation_capabilities(carrier_class, entries())


@pytest.mark.rule("O-27", "G-11")
def test_nothing_is_inherited(workshop: Any) -> None:
    base = workshop.subclass()
    register_operation_capabilities(base, [capability("relu", FLOAT32)])
    child = workshop.subclass(base)
    assert capabilities_for_carrier_class(child) == ()
    assert not supports_operation_plan(child, RELU) and supports_operation_plan(base, RELU)
    assert child().operation_capabilities() == ()


@pytest.mark.rule("O-27")
def test_roots_and_other_classes_execute_nothing_and_are_not_sealed(workshop: Any) -> None:
    for carrier_class in (Carrier, DependentCarrier, int):
        assert capabilities_for_carrier_class(carrier_class) == ()
        assert matching_capability(carrier_class, RELU) is None
    dependent = workshop.subclass(DependentCarrier)
    assert capabilities_for_carrier_class(dependent) == ()
    with pytest.raises(TypeError, match="comes too late"):
        workshop.defined(None, carrier_class=dependent, composite=workshop.composite())


@pytest.mark.rule("O-28", "O-27")
def test_queries_check_class_then_plan(workshop: Any) -> None:
    queries: list[Any] = [
        matching_capability,
        supports_operation_plan,
        unsupported_plan_reason,
        require_capability,
    ]
    for query in queries:
        with pytest.raises(TypeError, match="carrier_class must be a class, got 3"):
            query(3, "relu")
        with pytest.raises(TypeError, match=r"plan must be an OperationPlan, got 'relu' \(str\)"):
            query(workshop.subclass(), "relu")
    with pytest.raises(TypeError, match="must be a class"):
        capabilities_for_carrier_class("CPU")  # type: ignore[arg-type]


@pytest.mark.rule("O-27", "O-28")
def test_reasons_name_class_and_operation(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    register_operation_capabilities(carrier_class, [capability("relu", INT32)])
    assert unsupported_plan_reason(carrier_class, resolve_operation_plan("relu", INT32)) is None
    assert unsupported_plan_reason(carrier_class, resolve_operation_plan("exp", FLOAT32)) == (
        "Shelf executes no 'exp'"
    )
    reason = unsupported_plan_reason(carrier_class, RELU)
    assert reason == (
        "Shelf executes 'relu', but not (Float32 as Float32) in binary32, giving Float32"
    )
    with pytest.raises(sw.UnsupportedOperationPlan) as caught:
        require_capability(carrier_class, RELU)
    assert str(caught.value) == reason and isinstance(caught.value, NotImplementedError)
    with pytest.raises(sw.UnsupportedOperationPlan, match="weak scalar as Int32"):
        carrier = workshop.subclass()
        register_operation_capabilities(carrier, [capability("mul", FLOAT32, FLOAT32)])
        require_capability(carrier, resolve_operation_plan("mul", INT32, 3))
    with pytest.raises(sw.UnsupportedOperationPlan, match="floating in Float64"):
        carrier = workshop.subclass()
        register_operation_capabilities(carrier, [capability("reduce_sum", FLOAT32)])
        require_capability(
            carrier, resolve_operation_plan("reduce_sum", FLOAT32, accumulator_dtype=DType.Float64)
        )


@pytest.mark.rule("O-29")
def test_instances_answer_from_their_exact_class(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    relu = capability("relu", FLOAT32)
    register_operation_capabilities(carrier_class, [relu])
    carrier = carrier_class()
    assert carrier.supports_operation_plan(RELU) and carrier.unsupported_plan_reason(RELU) is None
    assert carrier.require_operation_plan(RELU) == relu
    other = resolve_operation_plan("relu", INT32)
    assert not carrier.supports_operation_plan(other)
    assert carrier.unsupported_plan_reason(other) == unsupported_plan_reason(carrier_class, other)
    with pytest.raises(sw.UnsupportedOperationPlan, match="Shelf executes 'relu', but not"):
        carrier.require_operation_plan(other)
    for method in ("supports_operation_plan", "unsupported_plan_reason", "require_operation_plan"):
        with pytest.raises(TypeError, match="plan must be an OperationPlan"):
            getattr(carrier, method)("relu")


@pytest.mark.rule("O-29", "O-40")
def test_methods_called_on_the_class_are_type_errors(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    for method in ("supports_operation_plan", "unsupported_plan_reason", "require_operation_plan"):
        with pytest.raises(TypeError):
            getattr(carrier_class, method)(RELU)
    with pytest.raises(TypeError, match="needs a Carrier instance, got 'relu'"):
        carrier_class.operation_capabilities("relu")
    with pytest.raises(TypeError):
        carrier_class.operation_capabilities()
    with pytest.raises(TypeError):
        carrier_class.dispatch_op("add")
    with pytest.raises(TypeError, match="dispatch_op needs a Carrier instance, got 3"):
        carrier_class.dispatch_op(3, "add")


@pytest.mark.rule("O-27")
def test_the_first_instance_query_seals_too(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    carrier = carrier_class()
    assert carrier.operation_capabilities() == ()
    with pytest.raises(TypeError, match="too late"):
        register_operation_capabilities(carrier_class, [])
