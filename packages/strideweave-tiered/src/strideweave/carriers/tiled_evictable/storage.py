"""The storage callbacks of TiledEvictable: slots are read wherever their tile is."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import strideweave.carriers.spans as spans
from strideweave.carriers import Carrier
from strideweave.carriers.dtype import DType, storage_zero
from strideweave.carriers.extension import StorageProvider
from strideweave.carriers.tiled_evictable.buffers import Buffer, is_zero_value, read_slots
from strideweave.carriers.tiled_evictable.residency import promote_to_write
from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile, lock
from strideweave.carriers.tiled_evictable.transition import release_all

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


def storage_provider() -> "StorageProvider[TiledEvictable]":
    """Build the provider of the one definition."""
    return StorageProvider(
        supports_dtype=_supports_dtype,
        physical_size=lambda carrier: carrier._state.grid.extent,
        allocate=lambda carrier, slots: None,  # tiles get storage with their values
        release=_release,
        read=_read,
        write=_write,
    )


def _supports_dtype(carrier: "TiledEvictable", dtype: DType) -> bool:
    state = carrier._state
    return state.primary.supports_storage_dtype(dtype) and state.secondary.supports_storage_dtype(
        dtype
    )


def _release(carrier: "TiledEvictable") -> None:
    state = carrier._state
    with lock:
        if state.active or any(tile.holder is not None or tile.pins for tile in state.tiles):
            raise RuntimeError(
                "this TiledEvictable has pending work and cannot be released; wait() for it first"
            )
        state.is_released = True
    try:
        if carrier._is_complete:
            state.release_tiers()
        else:
            state.relinquish_tiers()  # construction failed: the tiers stay as they were
    except BaseException:
        state.is_released = False
        raise
    release_all(clear(state))


def clear(state: ResidencyState) -> list[Carrier | None]:
    """Make all tiles invalid, and give the storage they had."""
    with lock:
        storage: list[Carrier | None] = [*state.take_spares()]
        for tile in state.tiles:
            storage += [tile.primary, tile.secondary]
            tile.primary = tile.secondary = None
            tile.location = "invalid"
            tile.dirty = False
        state.occupants.clear()
    return storage


def _read(carrier: "TiledEvictable", index: int) -> object:
    state = carrier._state
    number, local = state.grid.locate(index)
    found = read_present(state, state.tiles[number], lambda storage: storage[local])
    return storage_zero(state.dtype) if found is None else found


def read_tile(state: ResidencyState, tile: Tile) -> Buffer | None:
    """Copy all values of a tile in local order, wherever it is; None for an implicit tile.

    Raises:
        RuntimeError: The carrier is released, or the tile is invalid.
    """

    def copied(storage: Carrier) -> Buffer:
        values = read_slots(storage, 0, state.grid.tile_slots)
        return values if isinstance(values, (list, memoryview)) else values.copy()

    return read_present(state, tile, copied)


def read_present(state: ResidencyState, tile: Tile, read: Callable[[Carrier], Any]) -> Any:
    """Read from the storage that a tile has, again if it moved meanwhile."""
    while True:
        with lock:
            storage, moves = present_storage(state, tile), tile.moves
        if storage is None:
            return None
        error: Exception | None = None
        try:
            values = read(storage)
        except Exception as failure:
            error = failure
        with lock:
            is_current = storage is tile.primary or storage is tile.secondary
            has_moved = tile.moves != moves or not is_current
        if not has_moved:
            if error is not None:
                raise error
            return values


def present_storage(state: ResidencyState, tile: Tile) -> Carrier | None:
    """Give the storage that has a tile's values, under the lock; None for an implicit tile.

    Raises:
        RuntimeError: The carrier is released, or the tile is invalid.
    """
    state.refuse_released()
    if tile.location == "primary":
        state.touch(tile)
        return tile.primary
    state.refuse_invalid(tile, "read")
    return tile.secondary


def _write(carrier: "TiledEvictable", index: int, value: Any) -> None:
    state = carrier._state
    number, local = state.grid.locate(index)
    tile = state.tiles[number]
    while True:
        with lock:
            require_writable(state, tile)
            if tile.location == "implicit" and is_zero_value(value):
                return
            if tile.location == "primary" and tile.primary is not None:
                # Under the lock, so that no eviction begins with the former value.
                spans.write_slot(tile.primary, local, value)
                tile.dirty = True
                state.touch(tile)
                return
        promote_to_write(state, [number])


def require_writable(state: ResidencyState, tile: Tile) -> None:
    """Refuse a write to a tile, under the lock.

    Raises:
        RuntimeError: The carrier is released, or the tile is pending, pinned or invalid.
    """
    state.refuse_released()
    state.refuse_pending(tile)
    state.refuse_pinned(tile, "written")
    state.refuse_active()
    state.refuse_invalid(tile, "written")
