"""The transaction that turns a constructed descriptor into a registered one."""

import itertools
from typing import TYPE_CHECKING

from strideweave.dtype.contract import contracts_of, owned_members, slots_of
from strideweave.dtype.identity import encode_extension
from strideweave.dtype.registry import registry

if TYPE_CHECKING:
    from strideweave.dtype.descriptor import DType


def finalize(descriptor: "DType") -> None:
    """Validate, seal and publish a descriptor whose most derived ``__init__`` has returned.

    Args:
        descriptor: The constructed object. On failure it stays unsealed and unreachable by name.

    Raises:
        TypeError: A base was not initialized, an owned member is shadowed, the kind is wrong, or
            the structure extension is not a tuple of permitted values.
        ValueError: A referenced descriptor is not canonical, or the name or structure is taken.
    """
    contracts = contracts_of(type(descriptor))
    root, _ = contracts[0]
    _require_initialized(descriptor, root)
    _require_exact_name(descriptor)
    _refuse_shadowing(descriptor)
    _require_one_kind(descriptor, sum(entered.is_kind for _, entered in contracts))
    for layer, _ in contracts:
        _require_initialized(descriptor, layer)
    extension = descriptor.structure_extension()
    if type(extension) is not tuple:
        raise TypeError(
            f"{type(descriptor).__qualname__}.structure_extension() must return a tuple, "
            f"got {extension!r} of type {type(extension).__qualname__}"
        )
    for _, entered in contracts:
        for reference in entered.references(descriptor):
            _require_canonical(descriptor, reference)
    encoded = encode_extension(extension)
    _refuse_shadowing(descriptor)
    fragments = (entered.fragment(descriptor) for _, entered in contracts)
    registry.publish(
        descriptor,
        descriptor.name,
        (*itertools.chain.from_iterable(fragments), encoded),
        unique_structure=any(entered.unique_structure for _, entered in contracts),
    )


def _require_initialized(descriptor: "DType", layer: type) -> None:
    # A contract class fills all its slots in __init__ except the structure, which sealing records.
    if not all(hasattr(descriptor, slot) for slot in slots_of(layer) if slot != "_structure"):
        raise TypeError(
            f"{type(descriptor).__qualname__} did not initialize its {layer.__qualname__} base; "
            f"call {layer.__qualname__}.__init__ from __init__"
        )


def _require_exact_name(descriptor: "DType") -> None:
    if type(descriptor.name) is not str:
        raise TypeError(
            f"{type(descriptor).__qualname__} replaced its stored name by "
            f"{type(descriptor.name).__qualname__}; the name belongs to DType"
        )


def _refuse_shadowing(descriptor: "DType") -> None:
    owned = owned_members(type(descriptor))
    for attribute in getattr(descriptor, "__dict__", ()):
        if attribute in owned:
            raise TypeError(
                f"{type(descriptor).__qualname__} sets the instance attribute {attribute!r}, which "
                f"{owned[attribute].__qualname__} owns; choose another attribute name"
            )


def _require_one_kind(descriptor: "DType", kinds: int) -> None:
    if kinds != 1:
        raise TypeError(
            f"{type(descriptor).__qualname__} must derive from exactly one of DTypeCategory, "
            f"SimpleDType and CompoundDType, it derives from {kinds}; other subclasses of DType "
            "cannot be constructed"
        )


def _require_canonical(descriptor: "DType", reference: "DType") -> None:
    if not registry.is_canonical(reference):
        raise ValueError(
            f"dtype {descriptor.name!r} refers to {reference!r}, which is not registered under its "
            "name: its construction did not complete; construct it successfully first"
        )
