"""The checks of a move, in the order of the contract's table (60 §2.1, rows 1 to 14)."""

from strideweave.carriers.base import Carrier
from strideweave.carriers.extension.registration import described_apart
from strideweave.carriers.move.routes import Route
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor


def check_tensor(tensor: object) -> Tensor:
    """Refuse what is no Tensor over one carrier (rows 1 and 2).

    Returns:
        The argument.

    Raises:
        NotImplementedError: The Tensor has several subtensors.
        TypeError: It is no Tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"tensor must be a Tensor, got {type(tensor).__qualname__}; one call moves one Tensor"
        )
    require_one_subtensor(tensor, "operation execution")
    return tensor


def check_carriers(tensor: Tensor, destination: object) -> Carrier:
    """Refuse carriers that cannot take part now (rows 3 to 10).

    Returns:
        The destination.

    Raises:
        RuntimeError: A carrier is released, owned, immutable or evicted.
        TypeError: The destination is no Carrier, or has another dtype.
        ValueError: The destination is the source.
    """
    source = tensor._carrier
    name = type(source).__qualname__
    if source.is_released():
        raise RuntimeError(f"the source's {name} is released; its values are gone")
    if source.is_owned() and not source._has_owner_access():
        raise RuntimeError(
            f"the source's {name} is owned by a composite carrier or a pending move and cannot be "
            "moved directly; move the composite, or wait for the move"
        )
    if not isinstance(destination, Carrier):
        raise TypeError(
            f"destination must be a Carrier instance, got {destination!r} "
            f"({type(destination).__qualname__}); construct one, such as a CPU or FileBacked"
        )
    if destination is source:
        raise ValueError(
            f"a Tensor cannot move into its own carrier; make another {name} with "
            "carrier.allocate_like(size)"
        )
    _check_destination(destination)
    if destination.dtype() is not tensor._dtype:
        raise TypeError(
            f"the dtype must match: the Tensor has {tensor._dtype!r}, the destination "
            f"{type(destination).__qualname__} has {destination.dtype()!r}; cast the Tensor first, "
            f"or make the destination with dtype={tensor._dtype!r}"
        )
    for role, carrier in (("source", source), ("destination", destination)):
        _check_resident(role, carrier)
    return destination


def _check_destination(destination: Carrier) -> None:
    name = type(destination).__qualname__
    if destination.is_released():
        raise RuntimeError(f"the destination {name} is released; make a fresh one")
    if not destination.is_mutable():
        cause = "is owned, so it is not mutable" if destination.is_owned() else "is not mutable"
        raise RuntimeError(
            f"the destination {name} {cause} from here; move into a carrier that can be written"
        )


def _check_resident(role: str, carrier: Carrier) -> None:
    is_evicted = getattr(carrier, "is_evicted", None)
    if callable(is_evicted) and is_evicted():
        raise RuntimeError(
            f"the {role} {type(carrier).__qualname__} is evicted; promote() it before the move"
        )


def check_route(route: Route) -> None:
    """Refuse a pair without a permitted route, and an operation of other classes (rows 11, 12).

    Raises:
        NotImplementedError: The pair has no permitted route.
        TypeError: The operation moves between other classes.
    """
    if route.operation_class is None:
        raise NotImplementedError(route.refusal)
    operation_class = route.operation_class
    for role, wanted, given in (
        ("source", operation_class.source_class, route.source_class),
        ("destination", operation_class.destination_class, route.destination_class),
    ):
        if wanted is not None and wanted is not given:
            raise TypeError(
                f"{operation_class.__qualname__} requires a {described_apart(wanted, given)} "
                f"{role}, got {described_apart(given, wanted)}; register another operation for "
                f"the pair {route.pair}"
            )


def check_extent(tensor: Tensor, destination: Carrier) -> bool:
    """Refuse a destination that cannot hold the span (row 13).

    Returns:
        Whether the destination is empty and has to be sized.

    Raises:
        ValueError: The destination is too small, or the source has lost slots.
    """
    source, needed = tensor._carrier, tensor._layout.cosize
    held = source.size()
    if held < tensor._offset + needed:
        raise ValueError(
            f"the source's {type(source).__qualname__} has only {held} slots left, but the Tensor "
            f"takes {needed} from slot {tensor._offset}"
        )
    size = destination.size()
    if size >= needed:
        return False
    if size == 0 and _can_allocate(destination):
        return True
    remedy = "an empty one would be sized"
    if not _can_allocate(destination):
        remedy = f"it cannot grow: construct one with at least {needed} slots"
    raise ValueError(
        f"the destination {type(destination).__qualname__} is too small: it has {size} slots, and "
        f"layout {tensor._layout} needs {needed}; {remedy}"
    )


def _can_allocate(carrier: Carrier) -> bool:
    if carrier._class_record.storage is not None:
        return True
    return callable(getattr(carrier, "_allocate", None))


def check_reverse(reverse: Route) -> None:
    """Refuse a differentiable move whose gradient could not come back (row 14).

    Raises:
        NotImplementedError: The reverse pair has no permitted route.
    """
    if reverse.refusal is not None:
        raise NotImplementedError(
            f"the gradient of this move needs a reverse transfer route: {reverse.refusal}. A move "
            "under no_grad() needs none"
        )
