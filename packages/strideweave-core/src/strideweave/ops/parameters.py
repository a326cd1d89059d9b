"""Checks of structural parameters that are flags or sequences of integers."""

from collections.abc import Iterable

from strideweave.ops.axes import checked_integer


def checked_flag(operation: str, name: str, value: object) -> bool:
    """Return a flag unchanged.

    Raises:
        TypeError: The value is not True or False.
    """
    if value is True or value is False:
        return value
    raise TypeError(
        f"{operation}: {name} must be True or False, got {type(value).__qualname__} {value!r}"
    )


def _entries(operation: str, name: str, wanted: str, value: object) -> tuple[object, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(
            f"{operation}: {name} must be {wanted}, got {type(value).__qualname__} {value!r}"
        )
    return tuple(value)


def checked_count(operation: str, name: str, value: object) -> int:
    """Return a positive integer.

    Raises:
        TypeError: The value is a bool or no integer.
        ValueError: It is below 1.
    """
    count = checked_integer(operation, name, value)
    if count < 1:
        raise ValueError(f"{operation}: {name} must be positive, got {count}")
    return count


def checked_integers(operation: str, name: str, value: object) -> tuple[int, ...]:
    """Return an iterable of integers as a tuple.

    Raises:
        TypeError: The value is a str or not iterable, or an entry is a bool or no integer.
    """
    return tuple(
        checked_integer(operation, f"{name}[{position}]", entry)
        for position, entry in enumerate(
            _entries(operation, name, "an iterable of integers", value)
        )
    )


def checked_counts(operation: str, name: str, value: object) -> tuple[int, ...]:
    """Return an iterable of positive integers as a tuple.

    Raises:
        TypeError: As for ``checked_integers``.
        ValueError: An entry is below 1.
    """
    counts = checked_integers(operation, name, value)
    for position, count in enumerate(counts):
        checked_count(operation, f"{name}[{position}]", count)
    return counts


def checked_permutation(operation: str, name: str, value: object, rank: int) -> tuple[int, ...]:
    """Return an iterable that lists the modes, counted from 0, in some order as a tuple.

    Raises:
        TypeError: As for ``checked_integers``.
        ValueError: A mode is missing, repeated or out of range.
    """
    order = checked_integers(operation, name, value)
    if sorted(order) != list(range(rank)):
        raise ValueError(
            f"{operation}: {name} must be a permutation of the modes 0 to {rank - 1}, got {order}"
        )
    return order


def checked_pairs(operation: str, name: str, value: object) -> tuple[tuple[int, int], ...]:
    """Return an iterable of (before, after) pairs of counts as a tuple.

    Raises:
        TypeError: The value is not iterable, or an entry is no pair of integers.
        ValueError: A count is negative.
    """
    pairs: list[tuple[int, int]] = []
    for position, entry in enumerate(
        _entries(operation, name, "an iterable of (before, after) pairs", value)
    ):
        counts = _entries(operation, f"{name}[{position}]", "a (before, after) pair", entry)
        if len(counts) != 2:
            raise TypeError(
                f"{operation}: {name}[{position}] must be a (before, after) pair, got {counts}"
            )
        before, after = (
            checked_integer(operation, f"{name}[{position}]", count) for count in counts
        )
        if before < 0 or after < 0:
            raise ValueError(
                f"{operation}: {name}[{position}] must not be negative, got {(before, after)}"
            )
        pairs.append((before, after))
    return tuple(pairs)
