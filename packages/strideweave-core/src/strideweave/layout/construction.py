"""Layouts made from a shape alone."""

from __future__ import annotations

from functools import lru_cache

from strideweave.layout.layout import Layout
from strideweave.layout.shape import Hierarchy, Shape, Stride


@lru_cache(maxsize=4096)
def canonical_layout(shape: Shape) -> Layout:
    """The layout whose strides count the coordinates, first mode fastest.

    Equal shapes give the identical layout as long as it stays in the bounded cache.

    Args:
        shape: Any Shape; extent-one leaves take part in the chain of strides.

    Returns:
        The compact layout of that shape.

    Examples:
        >>> from strideweave import Shape
        >>> print(canonical_layout(Shape(2, (1, 3))))
        (2,(1,3)):(1,(2,2))
    """
    return Layout._of(shape, Stride._from_hierarchy(_running_products(shape.top_level, 1)[0]))


def _running_products(level: Hierarchy, radix: int) -> tuple[Hierarchy, int]:
    strides: list[int | Hierarchy] = []
    for entry in level:
        if isinstance(entry, int):
            strides.append(radix)
            radix *= entry
        else:
            nested, radix = _running_products(entry, radix)
            strides.append(nested)
    return tuple(strides), radix
