"""Why a move takes the way it takes, or is refused, without moving."""

from typing import cast, final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.move import validation
from strideweave.carriers.move.operations import MoveOperation, TransferMoveOperation
from strideweave.carriers.move.routes import Route, RouteKind, select_route
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.tensor.tensor import Tensor


@final
@record
class MoveExplanation:
    """What ``explain_move`` found.

    Attributes:
        source_class: The exact class of the source carrier.
        destination_class: The exact class of the destination.
        kind: ``transfer_route``, ``registered``, ``elementwise`` or ``refused``.
        route_id: The provider's route of the pair, or None.
        operation_class: The operation that copies, or None where a provider transfers.
        required_slots: How many slots the destination needs.
        allocates: Whether the move would size an empty destination.
        reverse_kind: How a gradient would come back; the same words.
        reason: Why the move is refused, or None.
    """

    source_class: type
    destination_class: type
    kind: RouteKind
    route_id: str | None
    operation_class: type[MoveOperation] | None
    required_slots: int
    allocates: bool
    reverse_kind: RouteKind
    reason: str | None

    def __str__(self) -> str:
        way: str = self.kind
        if self.reason is None and self.route_id is not None:
            way += f" {self.route_id!r}"
        elif self.reason is None and self.operation_class is not None:
            way += f" by {self.operation_class.__qualname__}"
        sizing = ", allocated by the move" if self.allocates else ""
        return "\n".join(
            [
                f"{self.source_class.__qualname__} -> {self.destination_class.__qualname__}",
                f"  {way}",
                *([] if self.reason is None else [f"  reason: {self.reason}"]),
                f"  destination: {self.required_slots} slots{sizing}",
                f"  gradient: {self.reverse_kind}",
            ]
        )


def explain_move(tensor: Tensor, destination: Carrier) -> MoveExplanation:
    """Tell which way a move or copy would take, without moving.

    Nothing is claimed, prepared or observed. A provider may still decline this very request, or
    fail, when it prepares.

    Args:
        tensor: As for ``move``.
        destination: As for ``move``; whatever is wrong with it becomes the reason.

    Returns:
        An immutable explanation whose ``str`` is readable.

    Raises:
        NotImplementedError: The Tensor has several subtensors.
        TypeError: ``tensor`` is no Tensor.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> source = ArrayCarrier(2, dtype=sw.DType.Float32)
        >>> tensor = sw.Tensor(source, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> print(sw.explain_move(tensor, ArrayCarrier(0, dtype=sw.DType.Float32)))
        ArrayCarrier -> ArrayCarrier
          elementwise by ElementwiseMoveOperation
          destination: 2 slots, allocated by the move
          gradient: elementwise
    """
    validation.check_tensor(tensor)
    source_class, given = type(tensor._carrier), cast(object, destination)
    if isinstance(given, Carrier):
        route = select_route(source_class, type(given))
        reverse = route.reversed()
    else:
        route = reverse = Route(source_class, Carrier, "refused")
    allocates, reason = False, None
    try:
        allocates = _checked(tensor, destination, route, reverse)
    except (TypeError, ValueError, RuntimeError) as refusal:
        reason = str(refusal)
    copies = route.operation_class is not TransferMoveOperation
    return MoveExplanation(
        source_class,
        type(given),
        route.kind if reason is None else "refused",
        None if route.transfer is None else route.transfer.route_id,
        route.operation_class if copies else None,
        tensor._layout.cosize,
        allocates,
        reverse.kind,
        reason,
    )


def _checked(tensor: Tensor, destination: Carrier, route: Route, reverse: Route) -> bool:
    """Apply rows 3 to 14; tell whether the destination would be sized."""
    validation.check_carriers(tensor, destination)
    validation.check_route(route)
    allocates = validation.check_extent(tensor, destination)
    if grad_mode.enabled and tensor.is_differentiable():
        validation.check_reverse(reverse)
    return allocates
