"""The plain form in which layouts are computed with: nested tuples of (extent, stride) leaves.

Every algebra module takes and returns `Modes`; only `Layout` itself wraps them.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple, TypeAlias, cast

from strideweave.layout.shape import Hierarchy


class Leaf(NamedTuple):
    """An integer entry of a layout."""

    extent: int
    stride: int


Mode: TypeAlias = "Leaf | tuple[Mode, ...]"
Modes: TypeAlias = tuple[Mode, ...]

SINGLETON: Modes = (Leaf(1, 0),)


def pair(shape: Hierarchy, stride: Hierarchy) -> Modes:
    """Zip two congruent hierarchies."""
    return tuple(
        Leaf(extent, cast(int, step))
        if isinstance(extent, int)
        else pair(extent, cast(Hierarchy, step))
        for extent, step in zip(shape, stride, strict=True)
    )


def extents(modes: Modes) -> Hierarchy:
    """The hierarchy of extents."""
    return tuple(mode.extent if isinstance(mode, Leaf) else extents(mode) for mode in modes)


def strides(modes: Modes) -> Hierarchy:
    """The hierarchy of strides."""
    return tuple(mode.stride if isinstance(mode, Leaf) else strides(mode) for mode in modes)


def scale(stride: Hierarchy, factor: int) -> Hierarchy:
    """The strides times a factor."""
    return tuple(step * factor if isinstance(step, int) else scale(step, factor) for step in stride)


def leaves(modes: Modes) -> tuple[Leaf, ...]:
    """All leaves depth first."""
    found: list[Leaf] = []
    for mode in modes:
        if isinstance(mode, Leaf):
            found.append(mode)
        else:
            found.extend(leaves(mode))
    return tuple(found)


def size(modes: Modes) -> int:
    """The number of coordinates."""
    return prod(leaf.extent for leaf in leaves(modes))


def span(modes: Modes) -> int:
    """One more than the largest index (the cosize)."""
    return 1 + sum((leaf.extent - 1) * leaf.stride for leaf in leaves(modes))


def sublayout(mode: Mode) -> Modes:
    """One mode as a layout of its own: a leaf alone, or the contents of a nested mode."""
    return (mode,) if isinstance(mode, Leaf) else mode


def is_leaf(modes: Modes) -> bool:
    """Whether there is at most one mode and no nesting."""
    return not modes or (len(modes) == 1 and isinstance(modes[0], Leaf))


def append(first: Modes, second: Modes) -> Modes:
    """Add `second` as one nested mode, or splice it when it is a leaf or empty."""
    return first + (second if is_leaf(second) else (second,))


def gather(parts: Iterable[Modes]) -> Modes:
    """Append all parts, left to right."""
    result: Modes = ()
    for part in parts:
        result = append(result, part)
    return result
