"""A TiledEvictable against a plain dictionary, and under threads."""

import random
import threading
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

import strideweave as sw
from strideweave import DType, Shape, Tensor, TiledEvictable, TileSelection, TileSet
from strideweave.carriers.tiled_evictable import streaming
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier

GRID, TILE = (3, 2), (2, 1)
TILES = [(i, j) for j in range(GRID[1]) for i in range(GRID[0])]
numbers = st.integers(-4, 4).map(float)
tiles = st.sampled_from(TILES)
several = st.sets(tiles, min_size=1, max_size=3)


def empty() -> ArrayCarrier:
    return ArrayCarrier(0, dtype=DType.Float32)


def slots_of(tile: tuple[int, int]) -> list[int]:
    rows = GRID[0] * TILE[0]
    return [(tile[0] * TILE[0] + k) + rows * tile[1] for k in range(TILE[0])]


def compact_tensor(values: list[float], selection: TileSelection) -> Tensor:
    extents = [count * side for count, side in zip(selection.compact_grid_shape, TILE, strict=True)]
    return Tensor(empty().new_like(values), 0, canonical_layout(Shape(extents)))


class Residency(RuleBasedStateMachine):
    """The model: values, where each tile is, what is dirty, when it was used, and the version."""

    @initialize(
        capacity=st.sampled_from([None, 1, 2, 3]), seed=st.sampled_from(["primary", "secondary"])
    )
    def build(self, capacity: int | None, seed: str) -> None:
        full = empty().new_like(range(12))
        tiers = (full, empty()) if seed == "primary" else (empty(), full)
        self.capacity = capacity
        self.carrier = TiledEvictable(tiers[0], tiers[1], GRID, TILE, primary_capacity=capacity)
        self.tensor = Tensor(
            self.carrier, 0, canonical_layout(Shape(list(self.carrier.logical_shape)))
        )
        self.values: dict[int, float] = {slot: float(slot) for slot in range(12)}
        self.location = dict.fromkeys(TILES, seed)
        self.dirty: set[tuple[int, int]] = set()
        self.used: dict[tuple[int, int], int] = {}
        self.clock = self.version = 0
        for position, tile in enumerate(TILES):
            if seed == "primary" and capacity is not None and position >= capacity:
                self.location[tile] = "secondary"
            elif seed == "primary":
                self.touch(tile)

    def touch(self, tile: tuple[int, int]) -> None:
        self.clock += 1
        self.used[tile] = self.clock

    def primary(self) -> list[tuple[int, int]]:
        return [tile for tile in TILES if self.location[tile] == "primary"]

    def enter(self, entering: list[tuple[int, int]], kept: set[tuple[int, int]]) -> None:
        """Bring tiles in, in the order of their numbers, and the least recently used ones out."""
        entering = [tile for tile in entering if self.location[tile] != "primary"]
        present = self.primary()
        if self.capacity is not None:
            excess = len(present) + len(entering) - self.capacity
            leaving = sorted((t for t in present if t not in kept), key=self.used.__getitem__)
            for tile in leaving[: max(0, excess)]:
                self.leave(tile)
        for tile in entering:
            self.location[tile] = "primary"
            self.touch(tile)

    def leave(self, tile: tuple[int, int]) -> None:
        self.location[tile] = "secondary"
        self.dirty.discard(tile)

    def fits(self, count: int) -> bool:
        return self.capacity is None or count <= self.capacity

    def use(self, required: list[tuple[int, int]]) -> None:
        for tile in required:
            if self.location[tile] == "primary":
                self.touch(tile)

    @rule(chosen=several)
    def promote(self, chosen: set[tuple[int, int]]) -> None:
        if not self.fits(len(chosen)):
            with pytest.raises(MemoryError):
                self.carrier.promote(TileSet(chosen))
            return
        self.carrier.promote(TileSet(chosen))
        self.enter([tile for tile in TILES if tile in chosen], chosen)

    @rule(chosen=several)
    def evict(self, chosen: set[tuple[int, int]]) -> None:
        self.carrier.evict(TileSet(chosen))
        for tile in self.primary():
            if tile in chosen:
                self.leave(tile)

    @rule(tile=tiles, place=st.integers(0, TILE[0] - 1), value=numbers)
    def write(self, tile: tuple[int, int], place: int, value: float) -> None:
        slot = slots_of(tile)[place]
        self.carrier[slot] = value
        self.enter([tile], {tile})
        self.touch(tile)
        self.values[slot] = value
        self.dirty.add(tile)
        self.version += 1

    @rule(tile=tiles)
    def read(self, tile: tuple[int, int]) -> None:
        slot = slots_of(tile)[0]
        assert self.carrier[slot] == self.values[slot]
        self.use([tile])

    @rule()
    def read_everything(self) -> None:
        rows = self.tensor.tolist()
        assert [rows[slot % 6][slot // 6] for slot in range(12)] == [
            self.values[slot] for slot in range(12)
        ]
        self.use(TILES)

    @rule(column=st.integers(0, 1), start=st.integers(0, 3), values=st.lists(numbers, min_size=3))
    def write_part_of_a_column(self, column: int, start: int, values: list[float]) -> None:
        slots = range(6 * column + start, 6 * column + start + 3)
        view = Tensor(self.carrier, slots[0], canonical_layout(Shape([3])))
        view[...] = Tensor(empty().new_like(values[:3]), 0, canonical_layout(Shape([3])))
        for tile in sorted({(slot % 6 // TILE[0], column) for slot in slots}):
            self.enter([tile], {tile})
            self.touch(tile)
            self.dirty.add(tile)
        self.values.update(zip(slots, values, strict=False))
        self.version += 1

    @rule(
        rows=st.lists(st.integers(0, 2), min_size=1, max_size=3, unique=True),
        columns=st.lists(st.integers(0, 1), min_size=1, max_size=2, unique=True),
    )
    def project(self, rows: list[int], columns: list[int]) -> None:
        selection = TileSelection((rows, columns))
        chosen = [tile for tile in TILES if tile in selection.coordinates]
        if not self.fits(len(chosen)):
            with pytest.raises(MemoryError):
                self.carrier.project(self.tensor, selection)
            return
        compact = self.carrier.project(self.tensor, selection).wait()
        self.use(chosen)
        self.enter(chosen, set(chosen))
        expected = [
            self.values[slots_of((row, column))[place]]
            for column in columns
            for row in rows
            for place in range(TILE[0])
        ]
        assert [compact[k] for k in range(compact.size())] == expected

    @rule(tile=tiles, values=st.lists(numbers, min_size=2, max_size=2), adds=st.booleans())
    def update(self, tile: tuple[int, int], values: list[float], adds: bool) -> None:
        selection = TileSelection(([tile[0]], [tile[1]]))
        self.carrier.update(
            compact_tensor(values, selection), selection, reduction="add" if adds else "replace"
        )
        self.use([tile])
        self.enter([tile], {tile})
        self.touch(tile)
        for slot, value in zip(slots_of(tile), values, strict=True):
            self.values[slot] = self.values[slot] + value if adds else value
        self.dirty.add(tile)
        self.version += 1

    @rule(tile=tiles, values=st.lists(numbers, min_size=2, max_size=2))
    def scatter(self, tile: tuple[int, int], values: list[float]) -> None:
        selection = TileSelection(([tile[0]], [tile[1]]))
        result = self.carrier.scatter(
            compact_tensor(values, selection), self.tensor, selection
        ).wait()
        fresh = result.carrier
        assert isinstance(fresh, TiledEvictable) and fresh.valid_tiles == TileSet([tile])
        assert [fresh[slot] for slot in slots_of(tile)] == values
        self.use([tile])

    @rule()
    def relu(self) -> None:
        result = sw.relu(self.tensor)
        assert [result[k] for k in range(12)] == [max(0.0, self.values[k]) for k in range(12)]
        if self.capacity is None:
            self.use(TILES)
            self.enter(TILES, set(TILES))
            return
        self.resynchronize()

    def resynchronize(self) -> None:
        """Take over where a streaming operation left the tiles; how it got there is timing."""
        before = set(self.primary())
        state = self.carrier._state
        for position, tile in enumerate(TILES):
            actual = state.tiles[position]
            if actual.location == "secondary" and tile in before:
                self.leave(tile)
            self.location[tile] = actual.location
        self.dirty &= {tile for tile in TILES if self.carrier.tile_state(tile).dirty}
        for tile in sorted(self.primary(), key=lambda t: state.tiles[TILES.index(t)].used):
            self.touch(tile)

    @invariant()
    def agrees(self) -> None:
        carrier = self.carrier
        assert carrier.primary_tiles == TileSet(self.primary())
        assert carrier.dirty_tiles == TileSet(self.dirty)
        assert carrier.version == self.version and carrier.size() == 12
        assert carrier.valid_tiles == TileSet(TILES)
        assert self.capacity is None or len(self.primary()) <= self.capacity
        for tile in TILES:
            buffer = carrier._state.tiles[TILES.index(tile)]
            source: Any = buffer.primary or buffer.secondary
            assert [source[k] for k in range(2)] == [self.values[s] for s in slots_of(tile)]
            assert (buffer.primary is not None) == (self.location[tile] == "primary")
            if buffer.secondary is not None and not buffer.dirty:
                copy = [buffer.secondary[k] for k in range(2)]
                assert copy == [self.values[s] for s in slots_of(tile)]


TestResidency = pytest.mark.rule("G-7", "TE-21", "TE-31", "TE-40", "TE-99")(Residency.TestCase)
TestResidency.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)


def unit_row(column: int) -> Tensor:
    """A tiled row that chooses one of two columns."""
    row = empty().new_like([float(column == 0), float(column == 1)])
    carrier = TiledEvictable(row, empty(), (1, 1), (1, 2), primary_capacity=1)
    return Tensor(carrier, 0, canonical_layout(Shape([1, 2])))


@pytest.mark.slow
@pytest.mark.rule("G-7", "G-8", "TE-40", "TE-97")
@pytest.mark.parametrize("capacity", [1, 2, 3, 4, None])
@pytest.mark.parametrize("seed", range(3))
def test_soak_under_threads(
    capacity: int | None, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thread owns one tile's values; all of them move everything."""
    monkeypatch.setattr(streaming, "MANY_READ", 1)  # so that products borrow threads
    carrier = TiledEvictable(
        empty(), empty().new_like([0.0] * 12), GRID, TILE, primary_capacity=capacity
    )
    tensor = Tensor(carrier, 0, canonical_layout(Shape(list(carrier.logical_shape))))
    failures: list[BaseException] = []
    last: dict[int, float] = {}
    ended = threading.Event()

    def attempt(call: Any) -> bool:
        try:
            call()
        except (RuntimeError, MemoryError) as error:
            words = ("pending", "pinned", "wait", "primary_capacity", "version", "in-place")
            assert any(word in str(error) for word in words), error
            return False
        return True

    def differentiate(own: Tensor) -> None:
        own.grad = None
        result = sw.relu(own)
        result.backward(Tensor(empty().new_like([1.0] * 12), 0, result.layout))
        gradient: Tensor | None = own.grad
        assert gradient is not None and gradient[0] in (0.0, 1.0)

    def work(index: int) -> None:
        chance = random.Random(f"{seed} {index}")
        tile = TILES[index]
        slot, last_slot = slots_of(tile)
        own = Tensor(carrier, 0, tensor.layout)
        selection = TileSelection(([tile[0]], [tile[1]]))
        written = 0.0
        try:
            for step in range(150):
                value = float(step + 1)
                if attempt(lambda value=value: carrier.__setitem__(slot, value)):
                    written = value
                assert carrier[slot] == written
                other = TileSet([chance.choice(TILES)])
                choice = chance.randrange(8)
                if choice == 0:
                    attempt(lambda other=other: carrier.promote(other))
                elif choice == 1:
                    attempt(lambda other=other: carrier.evict(other))
                elif choice == 2:
                    attempt(lambda: sw.relu(tensor))
                elif choice == 3:

                    def project(expected: float = written) -> None:
                        compact = carrier.project(tensor, selection).wait(60)
                        assert compact[0] == expected

                    attempt(project)
                elif choice == 4:
                    compact = compact_tensor([value + 0.5, value], selection)
                    if attempt(lambda compact=compact: carrier.update(compact, selection)):
                        written = value + 0.5
                        assert carrier[last_slot] == value
                elif choice == 5:
                    attempt(lambda: differentiate(own))
                elif choice == 6:

                    def multiply(expected: float = written) -> None:
                        chosen = sw.matmul(unit_row(slot // 6), tensor)
                        assert chosen[0, slot % 6] == expected

                    attempt(multiply)
                else:
                    rows = tensor.tolist()
                    assert rows[slot % 6][slot // 6] == written
        except BaseException as error:
            failures.append(error)
        last[slot] = written

    def watch() -> None:
        while not ended.is_set():
            count = len(carrier.primary_tiles.coordinates)
            if capacity is not None and count > capacity:
                failures.append(AssertionError(f"{count} tiles"))
                return

    watcher = threading.Thread(target=watch)
    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(TILES))]
    watcher.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    ended.set()
    watcher.join()
    assert failures == [] and not any(thread.is_alive() for thread in threads)
    assert {slot: carrier[slot] for slot in last} == last
    assert all(tile.pins == 0 and tile.holder is None for tile in carrier._state.tiles)
    carrier.release()
