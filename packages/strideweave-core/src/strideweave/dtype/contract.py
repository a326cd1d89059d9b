"""Contract classes: the layers of the dtype model that extensions build on but cannot replace."""

from collections.abc import Callable, Iterator, Mapping
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, TypeVar

from strideweave._record import record
from strideweave.dtype.identity import Structure

if TYPE_CHECKING:
    from strideweave.dtype.descriptor import DType

T = TypeVar("T", bound=type)


def _no_references(descriptor: "DType") -> "tuple[DType, ...]":
    return ()


@record
class Contract:
    """What the model itself reads from one contract class."""

    owned: frozenset[str]
    """Public members that no subclass, mixin or instance may redefine."""
    fragment: Callable[[Any], Structure]
    """The part of a descriptor's structure that this layer contributes."""
    references: Callable[[Any], "tuple[DType, ...]"]
    """The descriptors that this layer refers to."""
    is_kind: bool
    """Whether this layer is one of the three kinds, of which a descriptor has exactly one."""
    unique_structure: bool
    """Whether no two descriptors with this layer may share one structure."""


_contracts: dict[type, Contract] = {}


def contract(
    *,
    owned: tuple[str, ...],
    fragment: Callable[[Any], Structure],
    references: "Callable[[Any], tuple[DType, ...]]" = _no_references,
    is_kind: bool = False,
    unique_structure: bool = False,
) -> Callable[[T], T]:
    """Make the decorated descriptor class a contract class; see ``Contract`` for the arguments."""

    def enter(cls: T) -> T:
        _contracts[cls] = Contract(
            frozenset(owned), fragment, references, is_kind, unique_structure
        )
        return cls

    return enter


def contracts_of(cls: type) -> tuple[tuple[type, Contract], ...]:
    """Return the contract classes in the MRO of ``cls`` with their contracts, root first."""
    return tuple(
        (layer, _contracts[layer]) for layer in reversed(cls.__mro__) if layer in _contracts
    )


def contract_members(cls: type) -> Mapping[str, type]:
    """Return the members of ``cls`` that its contract classes own, each with its owner."""
    return {
        member: layer
        for layer, entered in contracts_of(cls)
        for member in (*entered.owned, *slots_of(layer))
    }


def owned_members(cls: type) -> Mapping[str, type]:
    """Return every guarded member of ``cls``: its contracts' and its extension classes' slots."""
    extension_slots = {
        slot: layer
        for layer in cls.__mro__  # the first class to declare a slot comes last and owns it
        if layer not in _contracts and contracts_of(layer)
        for slot in slots_of(layer)
    }
    return {**extension_slots, **contract_members(cls)}


def slots_of(cls: type) -> Iterator[str]:
    """Yield the names of the slots that the body of ``cls`` itself declares."""
    return (name for name, value in vars(cls).items() if isinstance(value, MemberDescriptorType))


def intruders(cls: type, owned: Mapping[str, type]) -> Iterator[tuple[str, type]]:
    """Yield each owned member that some class of the MRO of ``cls`` redefines, with that class.

    A member's owner, the ancestors of its owner and the contract classes may define it.
    """
    for layer in cls.__mro__:
        if layer in _contracts:
            continue
        for member, owner in owned.items():
            if member in vars(layer) and not issubclass(owner, layer):
                yield member, layer
