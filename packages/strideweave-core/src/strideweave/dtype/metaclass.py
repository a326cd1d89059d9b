"""The metaclass of descriptor classes: it guards owned members and registers instances."""

from typing import TYPE_CHECKING, Any, TypeVar

from strideweave.dtype.contract import intruders, owned_members
from strideweave.dtype.finalization import finalize

T = TypeVar("T")


class DTypeMeta(type):
    """Metaclass of descriptor classes: guards owned members and registers what is constructed."""

    def __new__(
        mcls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        abstract: bool = True,
        **keywords: object,
    ) -> "DTypeMeta":
        cls = super().__new__(mcls, name, bases, namespace, **keywords)
        type.__setattr__(cls, "_abstract", abstract)
        owned = owned_members(cls)
        for member, layer in intruders(cls, owned):
            source = "defines" if layer is cls else f"inherits from {layer.__qualname__}"
            raise TypeError(
                f"descriptor class {name} {source} {member!r}, which "
                f"{owned[member].__qualname__} owns; contribute to identity through "
                "structure_extension() instead"
            )
        return cls

    def __init__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        abstract: bool = True,
        **keywords: object,
    ) -> None:
        super().__init__(name, bases, namespace)

    def __call__(
        cls: type[T],  # so that type checkers see each class's own constructor
        *arguments: object,
        **keywords: object,
    ) -> T:
        if vars(cls)["_abstract"]:
            raise TypeError(
                f"{cls.__qualname__} is abstract and cannot be constructed; subclass it with "
                "`abstract=False`"
            )
        descriptor: T = type.__call__(cls, *arguments, **keywords)
        finalize(descriptor)  # type: ignore[arg-type]  # every instance is a DType
        return descriptor

    # Hidden from type checkers, which would otherwise accept assigning any attribute.
    if not TYPE_CHECKING:

        def __setattr__(cls, name: str, value: object) -> None:
            _refuse_class_change(cls, name, "set")
            if _is_root(cls) and _is_descriptor(value):
                raise AttributeError(
                    f"cannot set DType.{name}: only built-in descriptors are attributes of DType; "
                    f"use DType.from_name({value.name!r})"
                )
            super().__setattr__(name, value)

        def __delattr__(cls, name: str) -> None:
            _refuse_class_change(cls, name, "delete")
            super().__delattr__(name)


def _refuse_class_change(cls: type, name: str, action: str) -> None:
    owner = owned_members(cls).get(name)
    if owner is not None:
        raise AttributeError(
            f"cannot {action} {cls.__qualname__}.{name}: {owner.__qualname__} owns it"
        )
    if _is_root(cls) and _is_descriptor(vars(cls).get(name)):
        raise AttributeError(f"cannot {action} DType.{name}: it is a built-in descriptor")


def _is_root(cls: type) -> bool:
    return not any(isinstance(base, DTypeMeta) for base in cls.__bases__)


def _is_descriptor(value: object) -> bool:
    return isinstance(type(value), DTypeMeta)
