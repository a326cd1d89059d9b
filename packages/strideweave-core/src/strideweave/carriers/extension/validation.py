"""Field checks that the records of this package share."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

V = TypeVar("V")


def require_callable(value: object, field: str) -> None:
    """Refuse a callback that cannot be called.

    Raises:
        TypeError: It is not callable.
    """
    if not callable(value):
        raise TypeError(f"{field} must be callable, got {value!r} ({type(value).__qualname__})")


def require_instance(value: object, expected: type[V], field: str) -> V:
    """Refuse a field value of another type.

    Returns:
        The value.

    Raises:
        TypeError: It is not an instance of ``expected``.
    """
    if not isinstance(value, expected):
        article = "an" if expected.__qualname__[0] in "AEIOU" else "a"
        raise TypeError(
            f"{field} must be {article} {expected.__qualname__}, got {value!r} "
            f"({type(value).__qualname__})"
        )
    return value


def require_name(value: object, field: str) -> str:
    """Refuse anything but a non-empty string.

    Returns:
        The value as an exact ``str``.

    Raises:
        TypeError: It is not a string.
        ValueError: It is empty.
    """
    if not isinstance(value, str):
        raise TypeError(f"{field} must be a str, got {value!r} ({type(value).__qualname__})")
    if not value:
        raise ValueError(f"{field} must not be empty")
    return str.__str__(value)


def set_fields(record: object, **values: object) -> None:
    """Fill the fields of a frozen record under construction."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


def require_entries(values: Iterable[V], expected: type[V], field: str) -> tuple[V, ...]:
    """Materialize an iterable field once.

    Returns:
        Its entries.

    Raises:
        TypeError: It is not iterable, or an entry has another type.
    """
    try:
        iterator = iter(values)
    except TypeError as error:
        raise TypeError(
            f"{field} must be an iterable of {expected.__qualname__}, got {values!r} "
            f"({type(values).__qualname__})"
        ) from error
    entries = tuple(iterator)
    for position, entry in enumerate(entries):
        if not isinstance(entry, expected):
            require_instance(entry, expected, f"{field}[{position}]")
    return entries


def require_distinct(
    values: Iterable[V],
    key: Callable[[V], Hashable],
    described: Callable[[V], str],
    field: str,
) -> None:
    """Refuse two entries with the same key.

    Args:
        values: The entries.
        key: What must differ; classes are told apart by ``id``.
        described: Words what an entry repeats, for the message.
        field: The field, for the message.

    Raises:
        ValueError: Two entries have the same key.
    """
    seen: dict[Hashable, int] = {}
    for position, value in enumerate(values):
        first = seen.setdefault(key(value), position)
        if first != position:
            raise ValueError(f"{field}[{position}] repeats {described(value)} of {field}[{first}]")
