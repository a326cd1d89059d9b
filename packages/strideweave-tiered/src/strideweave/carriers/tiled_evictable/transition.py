"""Requests that move tiles between the tiers: all their tiles commit together, or none does."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeAlias, final

from strideweave.carriers import Carrier
from strideweave.carriers.move import AwaitResult
from strideweave.carriers.move.pool import completion_pool
from strideweave.carriers.tiled_evictable.buffers import filled_like, fresh_like
from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile, lock
from strideweave.carriers.tiled_evictable.transfers import TierRoute, start_transfer
from strideweave.operation import is_grad_enabled, no_grad
from strideweave.operation.recording import recording, unrecorded

Phase: TypeAlias = Callable[[], None]


@contextmanager
def quiet() -> Iterator[None]:
    """Build no graph and record no profile in this thread."""
    with no_grad(), unrecorded(movements_too=True):
        yield


def is_quiet() -> bool:
    """Tell whether this thread builds no graph and records no profile."""
    is_heard = recording.operations is not None or recording.movements is not None
    return not (is_grad_enabled() or is_heard)


def release_all(carriers: Iterable[Carrier | None]) -> None:
    """Release storage that nothing refers to any more; what fails then only stays allocated."""
    for carrier in carriers:
        if carrier is not None:
            with suppress(Exception):
                carrier.release()


class Work:
    """What a request does once its tiles are in the primary tier.

    Every method but ``perform`` does nothing unless a request needs it.
    """

    def check(self) -> None:
        """Refuse the request, under the lock, after everything else could."""

    def perform(self, transition: "Transition") -> Any:
        """Make the result from ``transition.storage``; may ``transition.replace`` tiles."""

    def commit(self) -> None:
        """Publish the result, under the lock and together with the tiles; cannot fail."""

    def end(self, error: BaseException | None) -> None:
        """Give back what the request holds, just before the outcome shows.

        Args:
            error: Why the request failed, or None.
        """


@final
class Transition:
    """The tiles of one request, from the call to the recorded outcome.

    Whoever makes it holds the lock and has checked the request; ``begin`` follows outside the
    lock. The phases follow one another on whichever thread ends the one before, so that no thread
    waits: victims and evicted tiles are written to the secondary tier, promoted tiles are read,
    the work runs, tiles that a policy evicts are written, and everything commits.

    Args:
        state: The tiles of the carrier.
        handle: Takes the outcome.
        promote: Tiles that enter the primary tier.
        evict: Tiles that leave it.
        victims: Tiles that leave it to make room.
        change: Tiles that the work may replace.
        pin: Tiles that stay where they are until the outcome is recorded.
        work: What runs when every promoted tile has arrived; without one the result is None.
        evict_after: Numbers of the tiles that a policy evicts when the work has succeeded.
        evicts_first: Whether victims leave before anything enters, and stay out after a failure.
        is_awaited: Whether the caller waits for the outcome at once.
    """

    def __init__(
        self,
        state: ResidencyState,
        handle: AwaitResult[Any],
        *,
        promote: Sequence[Tile] = (),
        evict: Sequence[Tile] = (),
        victims: Sequence[Tile] = (),
        change: Sequence[Tile] = (),
        pin: Sequence[Tile] = (),
        work: Work | None = None,
        evict_after: Sequence[int] = (),
        evicts_first: bool = False,
        is_awaited: bool = False,
    ) -> None:
        self.state = state
        self._handle = handle
        self._promote = tuple(promote)
        self._leaving = [*victims, *evict]
        self._victims = tuple(victims)
        self._pin = tuple(pin)
        self._work = work or Work()
        self._evict_after = evict_after
        self._evicts_first = evicts_first
        self._is_awaited = is_awaited
        self._is_alone = False
        self._held = [*self._promote, *self._leaving, *change]
        self._incoming: dict[Tile, Carrier] = {}
        self._outgoing: dict[Tile, Carrier] = {}
        self._replaced: dict[Tile, Carrier] = {}
        self._spare: list[Carrier] = []
        self._optional: list[Tile] = []
        self._running: list[tuple[Tile, AwaitResult[object]]] = []
        self._pending: set[object] = set()
        self._following: Phase = self._conclude
        self._is_submitted = False
        self._error: BaseException | None = None
        self._refusal: BaseException | None = None
        for tile in self._held:
            tile.holder = self
        for tile in (*self._promote, *change):
            state.occupants[tile.number] = tile
        for tile in self._pin:
            tile.pins += 1

    def begin(self) -> None:
        """Start everything that can start.

        What fails before the first transfer is submitted is raised, and nothing has changed.
        """
        has_run = False
        try:
            completion_pool().admit(self)
            with quiet():
                has_run = True
                self._run(self._write_out)
        except BaseException as error:  # the end of the process, or an interrupt
            if has_run:
                raise
            self._fail(error)
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal

    def cancel(self) -> None:
        """Let go of the tiles of a request that will not begin."""
        self._fail(RuntimeError("another part of the request failed before this one began"))

    def storage(self, tile: Tile) -> Carrier:
        """Give the primary storage of one of the request's tiles, committed or not."""
        found = self._replaced.get(tile, self._incoming.get(tile, tile.primary))
        assert found is not None, "the tile was promoted or is pinned in the primary tier"
        return found

    def replace(self, tile: Tile, storage: Carrier) -> None:
        """Give a tile new values, which are dirty once they are committed."""
        self._replaced[tile] = storage

    # Phases

    def _run(self, phase: Phase) -> None:
        try:
            phase()
        except BaseException as error:
            self._fail(error)
            if not isinstance(error, Exception) and error is not self._refusal:
                raise  # an interrupt of this thread, which a handle must not swallow

    def _write_out(self) -> None:
        following = self._drop_victims if self._evicts_first else self._read_in
        self._transfer_out(self._leaving, following)

    def _drop_victims(self) -> None:
        left: list[Carrier | None] = []
        stale: list[Carrier | None] = []
        with lock:
            for tile in self._victims:
                stale.append(self._commit_copy(tile))
                left.append(self._commit_eviction(tile))
                self._leaving.remove(tile)
                self._held.remove(tile)
                tile.holder = None
        self._spare = [storage for storage in left if storage is not None]
        release_all(stale)
        self._read_in()

    def _read_in(self) -> None:
        state = self.state
        stored = []
        for tile in self._promote:
            if tile.location == "implicit":
                count = state.grid.tile_slots
                self._incoming[tile] = filled_like(state.primary, count, state.dtype)
            else:
                stored.append(tile)
        self._transfer(stored, self._perform, is_inward=True)

    def _perform(self) -> None:
        self._is_submitted = True
        self._handle._hold(self._work.perform(self))
        with lock:
            following = self._choose_evictions()
            for tile in following:
                tile.holder = self
            self._held += following
            self._leaving += following
        self._transfer_out(following, self._conclude)

    def _choose_evictions(self) -> list[Tile]:
        """Choose what leaves after the work; a tile that others use leaves when it is free."""
        tiles = self.state.tiles
        wanted = dict.fromkeys(tiles[number] for number in self._evict_after)
        waiting = [tile for tile in (*self._pin, *self._held) if tile.leaves_when_free]
        self._optional = [tile for tile in waiting if tile not in wanted]
        chosen: list[Tile] = []
        for tile in dict.fromkeys((*wanted, *waiting)):
            is_here = tile.location == "primary" or tile in self._incoming or tile in self._replaced
            if not is_here or tile in self._leaving:
                continue
            own_pins = self._pin.count(tile)
            if tile.pins > own_pins or tile.holder not in (None, self):
                tile.leaves_when_free = True
            else:
                chosen.append(tile)
        return chosen

    # Transfers

    def _transfer_out(self, tiles: Sequence[Tile], following: Phase) -> None:
        unwritten = [
            tile for tile in tiles if tile.secondary is None or tile.dirty or tile in self._replaced
        ]
        self._transfer(unwritten, following, is_inward=False)

    def _transfer(self, tiles: Sequence[Tile], following: Phase, *, is_inward: bool) -> None:
        """Start one transfer per tile; ``following`` runs when the last of them has ended."""
        if not tiles:
            following()
            return
        way = self.state.inward() if is_inward else self.state.outward()
        self._following = following
        self._running = []
        self._pending = {self}
        self._is_alone = self._is_awaited and len(tiles) == 1
        start = self._start_in if is_inward else self._start_out
        try:
            for tile in tiles:
                try:
                    handle = start(tile, way)
                except Exception:
                    if tile not in self._optional:
                        raise
                    self._leaving.remove(tile)
                    continue
                self._is_submitted = True
                self._running.append((tile, handle))
                with lock:
                    self._pending.add(handle)
                handle._then(partial(self._end_one, handle))
        except BaseException as error:
            if not self._running:
                raise
            self._error = error
            for _, handle in self._running:  # an interrupt may have come before the last one knew
                handle._then(partial(self._end_one, handle))
        self._end_one(self)

    def _start_in(self, tile: Tile, way: TierRoute) -> AwaitResult[object]:
        state = self.state
        secondary = tile.secondary
        assert secondary is not None
        # The storage that a victim has left is warm, and every slot of it is replaced.
        with lock:
            left = self._spare or state.spare
            storage = left.pop() if left and state.owns_storage() else None
        if storage is None:
            storage = fresh_like(state.primary, state.grid.tile_slots, state.dtype, empty=True)
        self._incoming[tile] = storage
        return self._start(way, secondary, storage)

    def _start_out(self, tile: Tile, way: TierRoute) -> AwaitResult[object]:
        state = self.state
        storage = self._taken_room(tile)
        if storage is None:
            storage = fresh_like(state.secondary, state.grid.tile_slots, state.dtype, empty=True)
        self._outgoing[tile] = storage
        return self._start(way, self.storage(tile), storage)

    def _start(self, way: TierRoute, source: Carrier, destination: Carrier) -> AwaitResult[object]:
        run = self.state.grid.tile_run
        return start_transfer(way, source, destination, run, is_awaited=self._is_alone)

    def _taken_room(self, tile: Tile) -> Carrier | None:
        """Take the storage that a dirty tile has left in the secondary tier, if it may be written.

        A failure of the transfer leaves it half written, so it does not go back.
        """
        if not (tile.dirty and self.state.owns_storage()):
            return None
        room, tile.secondary = tile.secondary, None
        return room

    def _end_one(self, ended: object) -> None:
        """Note that a transfer has ended, or that all are submitted; again is ignored."""
        with lock:
            if ended not in self._pending:
                return
            self._pending.remove(ended)
            if self._pending:
                return
        if is_quiet():
            self._run(self._end_transfers)
        else:
            with quiet():
                self._run(self._end_transfers)

    def _end_transfers(self) -> None:
        counters, size = self.state.counters, self.state.tile_bytes
        running, self._running = self._running, []
        for tile, handle in running:
            error = handle._error
            if error is None:
                with lock:
                    if tile in self._outgoing:
                        counters.bytes_out += size
                    else:
                        counters.bytes_in += size
            elif tile in self._optional:
                self._leaving.remove(tile)
            elif self._error is None:
                self._error = error
        if self._error is not None:
            raise self._error
        self._following()

    # The end

    def _conclude(self) -> None:
        dropped: list[Carrier | None] = []
        with lock:
            for tile, storage in self._incoming.items():
                if tile in self._replaced:
                    dropped.append(storage)
                else:
                    self.state.enter(tile, storage)
                    self.state.counters.promotions += 1
            for tile, storage in self._replaced.items():
                dropped.append(tile.primary)
                self.state.counters.promotions += tile.location != "primary"
                self.state.enter(tile, storage)
                tile.dirty = True
            for tile in self._leaving:
                dropped.append(self._commit_copy(tile))
                left = self._commit_eviction(tile)
                if tile not in self._victims or left is None or not self.state.keep_spare(left):
                    dropped.append(left)
            self._work.commit()
        # What is left of the outgoing storage belongs to optional evictions that failed.
        release_all([*dropped, *self._outgoing.values()])
        self._finish(None)

    def _commit_copy(self, tile: Tile) -> Carrier | None:
        """Give a tile what was written for it, and give what it had."""
        written = self._outgoing.pop(tile, None)
        if written is None:
            return None
        stale, tile.secondary = tile.secondary, written
        return stale

    def _commit_eviction(self, tile: Tile) -> Carrier | None:
        self.state.counters.evictions += 1
        return self.state.leave(tile)

    def _fail(self, error: BaseException) -> None:
        fresh = (*self._incoming.values(), *self._outgoing.values(), *self._replaced.values())
        release_all(fresh)
        self._handle._fail(error)
        if not self._is_submitted:
            self._refusal = error
        self._finish(error)

    def _finish(self, error: BaseException | None) -> None:
        self._work.end(error)
        release_all(self._spare)
        with lock:
            for tile in self._held:
                tile.holder = None
                if tile.location != "primary":
                    self.state.occupants.pop(tile.number, None)
            for tile in self._pin:
                tile.pins -= 1
            self._handle._publish()
        completion_pool().dismiss(self)
