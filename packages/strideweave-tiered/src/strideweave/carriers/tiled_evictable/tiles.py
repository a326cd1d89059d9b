"""Tiles of a grid, as an ordered product of axes or as a set of coordinates."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeVar, final

T = TypeVar("T")


def _materialize(value: Iterable[T], name: str) -> tuple[T, ...]:
    try:
        iterator = iter(value)
    except TypeError:
        kind = type(value).__qualname__
        raise TypeError(f"{name} must be a finite iterable, got {value!r} ({kind})") from None
    return tuple(iterator)


def _require_tile_index(index: object, name: str) -> None:
    if type(index) is not int:
        kind = type(index).__qualname__
        raise TypeError(f"{name} must be an int, got {index!r} ({kind})")
    if index < 0:
        raise ValueError(f"{name} must not be negative, got {index}")


def _axis(value: Iterable[int], name: str) -> tuple[int, ...]:
    places: dict[int, str] = {}
    for position, index in enumerate(_materialize(value, name)):
        place = f"{name}[{position}]"
        _require_tile_index(index, place)
        if index in places:
            raise ValueError(f"{place} repeats {places[index]}, tile {index}; name each tile once")
        places[index] = place
    if not places:
        raise ValueError(f"{name} is empty; select at least one tile along each axis")
    return tuple(places)


def _coordinate(value: Iterable[int], name: str) -> tuple[int, ...]:
    coordinate = _materialize(value, name)
    for position, index in enumerate(coordinate):
        _require_tile_index(index, f"{name}[{position}]")
    return coordinate


def _reversed_coordinate(coordinate: tuple[int, ...]) -> tuple[int, ...]:
    return coordinate[::-1]


@final
@dataclass(frozen=True, init=False)
class TileSelection:
    """An ordered Cartesian product of tile indices, one sequence per axis of the grid.

    The order per axis is the caller's: compact coordinate ``c`` stands for the source tile
    ``tuple(per_axis[i][c[i]] for i in range(rank))``. Selections compare and hash by value.

    Args:
        per_axis: For each axis a finite iterable of distinct, non-negative tile indices. Every
            iterable is consumed once.

    Raises:
        TypeError: If ``per_axis`` or an axis is not iterable, or an index is not exactly an
            ``int``.
        ValueError: If there is no axis, an axis is empty, or an index is negative or repeated.

    Examples:
        >>> selection = TileSelection(([7, 2], [4, 9]))
        >>> selection.coordinates
        ((7, 4), (2, 4), (7, 9), (2, 9))
        >>> selection.compact_grid_shape
        (2, 2)
    """

    per_axis: tuple[tuple[int, ...], ...]
    """The chosen tile indices of each axis, in the caller's order."""

    def __init__(self, per_axis: Iterable[Iterable[int]]) -> None:
        axes = tuple(
            _axis(axis, f"per_axis[{position}]")
            for position, axis in enumerate(_materialize(per_axis, "per_axis"))
        )
        if not axes:
            raise ValueError("per_axis is empty; a selection needs one entry per axis of the grid")
        object.__setattr__(self, "per_axis", axes)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.per_axis)

    @cached_property
    def compact_grid_shape(self) -> tuple[int, ...]:
        """How many tiles are selected along each axis."""
        return tuple(len(axis) for axis in self.per_axis)

    @cached_property
    def coordinates(self) -> tuple[tuple[int, ...], ...]:
        """The selected source tiles, axis 0 varying fastest."""
        return tuple(_reversed_coordinate(tile) for tile in product(*reversed(self.per_axis)))

    @cached_property
    def tile_set(self) -> "TileSet":
        """The selected tiles without the caller's order."""
        return TileSet(self.coordinates)


@final
@dataclass(frozen=True, init=False)
class TileSet:
    """A finite set of tile coordinates of one rank. Sets compare and hash by value.

    Args:
        coordinates: A finite iterable of distinct coordinates; each is a finite iterable of
            non-negative tile indices. Every iterable is consumed once.

    Raises:
        TypeError: If ``coordinates`` or a coordinate is not iterable, or an index is not exactly an
            ``int``.
        ValueError: If an index is negative, a coordinate is repeated, or the ranks differ.

    Examples:
        >>> TileSet([(0, 1), (1, 0), (0, 0)]).coordinates
        ((0, 0), (1, 0), (0, 1))
        >>> TileSet().coordinates
        ()
    """

    coordinates: tuple[tuple[int, ...], ...]
    """The tiles, sorted by reversed coordinate: axis 0 varies fastest."""

    def __init__(self, coordinates: Iterable[Iterable[int]] = ()) -> None:
        tiles: dict[tuple[int, ...], str] = {}
        for position, coordinate in enumerate(_materialize(coordinates, "coordinates")):
            name = f"coordinates[{position}]"
            tile = _coordinate(coordinate, name)
            first = next(iter(tiles), tile)
            if len(tile) != len(first):
                raise ValueError(
                    f"{name} has rank {len(tile)}, but coordinates[0] has {len(first)}"
                )
            if tile in tiles:
                raise ValueError(f"{name} repeats {tiles[tile]}, tile {tile}; name each tile once")
            tiles[tile] = name
        ordered = tuple(sorted(tiles, key=_reversed_coordinate))
        object.__setattr__(self, "coordinates", ordered)
