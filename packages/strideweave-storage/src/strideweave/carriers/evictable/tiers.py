"""The two carriers of a hierarchy, and the hold that it has on them."""

from types import TracebackType
from typing import NamedTuple, final

from strideweave.carriers.base import Carrier
from strideweave.carriers.move.registry import closed_class
from strideweave.carriers.move.routes import select_route
from strideweave.carriers.move.validation import check_route


@final
class Tier:
    """A carrier that a hierarchy owns, until the tier is dropped or given up.

    As a context manager it is the owner's access of the calling thread.

    Args:
        carrier: A live carrier that nobody owns.

    Raises:
        RuntimeError: The carrier is released or owned.
    """

    __slots__ = ("_token", "carrier")

    def __init__(self, carrier: Carrier) -> None:
        self._token: int | None = None
        self.carrier = carrier
        self._token = carrier._claim_ownership()

    def __enter__(self) -> Carrier:
        assert self._token is not None, "a hierarchy uses only tiers that it owns"
        self.carrier._begin_owner_access(self._token)
        return self.carrier

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._token is not None
        self.carrier._end_owner_access(self._token)

    def __del__(self) -> None:
        self.relinquish()

    def relinquish(self) -> None:
        """Give the carrier back to whoever has it, as it is."""
        if self._token is not None:
            token, self._token = self._token, None
            self.carrier._relinquish_ownership(token)

    def release(self) -> None:
        """Release the carrier, which stays owned."""
        with self as carrier:
            carrier.release()

    def retire(self) -> None:
        """Release the carrier and give it back; where it cannot be released, give it back live."""
        try:
            self.release()
        finally:
            self.relinquish()


class Residency(NamedTuple):
    """Which carriers a hierarchy has, and in which of them its values are."""

    primary: Tier
    secondary: Tier
    is_evicted: bool

    @property
    def resident(self) -> Tier:
        """The tier that holds the values."""
        return self.secondary if self.is_evicted else self.primary

    @property
    def other(self) -> Tier:
        """The tier that does not."""
        return self.primary if self.is_evicted else self.secondary

    def moved_to(self, tier: Tier) -> "Residency":
        """Give the residency with the values in a tier that takes the place of the other one."""
        if self.is_evicted:
            return Residency(tier, self.secondary, is_evicted=False)
        return Residency(self.primary, tier, is_evicted=True)


def check_tiers(primary: object, secondary: object) -> None:
    """Refuse carriers that cannot form a hierarchy; nothing changes.

    Raises:
        TypeError: An argument is no Carrier, a class moves by built-in pairs only, or the dtypes
            differ.
        ValueError: Both are the same carrier, or the primary is empty.
        RuntimeError: A carrier is released or owned, or the secondary is immutable.
        NotImplementedError: Values cannot move between the exact classes in both directions.
    """
    checked = tuple(
        _checked_carrier(role, tier)
        for role, tier in (("primary", primary), ("secondary", secondary))
    )
    roles = tuple(zip(("primary", "secondary"), checked, strict=True))
    for role, tier in roles:
        _check_class(role, tier)
    if primary is secondary:
        raise ValueError("Evictable: primary and secondary must be two carriers, got one twice")
    for role, tier in roles:
        if tier.is_released():
            raise RuntimeError(f"Evictable: the {role} {_name(tier)} is released; make a fresh one")
    for role, tier in roles:
        if tier.is_owned():
            raise RuntimeError(
                f"Evictable: the {role} {_name(tier)} is already owned by a composite carrier or a "
                "pending move"
            )
    _check_storage(*checked)
    for source, destination in (checked, checked[::-1]):
        check_route(select_route(type(source), type(destination)))


def _checked_carrier(role: str, tier: object) -> Carrier:
    if not isinstance(tier, Carrier):
        raise TypeError(
            f"Evictable: {role} must be a Carrier, got {tier!r} ({type(tier).__qualname__})"
        )
    return tier


def _check_class(role: str, tier: Carrier) -> None:
    if closed_class(type(tier)) is not None:
        raise TypeError(
            f"Evictable: the {role} cannot be a {_name(tier)}, whose values move by built-in pairs "
            "only; TiledEvictable takes one as its secondary"
        )


def _check_storage(primary: Carrier, secondary: Carrier) -> None:
    if primary.dtype() is not secondary.dtype():
        raise TypeError(
            f"Evictable: the dtypes of both tiers must be the same, the primary {_name(primary)} "
            f"has {primary.dtype()!r}, the secondary {_name(secondary)} {secondary.dtype()!r}"
        )
    if not secondary.is_mutable():
        raise RuntimeError(
            f"Evictable: the secondary {_name(secondary)} is not mutable, so nothing could be "
            "evicted to it"
        )
    if primary.size() == 0:
        raise ValueError(
            f"Evictable: the primary {_name(primary)} is empty; it holds the values of the "
            "hierarchy, at least one"
        )


def _name(carrier: Carrier) -> str:
    return type(carrier).__qualname__
