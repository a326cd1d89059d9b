"""The transition of a hierarchy's values from one tier to the other."""

from typing import TYPE_CHECKING

from strideweave.carriers.base import Carrier
from strideweave.carriers.evictable.tiers import Tier
from strideweave.carriers.move.entry import copy
from strideweave.layout import Layout
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.recording import unrecorded
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.evictable.carrier import Evictable


def relocate(hierarchy: "Evictable") -> None:
    """Bring the values of a hierarchy into its other tier, or leave everything as it is.

    The other tier takes them when it is live and large enough; else a fresh carrier of its class
    takes its place. The caller excludes every other change of the hierarchy.

    Args:
        hierarchy: The hierarchy; its residency is replaced on success.
    """
    before = hierarchy._residency
    source, target, slots = before.resident, before.other, hierarchy._size
    destination = target if _holds(target.carrier, slots) else _fresh(target.carrier, slots)
    try:
        with no_grad(), unrecorded(movements_too=True):
            _copy(source, destination, slots)
        hierarchy._residency = before.moved_to(destination)
        source.release()
    except BaseException as error:
        # An interrupt may come after the release, when there is no way back.
        if not source.carrier.is_released():
            hierarchy._residency = before
            if destination is not target:
                _discard(destination, error)
        raise
    if destination is not target:
        _retire(target)


def _holds(carrier: Carrier, slots: int) -> bool:
    return not carrier.is_released() and carrier.size() >= slots


def _fresh(prototype: Carrier, slots: int) -> Tier:
    carrier = prototype.allocate_like(slots)
    if type(carrier) is not type(prototype):
        raise TypeError(
            f"{type(prototype).__qualname__}.allocate_like must give a carrier of its own class, "
            f"got {type(carrier).__qualname__}"
        )
    return Tier(carrier)


def _copy(source: Tier, destination: Tier, slots: int) -> None:
    with source as origin, destination as target:
        flat = tensor_over(origin, 0, Layout.leaf(slots, 1), origin.dtype())
        copied = copy(flat, target)
        if copied.carrier is not target:
            raise RuntimeError(
                f"the copy to a {type(target).__qualname__} gave a Tensor over another carrier, "
                f"a {type(copied.carrier).__qualname__}"
            )


def _discard(tier: Tier, error: BaseException) -> None:
    try:
        tier.retire()
    except Exception as failure:
        name = type(tier.carrier).__qualname__
        error.add_note(f"releasing the unused {name} failed too: {failure!r}")


def _retire(tier: Tier) -> None:
    try:
        tier.retire()
    except Exception as failure:
        name = type(tier.carrier).__qualname__
        failure.add_note(
            f"the values are in their new place; only the replaced {name} could not be released"
        )
        raise
