"""Which tiles make room, and when a request cannot fit."""

from collections.abc import Collection

from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile


def held_numbers(state: ResidencyState) -> set[int]:
    """List the tiles that take room and cannot make any, under the lock.

    They are in the primary tier or on the way there, and pinned, pending or pinned by the policy.
    """
    return {
        tile.number
        for tile in state.occupants.values()
        if tile.pins or tile.holder is not None or tile.number in state.pinned
    }


def require_room(state: ResidencyState, needed: Collection[int], extra: int = 0) -> None:
    """Refuse a request whose tiles cannot all be primary at one time, under the lock.

    Args:
        state: The tiles of the carrier.
        needed: The tiles that must be primary at the same time.
        extra: How many further places are needed.

    Raises:
        MemoryError: They do not fit beside what cannot make room.
    """
    if state.capacity is None:
        return
    held = held_numbers(state)
    total = len(held | set(needed)) + extra
    if total > state.capacity:
        remedy = f"ask for fewer tiles, or build the carrier with a primary_capacity of {total}"
        if held:
            pinned = [state.grid.coordinate(number) for number in sorted(held)]
            remedy = f"tiles {pinned} are pinned or pending: wait for that work, or {remedy}"
        raise MemoryError(
            f"the request needs {total} tiles in the primary tier at one time, but "
            f"primary_capacity is {state.capacity}; {remedy}"
        )


def choose_victims(
    state: ResidencyState, entering: Collection[Tile], kept: Collection[int] = ()
) -> list[Tile]:
    """Choose the tiles that leave so that others can enter, under the lock.

    Args:
        state: The tiles of the carrier.
        entering: Tiles that enter the primary tier.
        kept: Numbers of unpinned tiles that the request needs where they are.

    Returns:
        The least recently used tiles that may leave; among equals those with lower numbers. They
        are too few where nobody made sure that the tiles fit.
    """
    if state.capacity is None:
        return []
    fresh = [tile for tile in entering if tile.number not in state.occupants]
    excess = len(state.occupants) + len(fresh) - state.capacity
    if excess <= 0:
        return []
    candidates = [
        tile
        for tile in state.occupants.values()
        if tile.location == "primary"
        and not tile.pins
        and tile.holder is None
        and tile.number not in state.pinned
        and tile.number not in kept
    ]
    candidates.sort(key=lambda tile: (tile.used, tile.number))
    return candidates[:excess]
