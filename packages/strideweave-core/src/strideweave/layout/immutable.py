"""The one way in which layout values refuse to change."""

from typing import NoReturn


class Immutable:
    """Base of values whose attributes are never assigned after construction.

    Constructors write their slots through `seal`, the only door past the refusal.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is immutable: cannot assign {name!r}; build a new value instead"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is immutable: cannot delete {name!r}; build a new value instead"
        )


seal = object.__setattr__
