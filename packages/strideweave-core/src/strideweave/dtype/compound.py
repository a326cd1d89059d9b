"""Dtypes whose values are represented by several planes."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from strideweave.dtype.contract import contract
from strideweave.dtype.descriptor import (
    KIND_PREDICATES,
    DType,
    SimpleDType,
    reference,
    store,
)
from strideweave.dtype.identity import Structure, encode_leaf
from strideweave.dtype.public_module import PUBLIC_MODULE
from strideweave.dtype.representation import RepresentationRule

if TYPE_CHECKING:
    from strideweave.dtype.descriptor import DTypeCategory


def _fragment(descriptor: "CompoundDType") -> Structure:
    return (
        encode_leaf("CompoundDType"),
        tuple(reference(plane) for plane in descriptor.simple_types),
        tuple(rule.structure() for rule in descriptor.representation_rules),
    )


def materialize(argument: str, values: object) -> tuple[object, ...]:
    """Return the items of an iterable argument, or raise ``TypeError`` naming the argument."""
    try:
        iterator = iter(values)  # type: ignore[call-overload]  # this is the check
    except TypeError:
        raise TypeError(
            f"{argument} must be an iterable, got {values!r} of type {type(values).__qualname__}"
        ) from None
    return tuple(iterator)


def _require_entries(argument: str, values: tuple[object, ...], kind: type) -> None:
    for position, value in enumerate(values):
        if not isinstance(value, kind):
            raise TypeError(
                f"{argument}[{position}] must be a {kind.__name__}, got {value!r} of type "
                f"{type(value).__qualname__}"
            )


@contract(
    owned=("simple_types", "num_carriers", *KIND_PREDICATES),
    fragment=_fragment,
    references=lambda descriptor: descriptor.simple_types,
    is_kind=True,
)
class CompoundDType(DType):
    """A dtype represented by several planes, each stored by a carrier of its own simple dtype.

    Abstract: subclass it with ``abstract=False`` and pass the planes to its constructor.

    Examples:
        >>> from strideweave.carriers.dtype import CompoundDType, DType
        >>> class Complex(CompoundDType, abstract=False):
        ...     def __init__(self, name, part):
        ...         super().__init__(name, simple_types=(part, part))
        >>> Complex("ExampleComplex64", DType.Float32).num_carriers
        2
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ("_simple_types",)

    _simple_types: tuple[SimpleDType, ...]

    def __init__(
        self,
        name: str,
        *,
        supertype: "DTypeCategory | None" = None,
        simple_types: Iterable[SimpleDType],
        representation_rules: Iterable[RepresentationRule] = (),
    ) -> None:
        """Store the planes and their rules; the class machinery registers afterwards.

        Args:
            name: The name to register, a non-empty ``str``.
            supertype: The immediately enclosing category, or ``None`` at a root.
            simple_types: The storage dtype of each plane; read once.
            representation_rules: What a representation must satisfy; read once.

        Raises:
            ValueError: ``name`` is not a non-empty ``str``, or there is no plane.
            TypeError: ``supertype`` is not a category, an iterable argument is not iterable, or an
                entry has the wrong class (its position is named).
        """
        super().__init__(name, supertype=supertype)
        planes = materialize("simple_types", simple_types)
        if not planes:
            raise ValueError(f"compound dtype {name!r} needs at least one plane in simple_types")
        _require_entries("simple_types", planes, SimpleDType)
        rules = materialize("representation_rules", representation_rules)
        _require_entries("representation_rules", rules, RepresentationRule)
        store(self, "_simple_types", planes)
        store(self, "_representation_rules", rules)

    @property
    def simple_types(self) -> tuple[SimpleDType, ...]:
        """The storage dtype of each plane."""
        return self._simple_types

    @property
    def num_carriers(self) -> int:
        """The number of planes."""
        return len(self._simple_types)

    def is_compound(self) -> bool:
        """Return ``True``."""
        return True
