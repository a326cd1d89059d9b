"""How values get from one exact class to another: decided by what is registered, nothing else."""

from typing import Any, Literal, TypeAlias, final

from strideweave._record import record
from strideweave.carriers.class_record import ClassRecord, class_record
from strideweave.carriers.extension.transfers import TransferRoute
from strideweave.carriers.move.operations import (
    ElementwiseMoveOperation,
    MoveOperation,
    TransferMoveOperation,
)
from strideweave.carriers.move.registry import (
    CarrierClass,
    closed_class,
    closed_pair_text,
    pair_name,
    registered_operation,
)

RouteKind: TypeAlias = Literal["transfer_route", "registered", "elementwise", "refused"]


@final
@record
class Route:
    """The way between two exact classes, or why there is none.

    Attributes:
        source_class: The exact class of the source carrier.
        destination_class: The exact class of the destination carrier.
        kind: How the pair moves.
        operation_class: Instantiated for each move; None where the pair is refused.
        transfer: The provider's route of a ``transfer_route``, else None.
        permits_fallback: Whether values may be copied one by one when ``transfer`` declines.
        refusal: Why the pair is refused, else None.
    """

    source_class: CarrierClass
    destination_class: CarrierClass
    kind: RouteKind
    operation_class: type[MoveOperation] | None = None
    transfer: "TransferRoute[Any, Any] | None" = None
    permits_fallback: bool = False
    refusal: str | None = None

    @property
    def pair(self) -> str:
        """The pair of classes, for messages."""
        return pair_name(self.source_class, self.destination_class)

    def reversed(self) -> "Route":
        """Select the way back."""
        return select_route(self.destination_class, self.source_class)

    def fallback(self) -> "Route":
        """Give the elementwise way of the same pair."""
        return _elementwise(self.source_class, self.destination_class)


def select_route(source_class: CarrierClass, destination_class: CarrierClass) -> Route:
    """Select the way of an exact pair, without observing the classes.

    1. A TransferRoute that the source's definition declares for exactly this pair.
    2. Between definition-free classes, the registered operation.
    3. The elementwise copy, where every class with a definition permits it and neither class has
       fixed pairs.

    Args:
        source_class: The exact class moved from; nothing is inherited.
        destination_class: The exact class moved to.

    Returns:
        The way, or the refusal with its reason.
    """
    source, destination = class_record(source_class), class_record(destination_class)
    transfer = _declared(source, destination_class)
    if transfer is not None:
        has_both = source.definition is not None and destination.definition is not None
        return Route(
            source_class,
            destination_class,
            "transfer_route",
            TransferMoveOperation,
            transfer,
            permits_fallback=has_both and not _forbidding(source, destination),
        )
    if source.definition is None and destination.definition is None:
        registered = registered_operation(source_class, destination_class)
        if registered is not None:
            return Route(source_class, destination_class, "registered", registered)
    refusal = _refusal(source, destination)
    if refusal is not None:
        return Route(source_class, destination_class, "refused", refusal=refusal)
    return _elementwise(source_class, destination_class)


def _declared(
    source: ClassRecord, destination_class: CarrierClass
) -> "TransferRoute[Any, Any] | None":
    transfers = () if source.definition is None else source.definition.transfers
    return next(
        (entry for entry in transfers if entry.destination_class is destination_class), None
    )


def _elementwise(source_class: CarrierClass, destination_class: CarrierClass) -> Route:
    return Route(source_class, destination_class, "elementwise", ElementwiseMoveOperation)


def _forbidding(source: ClassRecord, destination: ClassRecord) -> list[ClassRecord]:
    """List the definition-backed classes of a pair that do not permit elementwise copies."""
    return [
        entry
        for entry in dict.fromkeys((source, destination))
        if entry.definition is not None and not entry.definition.storage.elementwise_fallback
    ]


def _refusal(source: ClassRecord, destination: ClassRecord) -> str | None:
    pair = (source.carrier_class, destination.carrier_class)
    closed = closed_class(*pair)
    if closed is not None:
        return closed_pair_text(closed, *pair)
    forbidding = _forbidding(source, destination)
    if not forbidding:
        return None
    instead = [
        entry.carrier_class for entry in forbidding if entry.carrier_class._instead_of_moving
    ]
    if instead:
        return (
            f"no permitted route for the pair {pair_name(*pair)}: {instead[0]._instead_of_moving}"
        )
    names = " and ".join(entry.carrier_class.__qualname__ for entry in forbidding)
    remedy = "set elementwise_fallback=True in its StorageProvider"
    if source.definition is not None:
        remedy = f"declare a TransferRoute for it, or {remedy}"
    return (
        f"no permitted route for the pair {pair_name(*pair)}: elementwise copies are not "
        f"permitted by {names}; {remedy}"
    )
