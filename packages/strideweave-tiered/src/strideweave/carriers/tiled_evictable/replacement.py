"""New values for all tiles of a carrier, or for those with a gradient, in one step."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from strideweave.carriers import Carrier
from strideweave.carriers.tiled_evictable.buffers import Region, read_slots, zeros
from strideweave.carriers.tiled_evictable.footprints import is_full
from strideweave.carriers.tiled_evictable.gradients import tiles_of
from strideweave.carriers.tiled_evictable.seeding import packed_like, scratch_tile
from strideweave.carriers.tiled_evictable.state import ResidencyState, lock
from strideweave.carriers.tiled_evictable.storage import read_tile, require_writable
from strideweave.carriers.tiled_evictable.transition import quiet, release_all
from strideweave.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


def store_tensor(carrier: "TiledEvictable", tensor: Tensor, values: Tensor) -> bool:
    """Replace all values of a full Tensor, tile by tile.

    Tiles that are implicit zero here and in a tiled source stay so.

    Returns:
        False, with nothing written, where the Tensor is no full one, or the values are its own.

    Raises:
        RuntimeError: A tile is pending, pinned or invalid.
    """
    state = carrier._state
    if not is_full(state.grid, tensor) or values.carrier is carrier:
        return False
    source, stored = tiles_of(values, tensor)
    with lock:
        written = sorted({*stored, *state.numbers("primary", "secondary", "invalid")})

    def region(number: int) -> Region:
        return source(number) or zeros(state.dtype, state.grid.tile_layout)

    replace(state, written, region)
    return True


def step_tiles(
    carrier: "TiledEvictable",
    tensor: Tensor,
    gradient: Tensor,
    step: Callable[[int, Tensor, Tensor], None],
) -> bool:
    """Let an optimiser step every tile of a full Tensor whose gradient is not implicit zero.

    Args:
        carrier: The carrier of the Tensor.
        tensor: A full Tensor.
        gradient: A Tensor of its shape, dense or tiled.
        step: Is given a tile's number, its values as a Tensor to write to, and its gradient.

    Returns:
        False, with nothing written, where the Tensor is no full one.

    Raises:
        RuntimeError: A tile is pending, pinned or invalid.
    """
    state = carrier._state
    if not is_full(state.grid, tensor):
        return False
    source, stored = tiles_of(gradient, tensor)

    def region(number: int) -> Region:
        present = read_tile(state, state.tiles[number])
        blank = zeros(state.dtype, state.grid.tile_layout)
        values = blank if present is None else Region(present, 0, state.grid.tile_layout)
        slots = scratch_tile(state, values)
        step(number, slots, scratch_tile(state, source(number) or blank))
        return Region(
            read_slots(slots.carrier, 0, state.grid.tile_slots), 0, state.grid.tile_layout
        )

    replace(state, stored, region)
    return True


def replace(
    state: ResidencyState, numbers: Sequence[int], region_of: Callable[[int], Region]
) -> None:
    """Give tiles new values, all at once; with a capacity only the last ones become primary.

    Args:
        state: The tiles of the carrier.
        numbers: Which tiles.
        region_of: Gives the values of a tile, in the shape of a tile.

    Raises:
        RuntimeError: The carrier is released, or a tile is pending, pinned or invalid.

    What storing values raises propagates, and nothing has changed.
    """
    fresh: dict[int, Carrier] = {}
    tiles = [state.tiles[number] for number in numbers]
    with lock:
        for tile in tiles:
            require_writable(state, tile)
        kept = 0
        if state.capacity is not None:
            others = state.occupants.keys() - set(numbers)
            kept = max(0, len(numbers) + len(others) - state.capacity)
        for tile in tiles:
            tile.holder = fresh
        for tile in tiles[kept:]:
            state.occupants[tile.number] = tile  # nobody else takes the room meanwhile
    try:
        with quiet():
            for position, number in enumerate(numbers):
                prototype = state.secondary if position < kept else state.primary
                fresh[number] = packed_like(state, prototype, region_of(number))
        with lock:
            dropped = _swap(state, fresh, kept)
    except BaseException:
        release_all(fresh.values())
        raise
    finally:
        with lock:
            for tile in tiles:
                tile.holder = None
                if tile.location != "primary":
                    state.occupants.pop(tile.number, None)
    release_all(dropped)


def _swap(state: ResidencyState, fresh: dict[int, Carrier], kept: int) -> list[Carrier | None]:
    """Give tiles new storage, under the lock, and give what they had."""
    dropped: list[Carrier | None] = []
    for position, (number, storage) in enumerate(fresh.items()):
        tile = state.tiles[number]
        was_primary = tile.location == "primary"
        dropped.append(tile.primary)
        if position < kept:
            dropped.append(tile.secondary)
            state.counters.evictions += was_primary
            state.counters.bytes_out += state.tile_bytes
            state.leave(tile)
            tile.secondary = storage
        else:
            state.counters.promotions += not was_primary
            state.enter(tile, storage)
            tile.dirty = True
    return dropped
