"""What the framework knows about one exact Carrier class, and the moment it becomes final.

The record is kept in the class's own ``__dict__`` and dies with the class. Records are immutable:
each step of a class's life (a definition, a pack, a declaration, the seal) is one new record that
is published by one assignment under ``registry_lock``. So a reader needs no lock, and sees a step
completely or not at all.
"""

import inspect
from collections.abc import Iterable
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast, final

from strideweave._fork import hold_across_fork
from strideweave._late import LateModule
from strideweave._record import record
from strideweave.carriers.capability_set import CapabilitySet
from strideweave.carriers.storage_calls import StorageCalls

if TYPE_CHECKING:
    import strideweave.carriers.base as base
    import strideweave.carriers.dependent as dependent
    from strideweave.carriers.base import Carrier
    from strideweave.carriers.extension.definition import CarrierDefinition
    from strideweave.carriers.extension.packs import KernelPack
    from strideweave.carriers.extension.patterns import KernelPattern
    from strideweave.operation.capability import OperationCapability
    from strideweave.operation.policy import OperationPlan
else:
    base = LateModule("strideweave.carriers.base")
    dependent = LateModule("strideweave.carriers.dependent")

RECORD_ATTRIBUTE: Final = "_strideweave_class_record"

registry_lock: Final = RLock()
"""Held while a class record is checked and replaced; no foreign code runs under it."""
hold_across_fork(registry_lock)


_MOST_KNOWN_PLANS: Final = 1024


@record
@final
class KernelCandidate:
    """One kernel pattern of a class, and the pack it came with (None for a built-in pattern)."""

    pattern: "KernelPattern[Any]"
    pack: "KernelPack[Any, Any] | None"


@final
class ClassRecord:
    """One step in the life of one exact class; a sealed record is the last.

    Args:
        carrier_class: The exact class.
        definition: Its definition, None for a definition-free class.
        packs: Kernel packs registered so far.
        declared: The capabilities that a definition-free class declared; without them a sealed
            record has the union of the plans of all its patterns.
        sealed_by: What sealed the class, worded for messages; None while it is open.
    """

    __slots__ = (
        "_candidates",
        "capabilities",
        "carrier_class",
        "definition",
        "interface",
        "is_dependent",
        "packs",
        "patterns",
        "sealed_by",
        "storage",
    )

    def __init__(
        self,
        carrier_class: "type[Carrier]",
        definition: "CarrierDefinition[Any] | None" = None,
        packs: "tuple[KernelPack[Any, Any], ...]" = (),
        declared: CapabilitySet | None = None,
        sealed_by: str | None = None,
    ) -> None:
        self.carrier_class = carrier_class
        self.definition = definition
        self.storage = (
            None if definition is None else StorageCalls(carrier_class, definition.storage)
        )
        self.is_dependent = carrier_class._is_dependent
        kernels = None if definition is None else definition.kernels
        self.interface = None if kernels is None else kernels.interface
        self.packs = packs
        self.sealed_by = sealed_by
        self.patterns = _preparation_order(definition, packs) if sealed_by else ()
        self.capabilities = declared or CapabilitySet(
            plan for entry in self.patterns for plan in entry.pattern.plans
        )
        # By the identity of the plan, which the entry keeps alive.
        self._candidates: dict[int, tuple[OperationPlan, tuple[KernelCandidate, ...]]] = {}

    def capability(self, plan: "OperationPlan") -> "OperationCapability | None":
        """Find the class's capability that is exactly this plan."""
        return self.capabilities.match(plan)

    def candidates(self, plan: "OperationPlan") -> tuple[KernelCandidate, ...]:
        """List the patterns that serve a plan, in preparation order."""
        known = self._candidates.get(id(plan))
        if known is not None:
            return known[1]
        capability = self.capabilities.match(plan)
        if capability is None:
            return ()
        found = tuple(entry for entry in self.patterns if capability in entry.pattern.plans)
        if len(self._candidates) >= _MOST_KNOWN_PLANS:
            self._candidates.clear()
        self._candidates[id(plan)] = plan, found
        return found

    def sealed(self, observation: str) -> "ClassRecord":
        """Make the final record: all patterns in order, and the capabilities they add up to."""
        return ClassRecord(self.carrier_class, self.definition, self.packs, sealed_by=observation)


def _preparation_order(
    definition: "CarrierDefinition[Any] | None", packs: "tuple[KernelPack[Any, Any], ...]"
) -> tuple[KernelCandidate, ...]:
    """Order all patterns of a class.

    1. Descending preference.
    2. Among equals, the provider's own patterns in their order.
    3. Then packs by ``(namespace, version)``, each in its own pattern order.
    """
    provider = None if definition is None else definition.kernels
    if provider is None:
        return ()
    ordered = [KernelCandidate(pattern, None) for pattern in provider.patterns]
    for pack in sorted(packs, key=lambda pack: (pack.namespace, pack.version)):
        ordered += [KernelCandidate(pattern, pack) for pattern in pack.patterns]
    ordered.sort(key=lambda candidate: -candidate.pattern.preference)  # stable
    return tuple(ordered)


class _Uninitialized:
    """Stands for the record of an instance whose base initializer never ran."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # introspection of this object, not use of the carrier
            raise AttributeError(name)
        raise uninitialized_error()


def uninitialized_error() -> RuntimeError:
    """Word the refusal of an instance whose base initializer never ran."""
    return RuntimeError(
        "this carrier was never initialized: its class must call super().__init__() in __init__ "
        "before the instance is used"
    )


UNINITIALIZED: Final = cast(ClassRecord, _Uninitialized())
"""The record of an instance until its base initializer runs; every use is a RuntimeError."""


def class_record(carrier_class: "type[Carrier]") -> ClassRecord:
    """Look up the record of one exact class, without observing the class.

    Args:
        carrier_class: A Carrier class; nothing is inherited from its bases.

    Returns:
        The current record; a blank one when nothing was registered.
    """
    found = carrier_class.__dict__.get(RECORD_ATTRIBUTE)
    # A class built from a copy of another's namespace carries that class's record.
    if found is None or found.carrier_class is not carrier_class:
        return ClassRecord(carrier_class)
    return cast(ClassRecord, found)


def publish(record: ClassRecord) -> None:
    """Make a record the current one of its class; the caller holds ``registry_lock``."""
    type.__setattr__(record.carrier_class, RECORD_ATTRIBUTE, record)


def seal(carrier_class: "type[Carrier]", observation: str) -> ClassRecord:
    """Freeze everything that is registered for one exact class.

    Args:
        carrier_class: The class that is being observed.
        observation: What observes it, worded for messages: "the construction of an instance".

    Returns:
        The sealed record, always the same one from the first seal on.
    """
    found: ClassRecord | None = carrier_class.__dict__.get(RECORD_ATTRIBUTE)
    if found is not None and found.sealed_by and found.carrier_class is carrier_class:
        return found
    with registry_lock:
        found = class_record(carrier_class)
        if found.sealed_by is None:
            found = found.sealed(observation)
            publish(found)
    return found


def require_open(record: ClassRecord, action: str) -> None:
    """Refuse a registration that comes after the first observation.

    Raises:
        TypeError: The class is sealed; the message says what sealed it.
    """
    if record.sealed_by is not None:
        raise TypeError(
            f"{action} for {record.carrier_class.__qualname__} comes too late: the class was "
            f"sealed by {record.sealed_by}; register before the class is first constructed, "
            "queried or moved"
        )


def declare_capabilities(
    carrier_class: "type[Carrier]", capabilities: "Iterable[OperationCapability]"
) -> None:
    """Publish the complete capability set of a definition-free class, which seals it."""
    sealed_by = "its declaration of operation capabilities"
    publish(ClassRecord(carrier_class, declared=CapabilitySet(capabilities), sealed_by=sealed_by))


def is_concrete_carrier_class(value: object) -> "TypeGuard[type[Carrier]]":
    """Tell whether a value is a Carrier class of which instances can exist.

    That is a strict subclass of Carrier, other than DependentCarrier, and not abstract.
    """
    return (
        isinstance(value, type)
        and issubclass(value, base.Carrier)
        and value is not base.Carrier
        and value is not dependent.DependentCarrier
        and not inspect.isabstract(value)
    )
