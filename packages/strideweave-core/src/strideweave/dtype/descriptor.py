"""The root descriptor class and the category and simple kinds."""

from typing import TYPE_CHECKING, ClassVar, TypeVar

from strideweave.dtype.contract import contract, contract_members
from strideweave.dtype.identity import Extension, Structure, encode_leaf
from strideweave.dtype.metaclass import DTypeMeta
from strideweave.dtype.public_module import PUBLIC_MODULE
from strideweave.dtype.registry import _unpickle_dtype, registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from strideweave.dtype.block_scaled import BlockScaledDType
    from strideweave.dtype.representation import RepresentationRule

D = TypeVar("D", bound="DType")


def exact_name(name: object) -> str:
    """Return ``name`` as an exact ``str``, or raise ``ValueError`` unless it is a non-empty one."""
    if not issubclass(type(name), str) or not name:
        raise ValueError(
            f"dtype name must be a non-empty str, got {name!r} of type {type(name).__qualname__}"
        )
    return str.__str__(name)


def require_category(supertype: object) -> None:
    """Raise ``TypeError`` unless ``supertype`` is a category."""
    if not isinstance(supertype, DTypeCategory):
        raise TypeError(
            f"supertype must be a DTypeCategory, got {supertype!r} of type "
            f"{type(supertype).__qualname__}"
        )


def reference(descriptor: "DType | None") -> "Structure | str":
    """Return how a structure refers to a descriptor: encoded name and structure, or ``none``."""
    if descriptor is None:
        return encode_leaf(None)
    return (encode_leaf(descriptor.name), *descriptor.structure())


def store(descriptor: "DType", field: str, value: object) -> None:
    """Fill a private slot of a descriptor that is still under construction."""
    _refuse_when_sealed(descriptor, f"set {field!r}")
    object.__setattr__(descriptor, field, value)


def _refuse_when_sealed(descriptor: "DType", action: str) -> None:
    if hasattr(descriptor, "_structure"):
        raise AttributeError(
            f"cannot {action} of {descriptor!r}: a registered descriptor never changes"
        )


@contract(
    owned=(
        "name",
        "value",
        "supertype",
        "supertypes",
        "is_subtype_of",
        "structure",
        "representation_rules",
        "__getattr__",
        "__getattribute__",
        "__setattr__",
        "__delattr__",
    ),
    fragment=lambda descriptor: (encode_leaf("DType"), reference(descriptor.supertype)),
    references=lambda descriptor: () if descriptor.supertype is None else (descriptor.supertype,),
)
class DType(metaclass=DTypeMeta):
    """A registered data type descriptor; the root of the descriptor classes.

    Descriptors are permanent, frozen and compare by identity. ``DType`` is abstract: construct a
    ``DTypeCategory``, ``SimpleDType`` or ``BlockScaledDType``, or subclass with ``abstract=False``.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> DType.Float32.supertypes()
        (DTypeCategory('Floating'), DTypeCategory('Any'))
        >>> DType.from_name("Int32") is DType.Int32
        True
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ("_name", "_representation_rules", "_structure", "_supertype")

    _name: str
    _supertype: "DTypeCategory | None"
    _representation_rules: "tuple[RepresentationRule, ...]"
    _structure: Structure

    Any: ClassVar["DTypeCategory"]
    Floating: ClassVar["DTypeCategory"]
    Integer: ClassVar["DTypeCategory"]
    Float32: ClassVar["SimpleDType"]
    Float64: ClassVar["SimpleDType"]
    Int32: ClassVar["SimpleDType"]
    Bool: ClassVar["SimpleDType"]
    Int8: ClassVar["SimpleDType"]
    E8M0: ClassVar["SimpleDType"]
    E5M2: ClassVar["SimpleDType"]
    E4M3: ClassVar["SimpleDType"]
    E3M2: ClassVar["SimpleDType"]
    E2M3: ClassVar["SimpleDType"]
    E2M1: ClassVar["SimpleDType"]
    MXFP8_E4M3: ClassVar["BlockScaledDType"]
    MXFP8_E5M2: ClassVar["BlockScaledDType"]
    MXFP6_E3M2: ClassVar["BlockScaledDType"]
    MXFP6_E2M3: ClassVar["BlockScaledDType"]
    MXFP4: ClassVar["BlockScaledDType"]
    MXINT8: ClassVar["BlockScaledDType"]
    NVFP4: ClassVar["BlockScaledDType"]

    def __init__(self, name: str, *, supertype: "DTypeCategory | None" = None) -> None:
        """Store the name and enclosing category; the class machinery registers afterwards.

        Args:
            name: The name to register, a non-empty ``str``.
            supertype: The immediately enclosing category, or ``None`` at a root.

        Raises:
            ValueError: ``name`` is not a non-empty ``str``.
            TypeError: ``supertype`` is neither ``None`` nor a ``DTypeCategory``.
        """
        text = exact_name(name)
        if supertype is not None:
            require_category(supertype)
        store(self, "_name", text)
        store(self, "_supertype", supertype)
        store(self, "_representation_rules", ())

    @property
    def name(self) -> str:
        """The registered name."""
        return self._name

    @property
    def value(self) -> str:
        """The registered name, under the spelling that enumerations use."""
        return self._name

    @property
    def supertype(self) -> "DTypeCategory | None":
        """The immediately enclosing category, or ``None`` at a root."""
        return self._supertype

    @property
    def representation_rules(self) -> "tuple[RepresentationRule, ...]":
        """The rules that a representation of this dtype must satisfy; ``()`` unless compound."""
        return self._representation_rules

    def supertypes(self) -> "tuple[DTypeCategory, ...]":
        """Return the enclosing categories, nearest first; ``()`` at a root."""
        if self._supertype is None:
            return ()
        return (self._supertype, *self._supertype.supertypes())

    def is_category(self) -> bool:
        """Tell whether this descriptor only groups others."""
        return False

    def is_simple(self) -> bool:
        """Tell whether this descriptor is one encoding of one plane."""
        return False

    def is_compound(self) -> bool:
        """Tell whether values of this dtype are represented by several planes."""
        return False

    def is_subtype_of(self, other: "DType") -> bool:
        """Tell whether ``other`` is this descriptor or one of its enclosing categories.

        Args:
            other: The descriptor to look for, compared by identity.

        Raises:
            TypeError: ``other`` is not a ``DType``.

        Examples:
            >>> from strideweave.carriers.dtype import DType
            >>> DType.Float32.is_subtype_of(DType.Floating)
            True
        """
        if not isinstance(other, DType):
            raise TypeError(
                f"is_subtype_of() takes a DType, got {other!r} of type {type(other).__qualname__}"
            )
        return other is self or any(other is category for category in self.supertypes())

    def structure(self) -> Structure:
        """Return the nested tuple of strings recorded at registration.

        Raises:
            AttributeError: The construction of this object did not complete.

        Examples:
            >>> from strideweave.carriers.dtype import DType
            >>> DType.Any.structure()
            ('str:DType', 'none', 'str:DTypeCategory', ())
        """
        try:
            return self._structure
        except AttributeError:
            raise AttributeError(
                f"{self!r} has no structure: its construction did not complete"
            ) from None

    def structure_extension(self) -> Extension:
        """Return what a subclass adds to the structure; override to add something.

        Returns:
            A tuple of exact ``str``, ``int``, ``float``, ``bool``, ``None``, ``Whole``, and such
            tuples. It is read once, when the descriptor is registered.
        """
        return ()

    @classmethod
    def registered(cls: type[D]) -> tuple[D, ...]:
        """Return the registered instances of this class in registration order.

        Examples:
            >>> from strideweave.carriers.dtype import DType
            >>> [dtype.name for dtype in DType.registered()[:3]]
            ['Any', 'Floating', 'Integer']
        """
        return tuple(entry for entry in registry.snapshot() if isinstance(entry, cls))

    @classmethod
    def from_name(cls: type[D], name: str) -> D:
        """Return the registered descriptor with that exact name.

        Args:
            name: The registered name.

        Raises:
            TypeError: ``name`` is not a ``str``.
            LookupError: No descriptor has that name, or it is not an instance of this class.

        Examples:
            >>> from strideweave.carriers.dtype import DType
            >>> DType.from_name("Bool")
            SimpleDType('Bool')
        """
        if not issubclass(type(name), str):
            raise TypeError(
                f"from_name() takes a str, got {name!r} of type {type(name).__qualname__}"
            )
        descriptor = registry.get(str.__str__(name))
        if descriptor is None:
            raise LookupError(
                f"no dtype named {name!r} is registered; construct it first, or see "
                "DType.registered()"
            )
        if not isinstance(descriptor, cls):
            raise LookupError(f"{descriptor!r} is registered but is not a {cls.__qualname__}")
        return descriptor

    # Hidden from type checkers, which would otherwise accept assigning any attribute.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            _refuse_when_sealed(self, f"set {name!r}")
            owner = contract_members(type(self)).get(name)
            if owner is not None:
                raise TypeError(
                    f"{type(self).__qualname__} sets {name!r}, which {owner.__qualname__} owns; "
                    "pass it to the base constructor or choose another attribute name"
                )
            object.__setattr__(self, name, value)

        def __delattr__(self, name: str) -> None:
            _refuse_when_sealed(self, f"delete {name!r}")
            object.__delattr__(self, name)

    def __copy__(self: D) -> D:
        return self

    def __deepcopy__(self: D, memo: dict[int, object]) -> D:
        return self

    def __reduce__(self) -> "tuple[Callable[[str, Structure], DType], tuple[str, Structure]]":
        return (_unpickle_dtype, (self.name, self.structure()))

    def __repr__(self) -> str:
        if not hasattr(self, "_name"):
            return f"<{type(self).__name__} without a name>"
        return f"{type(self).__name__}({self._name!r})"


KIND_PREDICATES = ("is_category", "is_simple", "is_compound")


@contract(
    owned=KIND_PREDICATES,
    fragment=lambda descriptor: (encode_leaf("DTypeCategory"),),
    is_kind=True,
)
class DTypeCategory(DType, abstract=False):
    """A category: it says how descriptors relate, has no encoding, and no carrier stores it.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> DType.Floating.is_category(), DType.Floating.supertype
        (True, DTypeCategory('Any'))
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ()

    def is_category(self) -> bool:
        """Return ``True``."""
        return True


@contract(
    owned=("bits", *KIND_PREDICATES),
    fragment=lambda descriptor: (encode_leaf("SimpleDType"), encode_leaf(descriptor.bits)),
    is_kind=True,
)
class SimpleDType(DType, abstract=False):
    """One encoding of one plane of values, ``bits`` wide.

    Examples:
        >>> from strideweave.carriers.dtype import DType
        >>> DType.Float32.bits, DType.E2M1.bits
        (32, 4)
        >>> from strideweave.carriers.dtype import SimpleDType
        >>> half = SimpleDType("ExampleFloat16", bits=16, supertype=DType.Floating)
        >>> SimpleDType.from_name("ExampleFloat16") is half
        True
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ("_bits",)

    _bits: int

    def __init__(self, name: str, *, bits: int, supertype: DTypeCategory) -> None:
        """Store name, width and enclosing category; the class machinery registers afterwards.

        Args:
            name: The name to register, a non-empty ``str``.
            bits: The width of one value, a positive ``int``.
            supertype: The immediately enclosing category.

        Raises:
            TypeError: ``supertype`` is not a ``DTypeCategory`` (checked first).
            ValueError: ``name`` is not a non-empty ``str``, then ``bits`` not a positive ``int``.
        """
        require_category(supertype)
        super().__init__(name, supertype=supertype)
        kind = type(bits)
        if kind is bool or not issubclass(kind, int) or bits <= 0:
            raise ValueError(
                f"bits must be a positive int, got {bits!r} of type {kind.__qualname__}"
            )
        store(self, "_bits", int.__int__(bits))

    @property
    def bits(self) -> int:
        """The width of one value in bits."""
        return self._bits

    def is_simple(self) -> bool:
        """Return ``True``."""
        return True
