"""Declaring and querying what a carrier class, or one carrier, executes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from strideweave._late import LateModule
from strideweave.carriers.base import Carrier, require_instance
from strideweave.carriers.capability_set import NO_CAPABILITIES, CapabilitySet
from strideweave.carriers.class_record import (
    class_record,
    declare_capabilities,
    registry_lock,
    require_open,
    seal,
)
from strideweave.operation.capability import OperationCapability, UnsupportedOperationPlan
from strideweave.operation.policy import OperationPlan

if TYPE_CHECKING:
    import strideweave.carriers.dependent as dependent
else:
    dependent = LateModule("strideweave.carriers.dependent")  # imports this module


def register_operation_capabilities(
    carrier_class: type[Carrier], capabilities: Iterable[OperationCapability]
) -> None:
    """Declare the complete capability set of one exact definition-free class.

    The declaration is final: it seals the class. Subclasses inherit nothing of it.

    Args:
        carrier_class: An independent Carrier subclass without a definition.
        capabilities: Every capability once; an empty iterable declares that there is none.

    Raises:
        TypeError: The class cannot declare capabilities, has declared them or was observed; or
            ``capabilities`` is not iterable or holds something else.
        ValueError: A capability repeats.

    Examples:
        >>> from strideweave import Carrier
        >>> from strideweave.carriers.operation_capability import register_operation_capabilities
        >>> class Shelf(Carrier):
        ...     pass
        >>> register_operation_capabilities(Shelf, ())
    """
    _check_can_declare(carrier_class)
    declared = checked_capabilities(
        capabilities, f"register_operation_capabilities({carrier_class.__qualname__})"
    )
    with registry_lock:
        _check_can_declare(carrier_class)  # the iterable may have run anything
        declare_capabilities(carrier_class, declared)


def _check_can_declare(carrier_class: object) -> None:
    subject = "register_operation_capabilities: carrier_class"
    if not isinstance(carrier_class, type):
        raise TypeError(f"{subject} must be a class, got {carrier_class!r}")
    if carrier_class is Carrier or not issubclass(carrier_class, Carrier):
        raise TypeError(f"{subject} must be a subclass of Carrier, got {carrier_class!r}")
    name = carrier_class.__qualname__
    if issubclass(carrier_class, dependent.DependentCarrier):
        raise TypeError(
            f"{subject} {name} is a DependentCarrier: each of its instances reports its own "
            "capabilities when it is constructed"
        )
    record = class_record(carrier_class)
    if record.definition is not None:
        raise TypeError(
            f"{subject} {name} has a CarrierDefinition: its capabilities are the plans of its "
            "kernel patterns"
        )
    require_open(record, "a declaration of operation capabilities")


def checked_capabilities(
    capabilities: Iterable[OperationCapability], source: str
) -> tuple[OperationCapability, ...]:
    """Materialize reported capabilities once.

    Args:
        capabilities: What was reported.
        source: What reported it, for messages.

    Returns:
        The entries, in the order reported.

    Raises:
        TypeError: They are not iterable, or an entry is no OperationCapability.
        ValueError: An entry repeats.
    """
    try:
        iterator = iter(capabilities)
    except TypeError as error:
        raise TypeError(
            f"{source} must give an iterable of OperationCapability, got {capabilities!r}"
        ) from error
    entries = tuple(iterator)
    seen: set[OperationCapability] = set()
    for position, entry in enumerate(entries):
        if not isinstance(entry, OperationCapability):
            raise TypeError(
                f"{source}: entry {position} must be an OperationCapability, got {entry!r}"
            )
        if entry in seen:
            raise ValueError(f"{source}: entry {position} repeats {entry!r}")
        seen.add(entry)
    return entries


def capabilities_for_carrier_class(
    carrier_class: type, operation: str | None = None
) -> tuple[OperationCapability, ...]:
    """List what an exact class executes, in deterministic order; the first query seals it.

    Args:
        carrier_class: Any class. Carrier, DependentCarrier and classes that are no carriers
            execute nothing, and the reach of a dependent class belongs to its instances.
        operation: Restricts the list to one operation.

    Returns:
        The capabilities; empty for an operation that is not served.

    Raises:
        TypeError: ``carrier_class`` is not a class.

    Examples:
        >>> from strideweave import Carrier
        >>> from strideweave.carriers.operation_capability import capabilities_for_carrier_class
        >>> capabilities_for_carrier_class(Carrier)
        ()
    """
    return _class_set(carrier_class, "capabilities_for_carrier_class").of(operation)


def matching_capability(carrier_class: type, plan: OperationPlan) -> OperationCapability | None:
    """Find the capability of an exact class that is exactly a plan.

    Args:
        carrier_class: Any class.
        plan: A resolved dtype plan.

    Returns:
        The match, or None.

    Raises:
        TypeError: ``carrier_class`` is not a class, or ``plan`` no OperationPlan.

    Examples:
        >>> from strideweave import Carrier, DType
        >>> from strideweave.carriers.operation_capability import matching_capability
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> matching_capability(Carrier, resolve_operation_plan("relu", DType.Float32)) is None
        True
    """
    held = _class_set(carrier_class, "matching_capability")
    return held.match(_checked_plan(plan, "matching_capability"))


def supports_operation_plan(carrier_class: type, plan: OperationPlan) -> bool:
    """Tell whether an exact class executes exactly a plan.

    Args:
        carrier_class: Any class.
        plan: A resolved dtype plan.

    Returns:
        True when a capability agrees with it in every field.

    Raises:
        TypeError: ``carrier_class`` is not a class, or ``plan`` no OperationPlan.

    Examples:
        >>> from strideweave import Carrier, DType
        >>> from strideweave.carriers.operation_capability import supports_operation_plan
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> supports_operation_plan(Carrier, resolve_operation_plan("relu", DType.Float32))
        False
    """
    return matching_capability(carrier_class, plan) is not None


def unsupported_plan_reason(carrier_class: type, plan: OperationPlan) -> str | None:
    """Say why an exact class does not execute a plan.

    Args:
        carrier_class: Any class.
        plan: A resolved dtype plan.

    Returns:
        A sentence that names class and operation, or None when the class executes the plan.

    Raises:
        TypeError: ``carrier_class`` is not a class, or ``plan`` no OperationPlan.

    Examples:
        >>> from strideweave import Carrier, DType
        >>> from strideweave.carriers.operation_capability import unsupported_plan_reason
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> unsupported_plan_reason(Carrier, resolve_operation_plan("relu", DType.Float32))
        "Carrier executes no 'relu'"
    """
    held = _class_set(carrier_class, "unsupported_plan_reason")
    checked = _checked_plan(plan, "unsupported_plan_reason")
    return _reason(carrier_class, held, checked)


def require_capability(carrier_class: type, plan: OperationPlan) -> OperationCapability:
    """Give the capability of an exact class that is exactly a plan.

    Args:
        carrier_class: Any class.
        plan: A resolved dtype plan.

    Returns:
        The match.

    Raises:
        TypeError: ``carrier_class`` is not a class, or ``plan`` no OperationPlan.
        UnsupportedOperationPlan: The class does not execute the plan.

    Examples:
        >>> from strideweave import Carrier, DType
        >>> from strideweave.carriers.operation_capability import require_capability
        >>> from strideweave.carriers.operation_policy import resolve_operation_plan
        >>> require_capability(Carrier, resolve_operation_plan("relu", DType.Float32))
        Traceback (most recent call last):
        strideweave.operation.capability.UnsupportedOperationPlan: Carrier executes no 'relu'
    """
    held = _class_set(carrier_class, "require_capability")
    checked = _checked_plan(plan, "require_capability")
    return _found(held, checked, _reason(carrier_class, held, checked))


def instance_capabilities(
    carrier: Carrier, operation: str | None
) -> tuple[OperationCapability, ...]:
    """Answer ``carrier.operation_capabilities``."""
    return _instance_set(carrier, "operation_capabilities").of(operation)


def instance_match(carrier: Carrier, plan: OperationPlan) -> OperationCapability | None:
    """Find the capability behind ``carrier.supports_operation_plan``."""
    held = _instance_set(carrier, "supports_operation_plan")
    return held.match(_checked_plan(plan, "supports_operation_plan"))


def instance_reason(carrier: Carrier, plan: OperationPlan) -> str | None:
    """Answer ``carrier.unsupported_plan_reason``."""
    held = _instance_set(carrier, "unsupported_plan_reason")
    return _instance_reason(carrier, held, _checked_plan(plan, "unsupported_plan_reason"))


def require_on_instance(carrier: Carrier, plan: OperationPlan) -> OperationCapability:
    """Answer ``carrier.require_operation_plan``."""
    held = _instance_set(carrier, "require_operation_plan")
    checked = _checked_plan(plan, "require_operation_plan")
    return _found(held, checked, _instance_reason(carrier, held, checked))


def _class_set(carrier_class: object, query: str) -> CapabilitySet:
    if not isinstance(carrier_class, type):
        raise TypeError(f"{query}: carrier_class must be a class, got {carrier_class!r}")
    roots = (Carrier, dependent.DependentCarrier)
    if not issubclass(carrier_class, Carrier) or carrier_class in roots:
        return NO_CAPABILITIES
    return seal(carrier_class, "a query of its capabilities").capabilities


def _instance_set(carrier: object, query: str) -> CapabilitySet:
    return require_instance(carrier, query)._capability_set()


def _checked_plan(plan: object, query: str) -> OperationPlan:
    if not isinstance(plan, OperationPlan):
        raise TypeError(
            f"{query}: plan must be an OperationPlan, got {plan!r} ({type(plan).__qualname__})"
        )
    return plan


def _found(held: CapabilitySet, plan: OperationPlan, reason: str | None) -> OperationCapability:
    found = held.match(plan)
    if found is None:
        raise UnsupportedOperationPlan(reason)
    return found


def _instance_reason(carrier: Carrier, held: CapabilitySet, plan: OperationPlan) -> str | None:
    reason, remedy = _reason(type(carrier), held, plan), carrier._execution_remedy()
    return reason if reason is None or remedy is None else f"{reason}; {remedy}"


def _reason(carrier_class: type, held: CapabilitySet, plan: OperationPlan) -> str | None:
    if held.match(plan) is not None:
        return None
    name = carrier_class.__qualname__
    if not held.of(plan.operation):
        return f"{name} executes no {plan.operation!r}"
    return f"{name} executes {plan.operation!r}, but not {_described(plan)}"


def _described(plan: OperationPlan) -> str:
    operands = ", ".join(
        f"{'weak scalar' if operand.dtype is None else operand.dtype.name} as "
        f"{operand.convert_to.name}"
        for operand in plan.operands
    )
    accumulation = "" if plan.accumulation is None else f", {plan.accumulation.value}"
    if plan.accumulator_dtype is not None:
        accumulation += f" in {plan.accumulator_dtype.name}"
    return f"({operands}) in {plan.compute.value}{accumulation}, giving {plan.output.name}"
