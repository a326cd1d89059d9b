"""Ordinals and hierarchical coordinates of a shape level (first mode fastest)."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strideweave.layout.shape import Hierarchy, ShapeLevel


def decode(level: ShapeLevel, index: object) -> tuple[object, ...]:
    """The nested coordinate of an ordinal; see `Shape.decode`."""
    if not isinstance(index, int) or isinstance(index, bool):
        raise TypeError(
            f"Shape index must be an integer, got {type(index).__qualname__}: {index!r}"
        )
    if not 0 <= index < level.logical_size:
        raise ValueError(
            f"Index is not in domain of shape: {index} lies outside [0, {level.logical_size})"
        )
    return _decode(level, index)


def _decode(level: ShapeLevel, ordinal: int) -> tuple[object, ...]:
    components: list[object] = []
    for entry in level:
        if isinstance(entry, int):
            ordinal, component = divmod(ordinal, entry)
            components.append(component)
        else:
            ordinal, nested = divmod(ordinal, entry.logical_size)
            components.append(_decode(entry, nested))
    return tuple(components)


def encode(level: ShapeLevel, coordinate: object) -> int:
    """The ordinal of a coordinate of a whole level; see `Shape.encode`."""
    if isinstance(coordinate, (tuple, list)):
        if len(coordinate) != len(level):
            raise ValueError(
                f"Coordinate does not match shape hierarchy: {coordinate!r} has "
                f"{len(coordinate)} components where the shape has {len(level)} modes"
            )
        ordinal, radix = 0, 1
        for entry, component in zip(level, coordinate, strict=True):
            if isinstance(entry, int):
                ordinal += radix * _encode_leaf(entry, component)
                radix *= entry
            else:
                ordinal += radix * encode(entry, component)
                radix *= entry.logical_size
        return ordinal
    if isinstance(coordinate, int) and not isinstance(coordinate, bool):
        return _within(coordinate, level.logical_size)
    raise TypeError(
        f"Coordinate must be an integer, tuple, or list, "
        f"got {type(coordinate).__qualname__}: {coordinate!r}"
    )


def _encode_leaf(extent: int, component: object) -> int:
    if isinstance(component, int) and not isinstance(component, bool):
        return _within(component, extent)
    if isinstance(component, (tuple, list)):
        raise ValueError(
            f"Coordinate does not match shape hierarchy: {component!r} stands where the shape "
            f"has a leaf of extent {extent}"
        )
    raise TypeError(
        f"Coordinate must contain only integers, tuples, or lists, "
        f"got {type(component).__qualname__}: {component!r}"
    )


def expand(level: Hierarchy, key: object) -> tuple[int, ...]:
    """Split an ordinal into one ordinal per entry of a level; see `Layout.expand_int`."""
    if not isinstance(key, int) or isinstance(key, bool):
        raise TypeError(f"key must be an integer, got {type(key).__qualname__}: {key!r}")
    sizes = [_size(entry) for entry in level]
    if not 0 <= key < prod(sizes):
        raise ValueError(f"key is not in domain of the level: {key} outside [0, {prod(sizes)})")
    remaining = int(key)
    components: list[int] = []
    for size in sizes:
        remaining, component = divmod(remaining, size)
        components.append(component)
    return tuple(components)


def _size(entry: int | Hierarchy) -> int:
    return entry if isinstance(entry, int) else prod(map(_size, entry))


def _within(ordinal: int, size: int) -> int:
    if not 0 <= ordinal < size:
        raise ValueError(
            f"Coordinate is not in domain of shape: {ordinal} lies outside [0, {size})"
        )
    return int(ordinal)
