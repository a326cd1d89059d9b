"""Where every tile of one carrier is, and what work it is held by."""

import os
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, final

from strideweave.carriers import Carrier
from strideweave.carriers.dtype import DType
from strideweave.carriers.move.claims import Claims
from strideweave.carriers.tiled_evictable.geometry import TileGrid
from strideweave.carriers.tiled_evictable.stats import ResidencyStats
from strideweave.carriers.tiled_evictable.transfers import TierRoute, tier_route

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.policy import ResidencyPolicy

Location: TypeAlias = Literal["primary", "secondary", "implicit", "invalid"]

lock: Final = RLock()
"""Guards the tiles of all carriers. Nothing that may wait runs under it.

It is reentrant because the collector may run under it and drop a carrier.
"""
if hasattr(os, "register_at_fork"):  # or a forked child could find it held by a thread it has not
    os.register_at_fork(
        before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
    )


@final
@dataclass(frozen=True, slots=True)
class TileState:
    """Where one tile is.

    Attributes:
        location: ``primary``, ``secondary``, ``implicit`` (all zero, without storage) or
            ``invalid`` (without values).
        valid: Whether it has values.
        dirty: Whether it is in the primary tier and changed since it came there.
    """

    location: Location
    valid: bool
    dirty: bool


@final
class Tile:
    """One tile; every change happens under ``lock``.

    Attributes:
        number: Its place in the grid.
        location: Where it is.
        primary: Its storage in the primary tier, exactly while it is there.
        secondary: Its storage in the secondary tier: its values while it is there, a copy of them
            while it is primary and clean, and room for the next eviction once it is dirty.
        dirty: As TileState.dirty.
        pins: How many requests rely on its staying where it is.
        holder: The request that moves it or replaces its values; the tile is pending.
        used: When it was used last, in ticks of the carrier; negative once it has only passed.
        moves: How often it entered or left the primary tier; its storage there may since serve
            another tile.
        leaves_when_free: Whether a policy's eviction waits for the tile to become free.
    """

    __slots__ = (
        "dirty",
        "holder",
        "leaves_when_free",
        "location",
        "moves",
        "number",
        "pins",
        "primary",
        "secondary",
        "used",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.location: Location = "invalid"
        self.primary: Carrier | None = None
        self.secondary: Carrier | None = None
        self.dirty = False
        self.pins = 0
        self.holder: object = None
        self.used = 0
        self.moves = 0
        self.leaves_when_free = False


@final
class Counters:
    """The running numbers behind ResidencyStats; changed under ``lock``."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "evictions",
        "hits",
        "misses",
        "promotions",
        "wait_seconds",
    )

    def __init__(self) -> None:
        self.hits = self.misses = self.promotions = self.evictions = 0
        self.bytes_in = self.bytes_out = 0
        self.wait_seconds = 0.0

    def count_wait(self, seconds: float) -> None:
        """Add time that a caller was blocked; takes the lock."""
        with lock:
            self.wait_seconds += seconds

    def snapshot(self) -> ResidencyStats:
        """Give the numbers as they are now."""
        return ResidencyStats(
            self.hits,
            self.misses,
            self.promotions,
            self.evictions,
            self.bytes_in,
            self.bytes_out,
            self.wait_seconds,
        )


@final
class ResidencyState:
    """Configuration and tiles of one TiledEvictable.

    Args:
        primary: The tier that computes; a prototype from which tiles are made.
        secondary: The tier that backs it; likewise.
        grid: The geometry.
        policy: The residency policy, or None.
        capacity: How many tiles may be primary, or None for any number.
        pinned: Tiles that never make room for others.

    Attributes:
        process: The process that made the storage; a forked child shares it and must not write it.
        occupants: Tiles that take room in the primary tier: those in it, and those on the way.
        spare: Storage in the primary tier that tiles have left, for those that come next: with a
            capacity at most an eighth of it, or one tile, and none while an operation streams.
        active: How many operations that stream rely on the values of all tiles.
        is_released: Whether the tiles are gone.
    """

    def __init__(
        self,
        primary: Carrier,
        secondary: Carrier,
        grid: TileGrid,
        policy: "ResidencyPolicy | None",
        capacity: int | None,
        pinned: frozenset[int],
    ) -> None:
        self._claims: Claims | None = None  # first, for __del__
        self.primary = primary
        self.secondary = secondary
        self.grid = grid
        self.policy = policy
        self.capacity = capacity
        self.pinned = pinned
        self.dtype: DType = primary.dtype()
        self.process = os.getpid()
        self.tiles = [Tile(number) for number in range(grid.tile_count)]
        self.occupants: dict[int, Tile] = {}
        self.counters = Counters()
        self.spare: list[Carrier] = []
        self.active = 0
        self.is_released = False
        self._ticks = 0

    def claim_tiers(self) -> None:
        """Own both tiers until ``relinquish_tiers``, or until this object is dropped."""
        self._claims = Claims(self.primary, self.secondary)

    def relinquish_tiers(self) -> None:
        """Give both tiers back."""
        claims, self._claims = self._claims, None
        if claims is not None:
            claims.relinquish()

    def release_tiers(self) -> None:
        """Release both tiers and give them back."""
        assert self._claims is not None
        with self._claims:
            self.primary.release()
            self.secondary.release()
        self.relinquish_tiers()

    def __del__(self) -> None:
        self.relinquish_tiers()

    def owns_storage(self) -> bool:
        """Tell whether this process made the storage of the tiles, and may give it other values."""
        return self.process == os.getpid()

    @property
    def tile_bytes(self) -> int:
        """Payload of one tile."""
        return self.grid.tile_slots * (1 if self.dtype is DType.Bool else 4)

    def inward(self) -> TierRoute:
        """Give the way of a tile to the primary tier."""
        return tier_route(type(self.secondary), type(self.primary))

    def outward(self) -> TierRoute:
        """Give the way of a tile to the secondary tier."""
        return tier_route(type(self.primary), type(self.secondary))

    # Everything below is called under the lock.

    def touch(self, tile: Tile) -> None:
        """Note that a tile is used now."""
        self._ticks += 1
        tile.used = self._ticks

    def pass_by(self, tile: Tile) -> None:
        """Let a tile make room before all that are in use, and before those that passed earlier."""
        self._ticks += 1
        tile.used = -self._ticks

    def acquire(self, tile: Tile) -> None:
        """Note that a request relies on a tile, and whether it found it in the primary tier."""
        if tile.location == "primary":
            self.counters.hits += 1
            self.touch(tile)
        else:
            self.counters.misses += 1

    def enter(self, tile: Tile, storage: Carrier) -> None:
        """Put a tile into the primary tier."""
        tile.primary = storage
        tile.location = "primary"
        tile.moves += 1
        self.occupants[tile.number] = tile
        self.touch(tile)

    def leave(self, tile: Tile) -> Carrier | None:
        """Take a tile out of the primary tier, whose clean copy it has, and give its storage."""
        storage, tile.primary = tile.primary, None
        tile.location = "secondary"
        tile.moves += 1
        tile.dirty = tile.leaves_when_free = False
        self.occupants.pop(tile.number, None)
        return storage

    def keep_spare(self, storage: Carrier) -> bool:
        """Keep storage that a tile has left, if there is use for it."""
        is_wanted = self.capacity is not None and not self.active and not self.is_released
        if not is_wanted or len(self.spare) >= max(1, (self.capacity or 0) // 8):
            return False
        self.spare.append(storage)
        return True

    def take_spares(self) -> list[Carrier]:
        """Give up all storage that is kept."""
        spares, self.spare = self.spare, []
        return spares

    def numbers(self, *locations: Location) -> list[int]:
        """List the tiles that are in one of some places."""
        return [tile.number for tile in self.tiles if tile.location in locations]

    def coordinate(self, tile: Tile) -> tuple[int, ...]:
        """Give the coordinate of a tile, for messages."""
        return self.grid.coordinate(tile.number)

    def refuse_pending(self, tile: Tile) -> None:
        """Refuse a tile that another request moves.

        Raises:
            RuntimeError: It is pending.
        """
        if tile.holder is not None:
            raise RuntimeError(
                f"tile {self.coordinate(tile)} is pending in another request; wait() for that "
                "request first"
            )

    def refuse_pinned(self, tile: Tile, action: str) -> None:
        """Refuse a tile that work relies on.

        Raises:
            RuntimeError: It is pinned.
        """
        if tile.pins:
            raise RuntimeError(
                f"tile {self.coordinate(tile)} is pinned by active work and cannot be {action}; "
                "wait for that work first"
            )

    def refuse_active(self) -> None:
        """Refuse to change values that a running operation reads.

        Raises:
            RuntimeError: An operation streams the tiles.
        """
        if self.active:
            raise RuntimeError(
                "the tiles of this TiledEvictable are pinned by a running operation and cannot be "
                "written; wait for it first"
            )

    def refuse_invalid(self, tile: Tile, action: str) -> None:
        """Refuse a tile without values.

        Raises:
            RuntimeError: It is invalid.
        """
        if tile.location == "invalid":
            raise RuntimeError(
                f"tile {self.coordinate(tile)} is invalid and cannot be {action}: it has no "
                "values; give it some with update() first"
            )

    def refuse_released(self) -> None:
        """Refuse any work on a released carrier.

        Raises:
            RuntimeError: The carrier is released.
        """
        if self.is_released:
            raise RuntimeError("TiledEvictable is released")
