"""Integers arranged along the hierarchy of a Shape."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

from strideweave.layout.shape import Hierarchy, Shape


def nest(modes: Hierarchy, leaves: Iterable[int]) -> list[Any]:
    """Replace the leaves of a hierarchy, depth first, by the given integers."""
    return _filled(modes, iter(leaves))


def _filled(modes: Hierarchy, leaves: Iterator[int]) -> list[Any]:
    return [next(leaves) if isinstance(mode, int) else _filled(mode, leaves) for mode in modes]


def with_mode(modes: Hierarchy, axis: int, replacement: Iterable[Any]) -> list[Any]:
    """Replace one top-level mode by several."""
    return [*modes[:axis], *replacement, *modes[axis + 1 :]]


def with_unit_mode(shape: Shape, axis: int) -> Shape:
    """Give every leaf of one top-level mode the extent 1."""
    unit = nest(shape.top_level[axis : axis + 1], repeat(1))
    return Shape(with_mode(shape.top_level, axis, unit))
