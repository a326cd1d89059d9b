"""Flat layouts from extents."""

from itertools import accumulate
from operator import mul

from strideweave.layout import Layout, Shape, Stride


def column_major(*extents: int) -> Layout:
    """Build the flat compact layout whose first mode is fastest.

    Args:
        *extents: At least one extent, each at least 1.

    Returns:
        A layout with stride 1 first, then the running products of the extents.

    Raises:
        ValueError: There is no extent, or one is no positive integer.

    Examples:
        >>> import strideweave as sw
        >>> print(sw.friendly.column_major(2, 3, 4))
        (2,3,4):(1,2,6)
    """
    return column_major_for("column_major", extents)


def column_major_for(function: str, extents: tuple[int, ...]) -> Layout:
    """Build the column-major layout of extents that were given to a function.

    Raises:
        ValueError: There is no extent, or one is no positive integer; the message names the
            function.
    """
    checked = _checked_extents(function, extents)
    return Layout(Shape(checked), Stride(_running_products(checked)))


def row_major(*extents: int) -> Layout:
    """Build the flat compact layout whose last mode is fastest.

    Args:
        *extents: At least one extent, each at least 1.

    Returns:
        A layout with stride 1 last.

    Raises:
        ValueError: There is no extent, or one is no positive integer.

    Examples:
        >>> import strideweave as sw
        >>> print(sw.friendly.row_major(2, 3, 4))
        (2,3,4):(12,4,1)
    """
    checked = _checked_extents("row_major", extents)
    return Layout(Shape(checked), Stride(_running_products(checked[::-1])[::-1]))


def _running_products(extents: list[int]) -> list[int]:
    return list(accumulate(extents[:-1], mul, initial=1))


def _checked_extents(function: str, extents: tuple[object, ...]) -> list[int]:
    checked = []
    for position, extent in enumerate(extents):
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
            raise ValueError(
                f"{function}: extents must be positive integers, extent {position} is {extent!r}"
                + _hint(function, extents)
            )
        checked.append(extent)
    if not checked:
        raise ValueError(f"{function}: at least one extent is needed")
    return checked


def _hint(function: str, extents: tuple[object, ...]) -> str:
    """Write out the call that was meant where extents came as a tuple, a list or a Shape."""
    if not all(isinstance(extent, (int, tuple, list, Shape)) for extent in extents):
        return ""
    try:
        leaves = Shape(extents).leaves
    except ValueError:
        return ""
    return f"; write {function}({', '.join(map(str, leaves))})"
