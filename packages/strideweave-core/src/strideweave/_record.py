"""Immutable slotted records that can be built as ``Record[Argument](...)``."""

from dataclasses import FrozenInstanceError, dataclass
from typing import NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")


def _refuse(self: object, name: str, value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"{type(self).__name__}.{name} is read-only")


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
        >>> point.x = 4
        Traceback (most recent call last):
        dataclasses.FrozenInstanceError: Point.x is read-only
    """
    made = dataclass(frozen=True, slots=True)(cls)
    # The stock methods raise TypeError for names that are no fields, such as `__orig_class__`.
    type.__setattr__(made, "__setattr__", _refuse)
    type.__setattr__(made, "__delattr__", _refuse)
    return made
