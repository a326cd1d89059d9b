"""CompositeProvider: the execution of a dependent carrier through the instances it composes."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, final

from typing_extensions import TypeVar

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.extension.prepared import PreparedComposite, Unsupported
from strideweave.carriers.extension.validation import require_callable

if TYPE_CHECKING:
    from strideweave.operation.capability import OperationCapability
    from strideweave.operation.invocation import ResolvedInvocation

C_contra = TypeVar("C_contra", bound=Carrier, default=Carrier, contravariant=True)


@record
@final
class CompositeProvider(Generic[C_contra]):
    """How a dependent carrier derives its reach and executes, one instance at a time.

    Attributes:
        capabilities: ``(carrier) -> Iterable[OperationCapability]``. The complete set of a
            constructed instance, none twice; taken once and frozen.
        result_carriers: ``(carrier, invocation) -> tuple[type[Carrier], ...]``. The exact carrier
            class of each result, in result order.
        prepare: ``(carrier, invocation) -> PreparedComposite | Unsupported``. Keeps every
            semantic field of the invocation, or declines before anything is submitted.

    Raises:
        TypeError: A field is not callable.

    Examples:
        >>> from strideweave import CompositeProvider, Unsupported
        >>> composite = CompositeProvider(
        ...     capabilities=lambda carrier: carrier.inner.operation_capabilities(),
        ...     result_carriers=lambda carrier, invocation: (type(carrier),),
        ...     prepare=lambda carrier, invocation: Unsupported("nothing is composed yet"),
        ... )
    """

    capabilities: "Callable[[C_contra], Iterable[OperationCapability]]"
    result_carriers: "Callable[[C_contra, ResolvedInvocation], tuple[type[Carrier], ...]]"
    prepare: "Callable[[C_contra, ResolvedInvocation], PreparedComposite | Unsupported]"

    def __post_init__(self) -> None:
        for name in ("capabilities", "result_carriers", "prepare"):
            require_callable(getattr(self, name), f"CompositeProvider: {name}")
