"""The grid of equally shaped tiles: where each slot of the full extent lives."""

from collections.abc import Iterable
from functools import lru_cache
from math import prod
from typing import final

from strideweave.carriers.tiled_evictable.tiles import TileSelection, TileSet
from strideweave.layout import Layout, Shape, Stride
from strideweave.layout.construction import canonical_layout

Extents = tuple[int, ...]


@lru_cache(maxsize=1024)
def flat_layout(extents: Extents, strides: Extents) -> Layout:
    """Build a layout with one leaf per axis."""
    return Layout(Shape(list(extents)), Stride(list(strides)))


def running_products(extents: Extents) -> Extents:
    """Give the strides that count coordinates first-mode-fastest."""
    return tuple(prod(extents[:axis]) for axis in range(len(extents)))


@final
class TileGrid:
    """One geometry; equal geometries compare and hash alike.

    Attributes:
        grid_shape: Tiles per axis.
        tile_shape: Extents of each tile.
        logical_shape: Extents of the full tensor.
        extent: Slots of the full tensor.
        tile_count: How many tiles there are.
        tile_slots: Slots of each tile.
        strides: Distance in slots between neighbours of the full tensor, per axis.
        tile_strides: Distance in local ordinals between neighbours within a tile, per axis.
        footprint: Sends a place within a tile to its slot, relative to the tile's first slot.
        tile_layout: Sends a place within a tile to its local ordinal.
        tile_run: Sends each local ordinal to itself.
        full_layout: The canonical layout of the full tensor.
    """

    __slots__ = (
        "_hash",
        "_number_strides",
        "extent",
        "footprint",
        "full_layout",
        "grid_shape",
        "logical_shape",
        "strides",
        "tile_count",
        "tile_layout",
        "tile_run",
        "tile_shape",
        "tile_slots",
        "tile_strides",
    )

    def __init__(self, grid_shape: Extents, tile_shape: Extents) -> None:
        self.grid_shape = grid_shape
        self.tile_shape = tile_shape
        self.logical_shape = tuple(
            tiles * extent for tiles, extent in zip(grid_shape, tile_shape, strict=True)
        )
        self.extent = prod(self.logical_shape)
        self.tile_count = prod(grid_shape)
        self.tile_slots = prod(tile_shape)
        self.strides = running_products(self.logical_shape)
        self.tile_strides = running_products(tile_shape)
        self.footprint = flat_layout(tile_shape, self.strides)
        self.tile_layout = canonical_layout(Shape(list(tile_shape)))
        self.tile_run = Layout.leaf(self.tile_slots, 1)
        self.full_layout = canonical_layout(Shape(list(self.logical_shape)))
        self._number_strides = running_products(grid_shape)
        self._hash = hash((grid_shape, tile_shape))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TileGrid):
            return NotImplemented
        return self.grid_shape == other.grid_shape and self.tile_shape == other.tile_shape

    def __hash__(self) -> int:
        return self._hash

    def locate(self, slot: int) -> tuple[int, int]:
        """Decode a slot into the number of its tile and its local ordinal there."""
        number = local = 0
        for extent, tile, number_stride, tile_stride in zip(
            self.logical_shape,
            self.tile_shape,
            self._number_strides,
            self.tile_strides,
            strict=True,
        ):
            slot, place = divmod(slot, extent)
            tile_index, within = divmod(place, tile)
            number += tile_index * number_stride
            local += within * tile_stride
        return number, local

    def decoded(self, slot: int) -> Extents:
        """Give the coordinate of a slot in the full tensor."""
        coordinate = []
        for extent in self.logical_shape:
            slot, place = divmod(slot, extent)
            coordinate.append(place)
        return tuple(coordinate)

    def coordinate(self, number: int) -> Extents:
        """Give the coordinate of a tile."""
        coordinate = []
        for tiles in self.grid_shape:
            number, place = divmod(number, tiles)
            coordinate.append(place)
        return tuple(coordinate)

    def number(self, coordinate: Extents) -> int:
        """Give the number of a tile, which counts coordinates axis 0 fastest."""
        return sum(
            place * stride for place, stride in zip(coordinate, self._number_strides, strict=True)
        )

    def first_slot(self, number: int) -> int:
        """Give the slot of a tile's local ordinal 0."""
        return sum(
            place * tile * stride
            for place, tile, stride in zip(
                self.coordinate(number), self.tile_shape, self.strides, strict=True
            )
        )

    def tile_set(self, numbers: Iterable[int]) -> TileSet:
        """Give tiles by number as a set of coordinates."""
        return TileSet(map(self.coordinate, numbers))

    def bind(self, tiles: TileSet | TileSelection, name: str) -> list[int]:
        """Give the numbers of tiles that must lie in this grid, in their order.

        Raises:
            ValueError: The rank differs, or a tile lies outside the grid.
        """
        rank = len(self.grid_shape)
        coordinates = tiles.coordinates
        if coordinates and len(coordinates[0]) != rank:
            raise ValueError(
                f"{name} has rank {len(coordinates[0])}, but the grid {self.grid_shape} has rank "
                f"{rank}"
            )
        for coordinate in coordinates:
            if any(map(int.__ge__, coordinate, self.grid_shape)):
                raise ValueError(f"{name}: tile {coordinate} is outside the grid {self.grid_shape}")
        return [self.number(coordinate) for coordinate in coordinates]


@lru_cache(maxsize=256)
def tile_grid(grid_shape: Extents, tile_shape: Extents) -> TileGrid:
    """Give the grid of a geometry; equal ones are usually the identical object."""
    return TileGrid(grid_shape, tile_shape)


def checked_extents(value: object, name: str) -> Extents:
    """Read a shape argument.

    Raises:
        TypeError: It is not iterable, or an extent is not exactly an int.
        ValueError: It has no axis, or an extent is not positive.
    """
    if not isinstance(value, Iterable):
        raise TypeError(f"{name} must be an iterable of ints, got {value!r}")
    extents = tuple(value)
    if not extents:
        raise ValueError(f"{name} is empty; give one extent per axis")
    for axis, extent in enumerate(extents):
        if type(extent) is not int:
            kind = type(extent).__qualname__
            raise TypeError(f"{name}[{axis}] must be an int, got {extent!r} ({kind})")
        if extent <= 0:
            raise ValueError(f"{name}[{axis}] must be positive, got {extent}")
    return extents
