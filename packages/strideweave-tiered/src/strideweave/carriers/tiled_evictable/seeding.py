"""The tiles of a new carrier, from a full seed or from given values."""

from strideweave.carriers import Carrier
from strideweave.carriers.tiled_evictable.buffers import (
    Canvas,
    Region,
    fresh_like,
    read_slots,
    write_slots,
)
from strideweave.carriers.tiled_evictable.state import Location, ResidencyState, Tile
from strideweave.layout import Layout
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over


def fill_from_seed(state: ResidencyState, seed: Carrier, location: Location) -> None:
    """Split a full tier into tiles, one contiguous slab along the last axis after the other.

    With a capacity the tiles with the lowest numbers become primary, the others secondary.
    """
    grid = state.grid
    slab_slots = grid.tile_shape[-1] * grid.strides[-1]
    tiles_per_slab = grid.tile_count // grid.grid_shape[-1]
    for slab in range(grid.grid_shape[-1]):
        start = slab * slab_slots
        values = read_slots(seed, start, slab_slots)
        for number in range(slab * tiles_per_slab, (slab + 1) * tiles_per_slab):
            is_full = state.capacity is not None and number >= state.capacity
            place: Location = "secondary" if location == "primary" and is_full else location
            region = Region(values, grid.first_slot(number) - start, grid.footprint)
            put(state, state.tiles[number], region, place)


def put(
    state: ResidencyState,
    tile: Tile,
    values: Region,
    location: Location = "primary",
    within: Layout | None = None,
) -> None:
    """Give a tile of a carrier under construction clean values.

    Args:
        state: The tiles of the carrier.
        tile: A tile without values.
        values: The values, in the shape of ``within``.
        location: The tier.
        within: Sends each place to its local ordinal; by default one leaf per axis.
    """
    prototype = state.primary if location == "primary" else state.secondary
    storage = packed_like(state, prototype, values, within)
    if location == "primary":
        state.enter(tile, storage)
    else:
        tile.secondary = storage
        tile.location = "secondary"


def packed_like(
    state: ResidencyState, prototype: Carrier, values: Region, within: Layout | None = None
) -> Carrier:
    """Build the storage of one tile.

    Args:
        state: The tiles of the carrier.
        prototype: The tier.
        values: The values, in the shape of ``within``.
        within: Sends each place to its local ordinal; by default one leaf per axis.
    """
    count, places = state.grid.tile_slots, within or state.grid.tile_layout
    storage = fresh_like(prototype, count, state.dtype, empty=True)
    try:
        if values.layout == places:  # they lie in local order already
            write_slots(storage, 0, values.buffer[values.offset : values.offset + count])
        else:
            canvas = Canvas(storage, count)
            canvas.paint(0, places, values)
            canvas.finish()
    except BaseException:
        storage.release()
        raise
    return storage


def scratch_tile(state: ResidencyState, values: Region) -> Tensor:
    """Copy values in the shape of a tile to a Tensor on the compute class."""
    carrier = packed_like(state, state.primary, values)
    return tensor_over(carrier, 0, state.grid.tile_layout, state.dtype)
