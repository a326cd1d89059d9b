"""KernelPack: further kernels for one exact independent carrier class."""

from collections.abc import Iterable
from typing import Generic, final

from typing_extensions import TypeVar

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.extension.interface import KernelExecutionInterface, require_interface
from strideweave.carriers.extension.patterns import KernelPattern, require_patterns
from strideweave.carriers.extension.validation import require_name, set_fields

C = TypeVar("C", bound=Carrier, default=Carrier)
InterfaceT = TypeVar("InterfaceT", bound=KernelExecutionInterface, default=KernelExecutionInterface)


@record
@final
class KernelPack(Generic[C, InterfaceT]):
    """An extension pack of kernel patterns; ``register_kernel_pack`` attaches it.

    Attributes:
        namespace: Who ships the pack.
        version: Its version; ``(namespace, version)`` is unique per target class.
        carrier_class: The exact definition-backed independent class with a kernel provider.
        execution_interface: Its type and version must be those of that provider's interface.
        patterns: At least one pattern, each ``kernel_id`` once.

    Raises:
        TypeError: A field or entry has the wrong type.
        ValueError: ``namespace``, ``version`` or ``patterns`` is empty, or a ``kernel_id``
            repeats.

    Examples:
        >>> from strideweave import Carrier, KernelExecutionInterface, KernelPack
        >>> from strideweave.carriers.extension import reference_pattern
        >>> from strideweave.operation import operation_definition
        >>> class Slab(Carrier):
        ...     pass
        >>> patterns = [reference_pattern(operation_definition("relu"), preference=1)]
        >>> pack = KernelPack("acme.slow", "1.2", Slab, KernelExecutionInterface("1"), patterns)
        >>> pack.patterns[0].kernel_id
        'reference:relu'
    """

    namespace: str
    version: str
    carrier_class: type[C]
    execution_interface: InterfaceT
    patterns: tuple[KernelPattern[InterfaceT], ...]

    def __init__(
        self,
        namespace: str,
        version: str,
        carrier_class: type[C],
        execution_interface: InterfaceT,
        patterns: Iterable[KernelPattern[InterfaceT]],
    ) -> None:
        for label, value in (("namespace", namespace), ("version", version)):
            if not isinstance(value, str):
                raise TypeError(f"KernelPack: {label} must be a str, got {value!r}")
        if not isinstance(carrier_class, type) or not issubclass(carrier_class, Carrier):
            raise TypeError(
                f"KernelPack: carrier_class must be a Carrier class, got {carrier_class!r}"
            )
        require_interface(execution_interface, "KernelPack: execution_interface")
        entries = require_patterns(patterns, "KernelPack: patterns")
        if not entries:
            raise ValueError("KernelPack: patterns must hold at least one KernelPattern")
        set_fields(
            self,
            namespace=require_name(namespace, "KernelPack: namespace"),
            version=require_name(version, "KernelPack: version"),
            carrier_class=carrier_class,
            execution_interface=execution_interface,
            patterns=entries,
        )
