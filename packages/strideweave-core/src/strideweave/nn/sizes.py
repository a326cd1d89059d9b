"""Checks of the sizes that layers are built with."""


def positive_integer(owner: str, argument: str, value: object) -> int:
    """Return a size of a layer.

    Raises:
        ValueError: It is not an integer, or below 1.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{owner}: {argument} must be a positive integer, got {value!r}")
    return value
