"""What a move asks of providers before its submission: prepared work, and a sized destination."""

from typing import final

from strideweave.carriers.base import Carrier
from strideweave.carriers.extension.callbacks import call_provider
from strideweave.carriers.extension.prepared import PreparedTransfer, Unsupported
from strideweave.carriers.extension.transfers import transfer_request
from strideweave.carriers.move.routes import Route
from strideweave.tensor.tensor import Tensor


def prepare_transfer(tensor: Tensor, destination: Carrier, route: Route) -> PreparedTransfer | None:
    """Let the provider of a route prepare this transfer (rows 15 and 16).

    Args:
        tensor: The Tensor that moves; its carrier and ``destination`` are claimed.
        destination: The carrier it moves to.
        route: A way with a provider's route.

    Returns:
        The work, which may be submitted now and never again; None where the provider declines
        and the elementwise copy may stand in.

    Raises:
        TypeError: ``prepare`` returned something else, or a record that was used before.
        NotImplementedError: The provider declines, and no copy may stand in.
        RuntimeError: Preparation changed a carrier.
    """
    transfer = route.transfer
    assert transfer is not None
    label = f"TransferProvider.prepare of the route {transfer.route_id!r}"
    before = [_Snapshot(carrier) for carrier in (tensor._carrier, destination)]
    prepared: object = call_provider(
        transfer.provider.prepare,
        (transfer_request(tensor, destination),),
        route.source_class,
        label,
        "move",
    )
    if type(prepared) is PreparedTransfer:
        prepared._claim_submission()
        work = prepared
    elif type(prepared) is Unsupported:
        if not route.permits_fallback:
            raise NotImplementedError(
                f"the route {transfer.route_id!r} of the pair {route.pair} does not transfer this "
                f"Tensor: {prepared.reason}. The elementwise copy stands in only where both "
                "classes have definitions whose storage sets elementwise_fallback=True"
            )
        work = None
    else:
        raise TypeError(
            f"{label} of the pair {route.pair} must return a PreparedTransfer or Unsupported, got "
            f"{prepared!r} ({type(prepared).__qualname__})"
        )
    for snapshot in before:
        snapshot.require_unchanged(label)
    return work


@final
class _Snapshot:
    """What preparation must leave alone about one carrier."""

    __slots__ = ("_carrier", "_state")

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._state = self._observe()

    def require_unchanged(self, label: str) -> None:
        state = self._observe()
        for name, before, after in zip(
            ("version", "size", "release state"), self._state, state, strict=True
        ):
            if before != after:
                raise RuntimeError(
                    f"{label} changed the {name} of a {type(self._carrier).__qualname__} from "
                    f"{before} to {after}; preparation changes neither carrier, submit does"
                )

    def _observe(self) -> tuple[int, int, bool]:
        return self._carrier.version, self._carrier.size(), self._carrier.is_released()


def size_destination(destination: Carrier, slots: int) -> None:
    """Give an empty destination its slots (row 17); the caller is inside owner access.

    Raises:
        TypeError: The allocation returned something else than None.
        ValueError: The destination has another size afterwards.

    What the allocation itself raises propagates.
    """
    storage = destination._class_record.storage
    if storage is not None:
        storage.check_allocation(destination, slots, storage.allocate(destination, slots))
        return
    name = type(destination).__qualname__
    answer: object = destination._allocate(slots)  # type: ignore[attr-defined]  # an optional hook
    if answer is not None:
        raise TypeError(f"{name}._allocate must return None, got {answer!r}")
    if destination.size() != slots:
        raise ValueError(
            f"{name}._allocate was asked for {slots} slots, but the carrier has "
            f"{destination.size()}"
        )


def restore_empty(destination: Carrier, error: BaseException) -> None:
    """Put a destination that the move sized back to no slots, inside owner access.

    Args:
        destination: The destination.
        error: Why; a failure to restore is noted on it and goes no further.
    """
    try:
        if destination.is_released() or destination.size() == 0:
            return
        storage = destination._class_record.storage
        if storage is not None:
            storage.allocate(destination, 0)
        else:
            destination._allocate(0)  # type: ignore[attr-defined]  # an optional hook
    except Exception as failure:
        name = type(destination).__qualname__
        error.add_note(f"putting the destination {name} back to size 0 failed too: {failure!r}")
