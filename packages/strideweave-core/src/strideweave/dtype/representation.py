"""Rules that a representation of a compound dtype must satisfy."""

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from typing_extensions import Protocol, runtime_checkable

from strideweave.dtype.identity import Extension, Structure, encode_extension, encode_leaf
from strideweave.dtype.public_module import PUBLIC_MODULE

if TYPE_CHECKING:
    from strideweave.dtype.descriptor import DType
    from strideweave.layout import Layout, Shape

T = TypeVar("T")
R = TypeVar("R", bound="RepresentationRule")

_OWNED = ("structure", "__setattr__", "__delattr__", "__copy__", "__deepcopy__", "_structure")


@runtime_checkable
class RepresentationValidationContext(Protocol):
    """What a rule sees of a representation whose universal checks have passed."""

    @property
    def logical_dtype(self) -> "DType":
        """The compound dtype whose rules run."""
        ...

    @property
    def storage_dtypes(self) -> "tuple[DType, ...]":
        """The storage dtype of each plane, in plane order."""
        ...

    @property
    def placement_layouts(self) -> "tuple[Layout, ...]":
        """The layout of each plane over its carrier, in plane order."""
        ...

    @property
    def adjacent_layouts(self) -> "tuple[Layout, ...]":
        """Entry ``i`` maps coordinates of level ``i`` to ordinals of level ``i + 1``."""
        ...

    @property
    def level_shapes(self) -> "tuple[Shape, ...]":
        """The logical shape of each level, in level order."""
        ...


RepresentationValidationContext.__module__ = PUBLIC_MODULE


class _RuleMeta(ABCMeta):
    """Metaclass of rules: guards owned members and finalizes each constructed rule."""

    def __init__(
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, object], **keywords: object
    ) -> None:
        super().__init__(name, bases, namespace, **keywords)
        if not any(isinstance(base, _RuleMeta) for base in bases):
            return
        redefined = [member for member in _OWNED if member in vars(cls)]
        if redefined:
            raise TypeError(
                f"representation rule {name} defines {redefined[0]!r}, which RepresentationRule "
                "owns; contribute to identity through structure_extension() instead"
            )

    def __call__(
        cls: type[T],  # so that type checkers see each rule's own constructor
        *arguments: object,
        **keywords: object,
    ) -> T:
        rule: T = type.__call__(cls, *arguments, **keywords)
        extension = rule.structure_extension()  # type: ignore[attr-defined]  # every instance is a rule
        if type(extension) is not tuple:
            raise TypeError(
                f"{cls.__qualname__}.structure_extension() must return a tuple, got {extension!r} "
                f"of type {type(extension).__qualname__}"
            )
        structure = (
            encode_leaf(cls.__module__),
            encode_leaf(cls.__qualname__),
            encode_extension(extension),
        )
        object.__setattr__(rule, "_structure", structure)
        return rule


class RepresentationRule(metaclass=_RuleMeta):
    """A pure check of one property of a compound representation; subclass and write ``validate``.

    A rule may serve several dtypes. It is frozen once its constructor returned, compares by
    identity, and shows its content through ``structure()``.

    Examples:
        >>> from strideweave.carriers.dtype import RepresentationRule
        >>> class FirstPlaneIsLarge(RepresentationRule):
        ...     def validate(self, context):
        ...         if context.level_shapes[0].size < 1024:
        ...             raise ValueError("level 0 has fewer than 1024 coordinates")
        >>> FirstPlaneIsLarge().structure()[1:]
        ('str:FirstPlaneIsLarge', ())
    """

    __module__ = PUBLIC_MODULE
    __slots__ = ("_structure",)

    _structure: Structure

    @abstractmethod
    def validate(self, context: RepresentationValidationContext) -> None:
        """Raise unless the representation satisfies this rule; reads no element.

        Args:
            context: The representation's dtypes, layouts and shapes.
        """

    def structure_extension(self) -> Extension:
        """Return what tells this rule from others of its class; override to add something.

        Returns:
            A tuple of exact ``str``, ``int``, ``float``, ``bool``, ``None``, ``Whole``, and such
            tuples. It is read once, after the constructor.
        """
        return ()

    def structure(self) -> Structure:
        """Return the encoded class path and extension recorded after construction.

        Raises:
            AttributeError: The construction of this object did not complete.
        """
        try:
            return self._structure
        except AttributeError:
            raise AttributeError(
                f"{type(self).__qualname__} has no structure: its construction did not complete"
            ) from None

    # Hidden from type checkers, which would otherwise accept assigning any attribute.
    if not TYPE_CHECKING:

        def __setattr__(self, name: str, value: object) -> None:
            self._refuse_when_final(f"set {name!r}")
            if name in _OWNED:
                raise TypeError(
                    f"{type(self).__qualname__} sets {name!r}, which RepresentationRule owns; "
                    "choose another attribute name"
                )
            object.__setattr__(self, name, value)

        def __delattr__(self, name: str) -> None:
            self._refuse_when_final(f"delete {name!r}")
            object.__delattr__(self, name)

        def _refuse_when_final(self, action: str) -> None:
            if hasattr(self, "_structure"):
                raise AttributeError(
                    f"cannot {action} of a {type(self).__qualname__}: a constructed rule "
                    "never changes"
                )

    def __copy__(self: R) -> R:
        return self

    def __deepcopy__(self: R, memo: dict[int, object]) -> R:
        return self
