"""Immutable slotted records that can be built as ``Record[Argument](...)``."""

from dataclasses import FrozenInstanceError, dataclass, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__name__}.{name} is read-only")


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (field.name for field in fields(self) if field.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _define_equality(made: type[Any]) -> None:
    names = [field.name for field in fields(made) if field.compare]
    value_of = attrgetter(*names) if names else type

    def is_equal(self: object, other: object) -> object:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return value_of(self) == value_of(other)

    def hash_of(self: object) -> int:
        return hash(value_of(self))

    type.__setattr__(made, "__eq__", is_equal)
    type.__setattr__(made, "__hash__", hash_of)


@dataclass_transform(frozen_default=True)
def record(cls: type[T]) -> type[T]:
    """Turn a class with annotated fields into a frozen dataclass with slots.

    Args:
        cls: The class to turn. It validates its fields in ``__post_init__``.

    Returns:
        The new class. Assigning or deleting any attribute raises ``FrozenInstanceError``.

    Examples:
        >>> @record
        ... class Point:
        ...     x: int
        >>> point = Point(3)
        >>> point, point == Point(3), hash(point) == hash(Point(3))
        (Point(x=3), True, True)
        >>> point.x = 4
        Traceback (most recent call last):
        dataclasses.FrozenInstanceError: Point.x is read-only
    """
    # The stock methods are compiled from text for each class, which would be a fifth of the time
    # that importing the package takes.
    made = dataclass(frozen=True, slots=True, repr=False, eq=False)(cls)
    # The stock ones raise TypeError for names that are no fields, such as `__orig_class__`.
    type.__setattr__(made, "__setattr__", _refuse)
    type.__setattr__(made, "__delattr__", _refuse)
    if "__repr__" not in vars(cls):
        type.__setattr__(made, "__repr__", _repr)
    if "__eq__" not in vars(cls):
        _define_equality(made)
    return made
