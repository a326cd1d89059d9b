"""The hold of one direct operation on the tiles of one carrier."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import final

from strideweave.carriers import Carrier
from strideweave.carriers.move import AwaitResult
from strideweave.carriers.move.handles import new_handle
from strideweave.carriers.tiled_evictable.capacity import (
    choose_victims,
    held_numbers,
    require_room,
)
from strideweave.carriers.tiled_evictable.policy import BoundPlan, Purpose, consult
from strideweave.carriers.tiled_evictable.residency import require_routes, waiting
from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile, lock
from strideweave.carriers.tiled_evictable.transition import Transition, release_all


@final
class Lease:
    """All tiles of one carrier, for one operation.

    Without a capacity every tile is promoted and pinned first. With one, tiles come and go:
    ``fetch`` brings one and pins it, ``prefetch`` does so in the background, ``done`` lets go.

    Args:
        state: The tiles of the carrier.
        plan: What the policy answered.
        slots: How many tiles must be primary at one time.
    """

    def __init__(self, state: ResidencyState, plan: BoundPlan, slots: int) -> None:
        self.state = state
        self._plan = plan
        self._slots = slots
        self._pinned: list[Tile] = []
        self._arriving: dict[int, AwaitResult[None] | None] = {}
        self._passing: dict[int, int] = {}
        """When the pinned tiles that this operation brought were used last."""
        self._dropped: list[Carrier] = []
        self._is_counted = False
        self._promotion: Transition | None = None
        self._handle: AwaitResult[None] | None = None

    @property
    def streams(self) -> bool:
        """Whether tiles come and go."""
        return self.state.capacity is not None

    def check(self) -> None:
        """Refuse tiles that cannot be used, under the lock.

        Raises:
            RuntimeError: The carrier is released, or a tile is pending, pinned or invalid.
            NotImplementedError: Tiles cannot move between the tiers.
            MemoryError: The working tiles do not fit the capacity.
        """
        state = self.state
        state.refuse_released()
        for tile in state.tiles:
            state.refuse_pending(tile)
            if tile.location != "primary":
                state.refuse_pinned(tile, "promoted")
                state.refuse_invalid(tile, "used")
        entering = [tile for tile in state.tiles if tile.location != "primary"]
        require_routes(state, entering, [state.tiles[number] for number in self._plan.evict])
        if self.streams:
            retained = self._retained()
            held = held_numbers(state) | {tile.number for tile in retained}
            is_missing = any(number not in held for number in self._plan.required)
            kept = [tile.number for tile in retained]
            require_room(state, kept, self._slots if is_missing else 0)

    def take(self) -> None:
        """Pin what stays pinned, under the lock and after the check."""
        state = self.state
        if self.streams:
            state.active += 1
            self._is_counted = True
            self._dropped = state.take_spares()
            self._pinned = self._retained()
        else:
            self._pinned = list(state.tiles)
            for tile in state.tiles:
                state.acquire(tile)
            entering = [tile for tile in state.tiles if tile.location != "primary"]
            if entering:
                self._handle = new_handle(AwaitResult)
                self._promotion = Transition(state, self._handle, promote=entering)
        for tile in self._pinned:
            tile.pins += 1

    def begin(self) -> None:
        """Start what has to arrive before anything is computed."""
        release_all(self._dropped)
        promotion, self._promotion = self._promotion, None
        if promotion is not None:
            promotion.begin()

    def arrive(self) -> None:
        """Wait until it has arrived."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with waiting(self.state):
                handle.wait()

    def _retained(self) -> list[Tile]:
        tiles = [self.state.tiles[number] for number in self._plan.retain]
        return [tile for tile in tiles if tile.location == "primary"]

    # Streaming

    def has_room_for_two(self) -> bool:
        """Tell whether the tiles of two threads are there or fit beside what others hold now."""
        if not self.streams:
            return True
        assert self.state.capacity is not None
        with lock:
            held = len(held_numbers(self.state))
        wanted = min(2 * self._slots, self.state.grid.tile_count)
        return held + wanted <= self.state.capacity

    def fetch(self, number: int) -> Carrier:
        """Bring one tile to the primary tier, pin it, and give its storage.

        Raises:
            RuntimeError: The tile is pending or pinned for other work.
            MemoryError: It does not fit beside what is pinned.

        What a transfer raises propagates.
        """
        tile = self.state.tiles[number]
        if not self.streams:
            assert tile.primary is not None
            return tile.primary
        if number not in self._arriving:
            self._request(tile, is_awaited=True)
        handle = self._arriving[number]
        try:
            if handle is not None:
                with waiting(self.state):
                    handle.wait()
        except Exception:
            self._let_arriving_go(tile)
            raise
        del self._arriving[number]
        self._pinned.append(tile)
        if handle is not None:
            self._passing[number] = tile.used
        assert tile.primary is not None
        return tile.primary

    def prefetch(self, number: int) -> None:
        """Begin to bring one tile, if there is room for it now."""
        if not self.streams or number in self._arriving:
            return
        tile = self.state.tiles[number]
        with lock:
            if tile.location != "primary" and not self._has_room(tile):
                return
        with suppress(Exception):  # whoever needs the tile tries again, and reports it
            self._request(tile, is_awaited=False)

    def _has_room(self, tile: Tile) -> bool:
        assert self.state.capacity is not None
        return len(held_numbers(self.state) | {tile.number}) <= self.state.capacity

    def done(self, number: int) -> None:
        """Let go of a fetched tile.

        If only this operation used it, it is the first to make room: tiles that pass do not drive
        out the ones that stay in use, and the next operation finds those.
        """
        if self.streams:
            tile = self.state.tiles[number]
            with lock:
                if self._passing.pop(number, None) == tile.used:
                    self.state.pass_by(tile)
                tile.pins -= 1
                self._pinned.remove(tile)

    def _request(self, tile: Tile, *, is_awaited: bool) -> None:
        state = self.state
        transition = handle = None
        has_begun = False
        try:
            with lock:
                state.refuse_pending(tile)
                if tile.location != "primary":
                    state.refuse_pinned(tile, "promoted")
                    state.refuse_invalid(tile, "used")
                    require_room(state, [tile.number])
                    handle = new_handle(AwaitResult)
                    transition = Transition(
                        state,
                        handle,
                        promote=[tile],
                        victims=choose_victims(state, [tile]),
                        evicts_first=True,
                        is_awaited=is_awaited,
                    )
                state.acquire(tile)
                tile.pins += 1
                self._arriving[tile.number] = handle
            if transition is not None:
                with waiting(state) if is_awaited else nullcontext():
                    has_begun = True
                    transition.begin()
        except BaseException:
            if transition is not None and not has_begun:
                transition.cancel()
            if tile.number in self._arriving:
                with lock:
                    state.counters.misses -= transition is not None
                self._let_arriving_go(tile)
            raise

    def _let_arriving_go(self, tile: Tile) -> None:
        with lock:
            tile.pins -= 1
            del self._arriving[tile.number]

    # The end

    def let_go(self) -> None:
        """End every hold, whether the operation succeeded or not; again if that was interrupted."""
        if self._promotion is not None:
            self._promotion.cancel()
        for handle in (self._handle, *self._arriving.values()):
            if handle is not None:
                with suppress(Exception):
                    handle.wait()
        with lock:
            for number in tuple(self._arriving):
                self._let_arriving_go(self.state.tiles[number])
            while self._pinned:
                self._pinned[-1].pins -= 1
                self._pinned.pop()
            if self._is_counted:
                self._is_counted = False
                self.state.active -= 1

    def evict_behind(self) -> None:
        """Evict what the policy wants out after the operation, and what waited for its end."""
        waits = any(tile.leaves_when_free for tile in self.state.tiles)
        if not self._plan.evict and not waits:
            return
        handle: AwaitResult[None] = new_handle(AwaitResult)
        with lock:
            late = [tile for tile in self.state.tiles if tile.leaves_when_free and not tile.pins]
            free = [tile for tile in late if tile.holder is None]
            transition = Transition(self.state, handle, pin=free, evict_after=self._plan.evict)
        transition.begin()
        with waiting(self.state):
            handle.wait()


def _let_all_go(leases: Iterable[Lease]) -> None:
    for lease in leases:
        lease.let_go()


@contextmanager
def leased(
    states: Sequence[ResidencyState], purpose: Purpose, slots: int = 1
) -> Iterator[dict[ResidencyState, Lease]]:
    """Hold the tiles of several carriers for one operation, all of them or none.

    Args:
        states: The carriers of the operands, in their order; one may occur twice.
        purpose: What for.
        slots: How many tiles of a carrier must be primary at one time.
    """
    leases = {
        state: Lease(state, consult(state, list(range(state.grid.tile_count)), purpose), slots)
        for state in dict.fromkeys(states)
    }
    with lock:
        for lease in leases.values():
            lease.check()
        for lease in leases.values():
            lease.take()
    try:
        for lease in leases.values():
            lease.begin()
        for lease in leases.values():
            lease.arrive()
        yield leases
    finally:
        try:
            _let_all_go(leases.values())
        except BaseException:  # an interrupt
            _let_all_go(leases.values())
            raise
    for lease in leases.values():
        lease.evict_behind()
