"""Carriers of the same configuration as another one."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import strideweave.host as host
from strideweave.carriers.dtype import DType
from strideweave.carriers.normalization import normalize
from strideweave.carriers.tiled_evictable.buffers import (
    Buffer,
    Region,
    copy_region,
    fresh_like,
    is_zero,
    new_buffer,
)
from strideweave.carriers.tiled_evictable.geometry import TileGrid
from strideweave.carriers.tiled_evictable.seeding import put
from strideweave.carriers.tiled_evictable.state import Location, ResidencyState
from strideweave.layout import Layout

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


def invalid_like(
    carrier: "TiledEvictable", *, mutable: bool = True, dtype: DType | None = None
) -> "TiledEvictable":
    """Build a carrier of the same configuration, whose tiles are all invalid."""
    state = carrier._state
    storage_dtype = state.dtype if dtype is None else dtype
    tiers = (
        fresh_like(state.primary, 0, storage_dtype, mutable=mutable),
        fresh_like(state.secondary, 0, storage_dtype),
    )
    return type(carrier)(
        *tiers,
        grid_shape=state.grid.grid_shape,
        tile_shape=state.grid.tile_shape,
        residency_policy=state.policy,
        primary_capacity=state.capacity,
    )


def allocated_like(
    carrier: "TiledEvictable", size: object, *, mutable: bool, dtype: DType | None, empty: object
) -> "TiledEvictable":
    """Build a carrier of the same configuration, of implicit zeros or invalid tiles."""
    extent = carrier._state.grid.extent
    if type(size) is not int:
        kind = type(size).__qualname__
        raise TypeError(f"TiledEvictable.allocate_like: size must be an int, got {size!r} ({kind})")
    if size != extent:
        raise ValueError(
            f"TiledEvictable.allocate_like: size must be {extent}, the slots of the logical shape "
            f"{carrier.logical_shape}, got {size}"
        )
    if type(empty) is not bool:
        raise TypeError(f"TiledEvictable.allocate_like: empty must be a bool, got {empty!r}")
    fresh = invalid_like(carrier, mutable=mutable, dtype=dtype)
    if not empty:
        for tile in fresh._state.tiles:
            tile.location = "implicit"
    return fresh


def filled_like_values(
    carrier: "TiledEvictable", values: Iterable[Any], *, mutable: bool, dtype: DType | None
) -> "TiledEvictable":
    """Build a carrier of the same configuration that holds values in slot order."""
    grid = carrier._state.grid
    storage_dtype = carrier._state.dtype if dtype is None else dtype
    buffer = _buffer(values, storage_dtype)
    if len(buffer) != grid.extent:
        raise ValueError(
            f"TiledEvictable.new_like: values must number {grid.extent}, one per slot of the "
            f"logical shape {grid.logical_shape}, got {len(buffer)}"
        )
    fresh = invalid_like(carrier, mutable=mutable, dtype=dtype)
    stored = []

    def region(number: int) -> Region:
        return Region(buffer, grid.first_slot(number), grid.footprint)

    for tile in fresh._state.tiles:
        if _is_zero_region(grid, storage_dtype, region(tile.number)):
            tile.location = "implicit"
        else:
            stored.append(tile.number)
    put_all(fresh._state, stored, region)
    return fresh


def one_slot(carrier: "TiledEvictable", value: object, dtype: DType) -> "TiledEvictable":
    """Build a carrier of one tile of one slot, for a constant beside Tensors of another carrier.

    Its tile is primary for good, so that it needs neither capacity nor the secondary tier.
    """
    primary = carrier._state.primary
    tiers = (fresh_like(primary, 0, dtype), fresh_like(primary, 0, dtype))
    fresh = type(carrier)(*tiers, grid_shape=(1,), tile_shape=(1,))
    state = fresh._state
    put(state, state.tiles[0], Region(_buffer([value], dtype), 0, state.grid.tile_layout))
    return fresh


def put_all(
    state: ResidencyState,
    numbers: Sequence[int],
    region_of: Callable[[int], Region],
    within: Layout | None = None,
    *,
    is_passing: bool = False,
) -> None:
    """Give tiles of a fresh carrier clean values; with a capacity only the last ones are primary.

    Args:
        state: The tiles of the carrier.
        numbers: Which tiles.
        region_of: Gives the values of a tile, in the shape of ``within``.
        within: Sends each place to its local ordinal; by default one leaf per axis.
        is_passing: Whether the values are only read once and copied, so that with a capacity no
            tile needs to be primary.
    """
    overflow = 0
    if state.capacity is not None:
        overflow = len(numbers) - (0 if is_passing else state.capacity)
    for position, number in enumerate(numbers):
        location: Location = "secondary" if position < overflow else "primary"
        put(state, state.tiles[number], region_of(number), location, within)


def _buffer(values: Iterable[Any], dtype: DType) -> Buffer:
    try:
        entries = iter(values)
    except TypeError as error:
        raise TypeError(
            f"TiledEvictable.new_like: values must be iterable, got {values!r}"
        ) from error
    normalized = [_normalized(dtype, value) for value in entries]
    if dtype not in host.SPAN_FORMATS:
        return normalized
    buffer = new_buffer(len(normalized), dtype)
    for slot, value in enumerate(normalized):
        buffer[slot] = value
    return buffer


def _normalized(dtype: DType, value: object) -> Any:
    if value is None:
        raise TypeError(f"new_like: None is no value of {dtype!r}; give every slot a value")
    return normalize(dtype, value)


def _is_zero_region(grid: TileGrid, dtype: DType, region: Region) -> bool:
    packed = new_buffer(grid.tile_slots, dtype)
    copy_region(region, Region(packed, 0, grid.tile_layout))
    return is_zero(packed)
