"""Registering a definition for a class, and packs for its kernel provider.

Both validate everything first, and publish one new class record by one assignment under the
registry lock: a class gets all of it or nothing, and one of two racing threads wins.
"""

import inspect
from typing import Any, Final, TypeVar

from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import (
    ClassRecord,
    class_record,
    is_concrete_carrier_class,
    publish,
    registry_lock,
    require_open,
)
from strideweave.carriers.dependent import DependentCarrier
from strideweave.carriers.extension.definition import CarrierDefinition
from strideweave.carriers.extension.interface import are_compatible
from strideweave.carriers.extension.packs import KernelPack
from strideweave.carriers.extension.patterns import KernelProvider

C = TypeVar("C", bound=Carrier)


# Public members that would bypass the storage provider if a class overrode them.
_PROVIDED: Final = ("size", "dtype", "get_value", "set_value")


def register_carrier_definition(carrier_class: type[C], definition: CarrierDefinition[C]) -> None:
    """Bind a complete definition to one exact Carrier class, once and for all.

    It must come before the class's first instance and before any query, move or declaration that
    names the class. Subclasses inherit nothing of it.

    Args:
        carrier_class: A concrete subclass of Carrier. A subclass of DependentCarrier needs a
            composite provider and takes no kernels; any other class is the other way round.
        definition: The definition; the source of each of its routes is exactly ``carrier_class``.

    Raises:
        TypeError: An argument has the wrong type, a route starts at another class, the definition
            does not suit the kind of class, the class overrides what its storage provider gives, or
            it has a definition or was observed.

    Examples:
        >>> from strideweave import Carrier, CarrierDefinition, StorageProvider
        >>> from strideweave import register_carrier_definition
        >>> class Slab(Carrier):
        ...     pass
        >>> def callback(carrier, *arguments):
        ...     "Stands for the author's callbacks."
        >>> storage = StorageProvider[Slab](*[callback] * 6)
        >>> register_carrier_definition(Slab, CarrierDefinition(storage))
        >>> register_carrier_definition(Slab, CarrierDefinition(storage))
        Traceback (most recent call last):
        TypeError: Slab already has a CarrierDefinition; a class gets one, and it is never replaced
    """
    if not is_concrete_carrier_class(carrier_class):
        raise TypeError(
            "register_carrier_definition: carrier_class must be a concrete subclass of Carrier, "
            f"got {carrier_class!r}"
        )
    if type(definition) is not CarrierDefinition:
        raise TypeError(
            f"register_carrier_definition: definition of {carrier_class.__qualname__} must be a "
            f"CarrierDefinition, got {definition!r}"
        )
    _check_suitability(carrier_class, definition)
    with registry_lock:
        current = class_record(carrier_class)
        if current.definition is not None:
            raise TypeError(
                f"{carrier_class.__qualname__} already has a CarrierDefinition; a class gets one, "
                "and it is never replaced"
            )
        require_open(current, "a CarrierDefinition")
        _refuse_bypass(carrier_class)
        publish(ClassRecord(carrier_class, definition))


def _check_suitability(carrier_class: type[Carrier], definition: CarrierDefinition[Any]) -> None:
    name = carrier_class.__qualname__
    for position, route in enumerate(definition.transfers):
        if route.source_class is not carrier_class:
            raise TypeError(
                f"transfers[{position}] ({route.route_id!r}) starts at "
                f"{described_apart(route.source_class, carrier_class)}, but a definition of {name} "
                f"takes routes from exactly {described_apart(carrier_class, route.source_class)}"
            )
    if issubclass(carrier_class, DependentCarrier):
        if definition.kernels is not None:
            raise TypeError(
                f"{name} is a DependentCarrier and takes no kernels: it executes through the "
                "carriers it composes, with composite=CompositeProvider(...)"
            )
        if definition.composite is None:
            raise TypeError(
                f"{name} is a DependentCarrier and needs composite=CompositeProvider(...)"
            )
    elif definition.composite is not None:
        raise TypeError(
            f"{name} is an independent carrier and takes no composite provider: give it "
            "kernels=KernelProvider(...), or derive the class from DependentCarrier"
        )


def _refuse_bypass(carrier_class: type[Carrier]) -> None:
    for member in _PROVIDED:
        if inspect.getattr_static(carrier_class, member) is not Carrier.__dict__[member]:
            raise TypeError(
                f"{carrier_class.__qualname__} has a {member} of its own, but a class with a "
                "CarrierDefinition takes it from its StorageProvider: remove the method, or define "
                "a class that does not derive it"
            )


def described_apart(described: type, other: type) -> str:
    """Name a class by its qualified name, with the module where two names would read the same."""
    if described is other or described.__qualname__ != other.__qualname__:
        return described.__qualname__
    return f"{described.__module__}.{described.__qualname__}"


def register_kernel_pack(pack: KernelPack[Any, Any]) -> None:
    """Attach a complete kernel pack to its exact carrier class.

    It must come after the class's definition and before the class is observed.

    Args:
        pack: The pack; its class is definition-backed and independent and has a kernel provider,
            whose interface has the same type and version as the pack's.

    Raises:
        TypeError: The argument is no KernelPack, its class is not eligible or was observed, or
            the interface differs.
        ValueError: The class has a pack of the same namespace and version, or a pattern with the
            same ``kernel_id``.

    Examples:
        >>> from strideweave import CarrierDefinition, Carrier, KernelExecutionInterface
        >>> from strideweave import KernelPack, KernelProvider, StorageProvider
        >>> from strideweave import register_carrier_definition, register_kernel_pack
        >>> from strideweave.carriers.extension import reference_pattern
        >>> from strideweave.operation import operation_definition
        >>> class Slab(Carrier):
        ...     pass
        >>> def callback(carrier, *arguments):
        ...     "Stands for the author's callbacks."
        >>> storage, interface = StorageProvider(*[callback] * 6), KernelExecutionInterface("1")
        >>> definition = CarrierDefinition(storage, KernelProvider(interface))
        >>> register_carrier_definition(Slab, definition)
        >>> patterns = [reference_pattern(operation_definition("relu"))]
        >>> register_kernel_pack(KernelPack("acme.slow", "1", Slab, interface, patterns))
    """
    if type(pack) is not KernelPack:
        raise TypeError(
            f"register_kernel_pack: pack must be a KernelPack, got {pack!r} "
            f"({type(pack).__qualname__})"
        )
    with registry_lock:
        current = class_record(pack.carrier_class)
        provider = _eligible_provider(pack, current)
        require_open(current, f"the kernel pack {_identity(pack)}")
        _check_compatibility(pack, provider)
        _check_distinct(pack, provider, current)
        publish(ClassRecord(pack.carrier_class, current.definition, (*current.packs, pack)))


def _eligible_provider(pack: KernelPack[Any, Any], current: ClassRecord) -> KernelProvider[Any]:
    target = pack.carrier_class
    subject = f"the kernel pack {_identity(pack)} cannot be attached to {target.__qualname__}"
    if not is_concrete_carrier_class(target):
        raise TypeError(f"{subject}: it is no concrete subclass of Carrier")
    if issubclass(target, DependentCarrier):
        raise TypeError(
            f"{subject}: a DependentCarrier owns no kernels; attach the pack to the carrier it "
            "composes"
        )
    if current.definition is None:
        raise TypeError(
            f"{subject}: exactly this class has no CarrierDefinition; register one with a kernel "
            "provider first"
        )
    if current.definition.kernels is None:
        raise TypeError(f"{subject}: its definition is storage-only, without a kernel provider")
    return current.definition.kernels


def _check_compatibility(pack: KernelPack[Any, Any], provider: KernelProvider[Any]) -> None:
    given, expected = pack.execution_interface, provider.interface
    if not are_compatible(given, expected):
        raise TypeError(
            f"the kernel pack {_identity(pack)} is for interface "
            f"{described_apart(type(given), type(expected))} {given.version!r}, but "
            f"{pack.carrier_class.__qualname__} executes with "
            f"{described_apart(type(expected), type(given))} {expected.version!r}"
        )


def _check_distinct(
    pack: KernelPack[Any, Any], provider: KernelProvider[Any], current: ClassRecord
) -> None:
    owners = {pattern.kernel_id: "its built-in patterns" for pattern in provider.patterns}
    for other in current.packs:
        if (other.namespace, other.version) == (pack.namespace, pack.version):
            raise ValueError(
                f"{pack.carrier_class.__qualname__} already has a kernel pack {_identity(pack)}"
            )
        owners |= dict.fromkeys(
            (pattern.kernel_id for pattern in other.patterns), f"pack {_identity(other)}"
        )
    for position, pattern in enumerate(pack.patterns):
        if pattern.kernel_id in owners:
            raise ValueError(
                f"the kernel pack {_identity(pack)}: patterns[{position}] has the kernel_id "
                f"{pattern.kernel_id!r}, which {pack.carrier_class.__qualname__} has from "
                f"{owners[pattern.kernel_id]}"
            )


def _identity(pack: KernelPack[Any, Any]) -> str:
    return f"({pack.namespace!r}, {pack.version!r})"
