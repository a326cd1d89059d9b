"""Kernel patterns, and the provider that holds the built-in ones of a carrier class."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, final

from typing_extensions import TypeVar

from strideweave._late import LateModule
from strideweave._record import record
from strideweave.carriers.extension.interface import KernelExecutionInterface, require_interface
from strideweave.carriers.extension.prepared import PreparedKernel, Unsupported
from strideweave.carriers.extension.validation import (
    require_callable,
    require_distinct,
    require_entries,
    require_instance,
    require_name,
    set_fields,
)
from strideweave.operation.capability import OperationCapability

if TYPE_CHECKING:
    import strideweave.operation.definition as definition_module
    from strideweave.operation.definition import OperationDefinition
    from strideweave.operation.invocation import ResolvedInvocation
else:
    definition_module = LateModule("strideweave.operation.definition")  # imports prepared records

InterfaceT = TypeVar("InterfaceT", bound=KernelExecutionInterface, default=KernelExecutionInterface)
InterfaceT_contra = TypeVar(
    "InterfaceT_contra",
    bound=KernelExecutionInterface,
    default=KernelExecutionInterface,
    contravariant=True,
)


@record
@final
class KernelPattern(Generic[InterfaceT_contra]):
    """One executable candidate for some dtype plans of one operation.

    A pattern is tried when the invocation's definition is ``operation`` and its plan is exactly
    one of ``plans``. Candidates prepare in descending preference, then built-in patterns in
    order, then packs by ``(namespace, version)``, each in its own order. ``Unsupported`` passes
    on to the next one; an exception ends the call.

    Attributes:
        operation: A registered definition, for example ``operation_definition("add")``.
        plans: The capabilities the pattern adds; at least one, of this operation, none twice.
        kernel_id: A name that is unique among all patterns of the carrier class.
        prepare: ``(invocation, interface) -> PreparedKernel | Unsupported``. Gets the provider's
            own interface instance; it starts nothing and changes nothing.
        preference: Higher values are tried first.

    Raises:
        TypeError: A field or entry has the wrong type.
        ValueError: ``plans`` or ``kernel_id`` is empty, a plan repeats, or it names another
            operation.

    Examples:
        >>> from strideweave import KernelPattern, OperationCapability, Unsupported
        >>> from strideweave.carriers.operation_policy import resolvable_plans
        >>> from strideweave.operation import operation_definition
        >>> plans = [plan for plan in resolvable_plans() if plan.operation == "relu"]
        >>> pattern = KernelPattern(
        ...     operation_definition("relu"),
        ...     [OperationCapability.from_plan(plan) for plan in plans],
        ...     "relu.never",
        ...     lambda invocation, interface: Unsupported("this example declines everything"),
        ... )
        >>> pattern.preference, len(pattern.plans)
        (0, 2)
    """

    operation: "OperationDefinition"
    plans: tuple[OperationCapability, ...]
    kernel_id: str
    prepare: "Callable[[ResolvedInvocation, InterfaceT_contra], PreparedKernel | Unsupported]"
    preference: int

    def __init__(
        self,
        operation: "OperationDefinition",
        plans: Iterable[OperationCapability],
        kernel_id: str,
        prepare: "Callable[[ResolvedInvocation, InterfaceT_contra], PreparedKernel | Unsupported]",
        preference: int = 0,
    ) -> None:
        require_instance(
            operation, definition_module.OperationDefinition, "KernelPattern: operation"
        )
        entries = require_entries(plans, OperationCapability, "KernelPattern: plans")
        if not isinstance(kernel_id, str):
            raise TypeError(f"KernelPattern: kernel_id must be a str, got {kernel_id!r}")
        require_callable(prepare, "KernelPattern: prepare")
        if not isinstance(preference, int) or isinstance(preference, bool):
            raise TypeError(
                f"KernelPattern: preference must be an int other than bool, got {preference!r}"
            )
        name = require_name(kernel_id, "KernelPattern: kernel_id")
        if not entries:
            raise ValueError(f"KernelPattern {name!r}: plans must hold at least one capability")
        field = f"KernelPattern {name!r}: plans"
        require_distinct(entries, lambda plan: plan, lambda plan: "the capability", field)
        for position, plan in enumerate(entries):
            if plan.operation != operation.name:
                raise ValueError(
                    f"{field}[{position}] is a capability of {plan.operation!r}, but the pattern "
                    f"serves {operation.name!r}"
                )
        set_fields(
            self,
            operation=operation,
            plans=entries,
            kernel_id=name,
            prepare=prepare,
            preference=int(preference),
        )


@record
@final
class KernelProvider(Generic[InterfaceT]):
    """The execution of one independent carrier class: its interface and built-in patterns.

    Attributes:
        interface: Handed to every ``prepare`` of the class, packs included.
        patterns: Built-in patterns, in the order in which equals are tried; may be empty.

    Raises:
        TypeError: A field or entry has the wrong type.
        ValueError: Two patterns have the same ``kernel_id``.

    Examples:
        >>> from strideweave import KernelExecutionInterface, KernelProvider
        >>> KernelProvider(KernelExecutionInterface("1")).patterns
        ()
    """

    interface: InterfaceT
    patterns: tuple[KernelPattern[InterfaceT], ...]

    def __init__(
        self, interface: InterfaceT, patterns: Iterable[KernelPattern[InterfaceT]] = ()
    ) -> None:
        require_interface(interface, "KernelProvider: interface")
        entries = require_patterns(patterns, "KernelProvider: patterns")
        set_fields(self, interface=interface, patterns=entries)


def require_patterns(
    patterns: Iterable[KernelPattern[Any]], field: str
) -> tuple[KernelPattern[Any], ...]:
    """Materialize patterns and refuse a repeated ``kernel_id``.

    Raises:
        TypeError: The value is not iterable, or an entry is no KernelPattern.
        ValueError: Two patterns have the same ``kernel_id``.
    """
    entries = require_entries(patterns, KernelPattern, field)
    require_distinct(
        entries,
        lambda pattern: pattern.kernel_id,
        lambda pattern: f"kernel_id {pattern.kernel_id!r}",
        field,
    )
    return entries
