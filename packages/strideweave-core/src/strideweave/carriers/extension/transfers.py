"""Transfer routes between two exact carrier classes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, cast, final

from typing_extensions import TypeVar

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import is_concrete_carrier_class
from strideweave.carriers.extension.prepared import PreparedTransfer, Unsupported
from strideweave.carriers.extension.validation import (
    require_callable,
    require_instance,
    require_name,
    set_fields,
)
from strideweave.dtype import DType
from strideweave.layout import Layout

if TYPE_CHECKING:
    from strideweave.tensor.tensor import Tensor

S = TypeVar("S", bound=Carrier, default=Carrier)
D = TypeVar("D", bound=Carrier, default=Carrier)
S_co = TypeVar("S_co", bound=Carrier, default=Carrier, covariant=True)
D_co = TypeVar("D_co", bound=Carrier, default=Carrier, covariant=True)
S_contra = TypeVar("S_contra", bound=Carrier, default=Carrier, contravariant=True)
D_contra = TypeVar("D_contra", bound=Carrier, default=Carrier, contravariant=True)


@record
@final
class TransferRequest(Generic[S_co, D_co]):
    """One move that a route may serve; the framework makes it.

    The transfer covers source slots ``tensor.offset`` to ``tensor.offset + physical_span`` and
    writes destination slots ``0`` to ``physical_span``.

    Attributes:
        tensor: The Tensor that moves.
        destination: The carrier it moves to.
        source_class: Exact class of ``tensor.carrier``.
        destination_class: Exact class of ``destination``.
        dtype: The dtype of both carriers.
        layout: The Tensor's own layout, which the moved Tensor keeps.
        physical_span: ``layout.cosize``.

    Raises:
        TypeError: It is constructed directly.
    """

    tensor: "Tensor"
    destination: D_co
    source_class: type[S_co]
    destination_class: type[D_co]
    dtype: DType
    layout: Layout
    physical_span: int

    def __init__(self, *arguments: object, **keywords: object) -> None:
        raise TypeError(
            "a TransferRequest is created by the framework, for the prepare of a TransferProvider"
        )

    @property
    def source(self) -> S_co:
        """The carrier the values come from, ``tensor.carrier``."""
        return cast("S_co", self.tensor.carrier)


def transfer_request(tensor: "Tensor", destination: Carrier) -> TransferRequest:
    """Make the request for moving one Tensor into one carrier."""
    request: TransferRequest = object.__new__(TransferRequest)
    layout = tensor.layout
    set_fields(
        request,
        tensor=tensor,
        destination=destination,
        source_class=type(tensor.carrier),
        destination_class=type(destination),
        dtype=destination.dtype(),
        layout=layout,
        physical_span=layout.cosize,
    )
    return request


@record
@final
class TransferProvider(Generic[S_contra, D_contra]):
    """Prepares the transfers of one route.

    Attributes:
        prepare: ``(request) -> PreparedTransfer | Unsupported``. Validates what this request needs
            of dtype, layout, device and alignment. It changes neither carrier and starts nothing;
            an exception ends the move.

    Raises:
        TypeError: ``prepare`` is not callable.

    Examples:
        >>> from strideweave.carriers.extension import (
        ...     PreparedTransfer, TransferProvider, Unsupported
        ... )
        >>> def prepare(request):
        ...     if request.layout.stride[0] != 1:
        ...         return Unsupported("only contiguous rows are transferred")
        ...     return PreparedTransfer(lambda: None)
        >>> provider = TransferProvider(prepare)
    """

    prepare: Callable[[TransferRequest[S_contra, D_contra]], PreparedTransfer | Unsupported]

    def __post_init__(self) -> None:
        require_callable(self.prepare, "TransferProvider: prepare")


@record
@final
class TransferRoute(Generic[S, D]):
    """A directional route between two exact classes; the source's definition lists it.

    Attributes:
        source_class: The exact class moved from.
        destination_class: The exact class moved to.
        route_id: A non-empty name for explanations and messages.
        provider: Prepares the transfers.

    Raises:
        TypeError: An endpoint is no concrete Carrier subclass, or another field has the wrong
            type.
        ValueError: ``route_id`` is empty.

    Examples:
        >>> from strideweave import Carrier, TransferRoute, Unsupported
        >>> from strideweave.carriers.extension import TransferProvider
        >>> class Slab(Carrier):
        ...     pass
        >>> provider = TransferProvider(lambda request: Unsupported("not written yet"))
        >>> TransferRoute(Slab, Slab, "slab.copy", provider).route_id
        'slab.copy'
    """

    source_class: type[S]
    destination_class: type[D]
    route_id: str
    provider: TransferProvider[S, D]

    def __post_init__(self) -> None:
        for field in ("source_class", "destination_class"):
            value: object = getattr(self, field)
            if not is_concrete_carrier_class(value):
                raise TypeError(
                    f"TransferRoute: {field} must be a concrete Carrier subclass, got {value!r}"
                )
        require_instance(self.provider, TransferProvider, "TransferRoute: provider")
        object.__setattr__(self, "route_id", require_name(self.route_id, "TransferRoute: route_id"))
