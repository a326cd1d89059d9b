"""Which full tensors keep every tile's values in that tile's own slots, and how."""

from functools import lru_cache
from typing import Final, TypeAlias

from strideweave.carriers.tiled_evictable.geometry import TileGrid
from strideweave.layout import Layout, Shape, Stride
from strideweave.ops.metadata import layout_of
from strideweave.tensor import Tensor
from strideweave.tensor.boundary import require_one_subtensor

Leaf: TypeAlias = tuple[int, int]
"""Extent and stride."""

_CACHED_PLACEMENTS: Final = 1024


def full_placement(grid: TileGrid, tensor: Tensor, subject: str) -> Layout:
    """Check that a Tensor is a full one whose tiles are the carrier's.

    Args:
        grid: The geometry of its carrier.
        tensor: A Tensor over the carrier.
        subject: What the Tensor is, for messages.

    Returns:
        The layout that sends each coordinate within a tile, one mode per axis, to its local
        ordinal; it is the same for every tile.

    Raises:
        NotImplementedError: The Tensor has several subtensors.
        ValueError: Its shape is not the full logical shape, or its layout mixes tiles.
    """
    require_one_subtensor(tensor, f"{subject} of a TiledEvictable")
    layout = tensor.layout
    if not has_full_shape(grid, layout):
        sizes = tuple(mode.size for mode in layout)
        raise ValueError(
            f"{subject} must have the full logical shape {grid.logical_shape} of its "
            f"TiledEvictable, one mode per axis, got mode sizes {sizes} in {layout}"
        )
    placed = placement(grid, tensor.offset, layout)
    if placed is None:
        raise ValueError(
            f"{subject} has layout {layout} at offset {tensor.offset}, whose tile footprints "
            f"differ from those of the carrier's tiles of shape {grid.tile_shape}; use a layout "
            "that permutes values only inside tiles, such as the canonical one"
        )
    return placed


def has_full_shape(grid: TileGrid, layout: Layout) -> bool:
    """Tell whether a layout has one top-level mode per axis, of the full extents."""
    return len(layout) == len(grid.logical_shape) and all(
        mode.size == extent for mode, extent in zip(layout, grid.logical_shape, strict=True)
    )


def placement(grid: TileGrid, offset: int, layout: Layout) -> Layout | None:
    """Give the layout within each tile, or None where some tile's footprint differs."""
    if offset == 0 and layout == grid.full_layout:
        return grid.tile_layout
    return _placement(grid, offset, layout)


def is_full(grid: TileGrid, tensor: Tensor) -> bool:
    """Tell whether a Tensor over a carrier of a geometry is a full one."""
    is_shaped = has_full_shape(grid, tensor.layout)
    return is_shaped and placement(grid, tensor.offset, tensor.layout) is not None


@lru_cache(maxsize=_CACHED_PLACEMENTS)
def _placement(grid: TileGrid, offset: int, layout: Layout) -> Layout | None:
    # The footprint of a tile is the first one's, translated. So a layout fits exactly when each
    # mode splits at the tile extent into leaves that step from tile to tile as the carrier does,
    # and leaves that together fill the first tile.
    if offset != 0:
        return None
    modes: list[list[Leaf]] = []
    for mode, tile, stride in zip(layout, grid.tile_shape, grid.strides, strict=True):
        split = _split(_coalesced(mode), tile)
        if split is None or not _is_progression(split[1], tile * stride):
            return None
        modes.append(split[0])
    local_strides = _filling(grid, [leaf for mode in modes for leaf in mode])
    if local_strides is None:
        return None
    return _nested(modes, local_strides)


def _coalesced(mode: Layout) -> list[Leaf]:
    """List the leaves of a mode, with those joined that count on from each other."""
    leaves: list[Leaf] = []
    for extent, stride in zip(mode.leaf_extents, mode.leaf_strides, strict=True):
        if extent == 1:
            continue
        if leaves and stride == leaves[-1][0] * leaves[-1][1]:
            leaves[-1] = (leaves[-1][0] * extent, leaves[-1][1])
        else:
            leaves.append((extent, stride))
    return leaves


def _split(leaves: list[Leaf], tile: int) -> tuple[list[Leaf], list[Leaf]] | None:
    """Divide the leaves of a mode into those within a tile and those from tile to tile."""
    within: list[Leaf] = []
    across: list[Leaf] = []
    remaining = tile
    for extent, stride in leaves:
        if remaining == 1:
            across.append((extent, stride))
        elif remaining % extent == 0:
            within.append((extent, stride))
            remaining //= extent
        elif extent % remaining == 0:
            within.append((remaining, stride))
            across.append((extent // remaining, stride * remaining))
            remaining = 1
        else:
            return None
    return within, across


def _is_progression(leaves: list[Leaf], step: int) -> bool:
    """Tell whether leaves give the multiples of a step in order."""
    for extent, stride in leaves:
        if stride != step:
            return False
        step *= extent
    return True


def _filling(grid: TileGrid, leaves: list[Leaf]) -> dict[Leaf, int] | None:
    """Give each leaf's stride in local ordinals, if all leaves together fill the first tile."""
    strides: dict[Leaf, int] = {}
    ascending = sorted(leaves, key=lambda leaf: leaf[1])
    position = 0
    for extent, stride, local in _footprint_runs(grid):
        filled = 1
        while filled < extent:
            if position == len(ascending) or ascending[position][1] != stride * filled:
                return None
            leaf = ascending[position]
            if extent % (filled * leaf[0]) != 0:
                return None
            strides[leaf] = local * filled
            filled *= leaf[0]
            position += 1
    return strides if position == len(ascending) else None


def _footprint_runs(grid: TileGrid) -> list[tuple[int, int, int]]:
    """List extent, slot stride and local stride of each run of a tile's footprint.

    Axes that a tile covers whole continue in the next axis.
    """
    runs: list[tuple[int, int, int]] = []
    for tile, stride, local in zip(grid.tile_shape, grid.strides, grid.tile_strides, strict=True):
        if tile == 1:
            continue
        if runs and runs[-1][0] * runs[-1][1] == stride:
            runs[-1] = (runs[-1][0] * tile, *runs[-1][1:])
        else:
            runs.append((tile, stride, local))
    return runs


def _nested(modes: list[list[Leaf]], local_strides: dict[Leaf, int]) -> Layout:
    """Build the layout with one mode per axis, nested where an axis has several leaves."""
    extents: list[int | tuple[int, ...]] = []
    strides: list[int | tuple[int, ...]] = []
    for mode in modes:
        if len(mode) < 2:
            extents.append(mode[0][0] if mode else 1)
            strides.append(local_strides[mode[0]] if mode else 0)
        else:
            extents.append(tuple(leaf[0] for leaf in mode))
            strides.append(tuple(local_strides[leaf] for leaf in mode))
    return Layout(Shape(list(extents)), Stride(list(strides)))


def region_layout(within: Layout, axis_strides: tuple[int, ...]) -> Layout:
    """Place the coordinates of a tile in storage with its own distance per axis.

    Args:
        within: A layout that ``full_placement`` gave; only its nesting counts.
        axis_strides: The distance between neighbours along each axis.

    Returns:
        A layout of the same shape.
    """
    leaf_strides = []
    for mode, distance in zip(within, axis_strides, strict=True):
        for extent in mode.leaf_extents:
            leaf_strides.append(distance)
            distance *= extent
    return layout_of(within.shape, tuple(leaf_strides))
