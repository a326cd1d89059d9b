"""Explicit promotion and eviction of tiles."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from strideweave.carriers.move import AwaitResult
from strideweave.carriers.move.handles import new_handle
from strideweave.carriers.tiled_evictable.capacity import choose_victims, require_room
from strideweave.carriers.tiled_evictable.policy import as_tile_set
from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile, lock
from strideweave.carriers.tiled_evictable.transfers import require_route
from strideweave.carriers.tiled_evictable.transition import Transition


@final
class AwaitResidency(AwaitResult[None]):
    """The handle of a promotion or eviction; its result is None.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> tiers = [ArrayCarrier(n, dtype=sw.DType.Float32) for n in (4, 0)]
        >>> carrier = sw.TiledEvictable(*tiers, grid_shape=(2,), tile_shape=(2,))
        >>> handle = carrier.evict_async(sw.TileSet([(0,)]))
        >>> handle.wait(), handle.done
        (None, True)
    """

    __slots__ = ()


@contextmanager
def waiting(state: ResidencyState) -> Iterator[None]:
    """Count the time that a caller is blocked on tile transfers."""
    start = time.perf_counter()
    try:
        yield
    finally:
        state.counters.count_wait(time.perf_counter() - start)


def start_promotion(
    state: ResidencyState, tiles: object, *, is_awaited: bool = False
) -> AwaitResidency:
    """Start bringing tiles to the primary tier.

    Args:
        state: The tiles of the carrier.
        tiles: A TileSet or TileSelection.
        is_awaited: Whether the caller waits for the outcome at once.

    Returns:
        The handle, finished when nothing is to be done.

    Raises:
        RuntimeError: The carrier is released, or a tile is pending, pinned or invalid.
        TypeError: ``tiles`` is something else.
        ValueError: A tile lies outside the grid.
        NotImplementedError: Tiles cannot move between the tiers.
        MemoryError: They do not fit the capacity beside what is pinned.
    """
    handle = _residency_handle(state, is_awaited)
    with lock:
        requested = _requested(state, tiles)
        moved = [tile for tile in requested if tile.location != "primary"]
        for tile in moved:
            state.refuse_pinned(tile, "promoted")
            state.refuse_invalid(tile, "promoted")
        require_routes(state, moved)
        numbers = [tile.number for tile in requested]
        require_room(state, numbers)
        victims = choose_victims(state, moved, numbers)
        transition = Transition(
            state, handle, promote=moved, victims=victims, is_awaited=is_awaited
        )
    transition.begin()
    return handle


def start_eviction(
    state: ResidencyState, tiles: object, *, is_awaited: bool = False
) -> AwaitResidency:
    """Start bringing tiles to the secondary tier; arguments and failures as for a promotion."""
    handle = _residency_handle(state, is_awaited)
    with lock:
        requested = _requested(state, tiles)
        moved = [tile for tile in requested if tile.location == "primary"]
        for tile in moved:
            state.refuse_pinned(tile, "evicted")
        if moved:
            require_route(state.outward())
        transition = Transition(state, handle, evict=moved, is_awaited=is_awaited)
    transition.begin()
    return handle


def _residency_handle(state: ResidencyState, is_awaited: bool) -> AwaitResidency:
    # Who waits at once counts the start, too, because this thread may copy in it.
    return new_handle(AwaitResidency, None if is_awaited else state.counters.count_wait)


def require_routes(
    state: ResidencyState, entering: Sequence[Tile], leaving: Sequence[Tile] = ()
) -> None:
    """Refuse a request for which there is no way, under the lock.

    Args:
        state: The tiles of the carrier.
        entering: Tiles that are to be promoted.
        leaving: Tiles that a policy wants evicted afterwards.

    Raises:
        NotImplementedError: There is no way in, or no way out for what makes room or leaves.
    """
    if any(tile.location == "secondary" for tile in entering):
        require_route(state.inward())
    if leaving or (entering and choose_victims(state, entering)):
        require_route(state.outward())


def _requested(state: ResidencyState, tiles: object) -> list[Tile]:
    state.refuse_released()
    numbers = state.grid.bind(as_tile_set(tiles, "tiles"), "tiles")
    requested = [state.tiles[number] for number in numbers]
    for tile in requested:
        state.refuse_pending(tile)
    return requested


def promote_to_write(state: ResidencyState, numbers: Sequence[int]) -> None:
    """Bring tiles to the primary tier for a write, all of them or none, and wait for them."""
    with waiting(state):
        start_promotion(state, state.grid.tile_set(numbers), is_awaited=True).wait()
