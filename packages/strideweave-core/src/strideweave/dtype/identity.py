"""Structural identity: nested tuples of strings that say what a descriptor or rule means."""

from typing import TypeAlias

from strideweave.dtype.whole import WholeExtent

Structure: TypeAlias = "tuple[str | Structure, ...]"
"""A recorded structure: strings and further structures, nested in tuples."""

ExtensionValue: TypeAlias = "str | int | float | bool | WholeExtent | Extension | None"
Extension: TypeAlias = "tuple[ExtensionValue, ...]"
"""What ``structure_extension()`` may return: permitted leaves, nested in exact tuples."""


def encode_leaf(value: object) -> str:
    """Encode one permitted value so that its type is part of the text.

    Args:
        value: A ``str``, ``int``, ``float``, ``bool``, ``None`` or ``Whole`` of exactly that type.

    Returns:
        The encoded text; ``True``, ``1`` and ``1.0`` differ and every NaN reads ``float:nan``.

    Raises:
        TypeError: ``value`` has another type, a subclass included.
    """
    kind = type(value)
    if value is None:
        return "none"
    if kind is WholeExtent:
        return "whole"
    if kind is float:
        return f"float:{float.hex(value)}"  # type: ignore[arg-type]  # `kind` is the exact type
    if kind is bool or kind is int:
        return f"{kind.__name__}:{value!r}"
    if kind is str:
        return f"str:{value}"
    raise TypeError(
        f"structure_extension() contains {value!r} of type {kind.__qualname__}; only exact str, "
        "int, float, bool, None, Whole and exact tuples of them are allowed"
    )


def encode_extension(extension: tuple[object, ...]) -> Structure:
    """Encode an extension tuple leaf by leaf.

    Args:
        extension: An exact tuple of permitted leaves and exact tuples.

    Returns:
        The same nesting with every leaf encoded by ``encode_leaf``.

    Raises:
        TypeError: A leaf, or a tuple subclass, is not permitted.

    Examples:
        >>> encode_extension(("a", 1, (True, None)))
        ('str:a', 'int:1', ('bool:True', 'none'))
    """
    return tuple(
        encode_extension(value) if type(value) is tuple else encode_leaf(value)
        for value in extension
    )


def first_difference(left: object, right: object) -> tuple[int, ...] | None:
    """Return the path of indices to the first place where two structures differ.

    Args:
        left: A structure or one of its strings.
        right: The value to compare with it; a shorter tuple differs where it ends.

    Returns:
        Indices from the outermost tuple inwards, or ``None`` when both are equal.

    Examples:
        >>> first_difference(("a", ("b", "c")), ("a", ("b", "d")))
        (1, 1)
    """
    if not isinstance(left, tuple) or not isinstance(right, tuple):
        return None if left == right else ()
    for index, (ours, theirs) in enumerate(zip(left, right, strict=False)):
        path = first_difference(ours, theirs)
        if path is not None:
            return (index, *path)
    return None if len(left) == len(right) else (min(len(left), len(right)),)
