"""Storing a compact Tensor in chosen tiles, of a new carrier or in place."""

from typing import TYPE_CHECKING, Any, final

from strideweave.carriers import Carrier
from strideweave.carriers.move import AwaitMove, AwaitResult
from strideweave.carriers.move.claims import Claims
from strideweave.carriers.move.handles import new_handle
from strideweave.carriers.tiled_evictable.buffers import Region, read_slots
from strideweave.carriers.tiled_evictable.factories import invalid_like
from strideweave.carriers.tiled_evictable.nodes import ScatterNode, recorded
from strideweave.carriers.tiled_evictable.policy import consult
from strideweave.carriers.tiled_evictable.requests import (
    CompactGrid,
    check_compute_class,
    checked_full,
    checked_selection,
    start,
)
from strideweave.carriers.tiled_evictable.residency import waiting
from strideweave.carriers.tiled_evictable.seeding import packed_like
from strideweave.carriers.tiled_evictable.state import ResidencyState, lock
from strideweave.carriers.tiled_evictable.transition import Transition, Work, release_all
from strideweave.operation.evaluation import evaluate
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


def scatter(
    carrier: "TiledEvictable",
    compact: object,
    template: object,
    selection: object,
    reduction: object,
) -> AwaitMove[Tensor]:
    """Start a scatter; see ``TiledEvictable.scatter``."""
    is_added = _checked_reduction(reduction)
    state = carrier._state
    full, within = checked_full(carrier, template, "template")
    places = checked_selection(state.grid, selection, within)
    values = _checked_compact(state, compact, places)
    if is_added:
        _require_valid(state, places)
    plan = consult(state, places.numbers, "scatter", promotes=is_added)
    handle: AwaitMove[Tensor] = new_handle(AwaitMove, state.counters.count_wait)
    node = recorded(ScatterNode(places, is_added), values, full)
    work = _Scatter(carrier, values, full, places, is_added, node)
    start(state, handle, plan, work, reads=is_added)
    return handle


def update(
    carrier: "TiledEvictable", compact: object, selection: object, reduction: object
) -> None:
    """Store a compact Tensor in tiles of a carrier; see ``TiledEvictable.update``."""
    state = carrier._state
    state.refuse_released()
    if not carrier.is_mutable():
        raise RuntimeError("this TiledEvictable is not mutable and takes no update")
    is_added = _checked_reduction(reduction)
    places = checked_selection(state.grid, selection, state.grid.tile_layout)
    values = _checked_compact(state, compact, places)
    if is_added:
        _require_valid(state, places)
    plan = consult(state, places.numbers, "scatter", promotes=is_added)
    handle: AwaitResult[None] = new_handle(AwaitResult)
    work = _Update(carrier, values, places, is_added)
    with waiting(state):
        start(state, handle, plan, work, reads=is_added, changes=True)
        handle.wait()


def _checked_reduction(reduction: object) -> bool:
    """Check the word, and tell whether it is ``"add"``."""
    if not isinstance(reduction, str) or reduction not in ("replace", "add"):
        raise ValueError(f'reduction must be "replace" or "add", got {reduction!r}')
    return reduction == "add"


def _checked_compact(state: ResidencyState, compact: object, places: CompactGrid) -> Tensor:
    if not isinstance(compact, Tensor):
        raise TypeError(f"compact must be a Tensor, got {compact!r} ({type(compact).__qualname__})")
    check_compute_class(state, compact.carrier, "the carrier of compact")
    name = type(compact.carrier).__qualname__
    if compact.carrier.is_released():
        raise RuntimeError(f"the {name} of compact is released")
    if compact.carrier.is_owned():
        raise RuntimeError(f"the {name} of compact is owned by another carrier or pending work")
    if compact.dtype() is not state.dtype:
        raise TypeError(f"compact must have dtype {state.dtype!r}, got {compact.dtype()!r}")
    if compact.layout != places.layout:
        is_reordered = compact.shape == places.layout.shape
        remedy = "; from_numpy(numpy.asfortranarray(array)) makes one" if is_reordered else ""
        raise ValueError(
            f"compact must have the flat dense layout {places.layout} of the selected tiles, got "
            f"{compact.layout}{remedy}"
        )
    return compact


def _require_valid(state: ResidencyState, places: CompactGrid) -> None:
    with lock:
        state.refuse_released()
        for number in places.numbers:
            state.refuse_invalid(state.tiles[number], "added to")


class _Storing(Work):
    """Packs the values of a compact Tensor, or their sums, tile by tile."""

    def __init__(
        self, state: ResidencyState, compact: Tensor, places: CompactGrid, is_added: bool
    ) -> None:
        self._state = state
        self._compact: Tensor | None = compact
        self._places = places
        self._is_added = is_added
        self._claims = Claims(compact.carrier)

    def packed(self, transition: Transition, buffer: Any, position: int) -> Carrier:
        """Build the storage of the tile at a position of the selection."""
        state, places, compact = self._state, self._places, self._compact
        assert compact is not None
        offset = places.offset(position)
        if self._is_added:
            tile = state.tiles[places.numbers[position]]
            former = tensor_over(transition.storage(tile), 0, places.within, state.dtype)
            term = tensor_over(compact.carrier, compact.offset + offset, places.region, state.dtype)
            total = evaluate("add", former, term)
            region = Region(
                read_slots(total.carrier, total.offset, total.layout.cosize), 0, total.layout
            )
        else:
            region = Region(buffer, offset, places.region)
        return packed_like(state, state.primary, region, places.within)

    def read_compact(self) -> Any:
        """Read the compact values, at once."""
        compact = self._compact
        assert compact is not None
        return read_slots(compact.carrier, compact.offset, compact.layout.cosize)

    def end(self, error: BaseException | None) -> None:
        self._claims.relinquish()
        self._compact = None


@final
class _Scatter(_Storing):
    """Makes the full Tensor on a new carrier."""

    def __init__(
        self,
        carrier: "TiledEvictable",
        compact: Tensor,
        template: Tensor,
        places: CompactGrid,
        is_added: bool,
        node: ScatterNode | None,
    ) -> None:
        super().__init__(carrier._state, compact, places, is_added)
        self._carrier = carrier
        self._offset, self._layout = template.offset, template.layout
        self._node = node
        self._result: Tensor | None = None

    def check(self) -> None:
        capacity, count = self._state.capacity, len(self._places.numbers)
        if capacity is not None and count > capacity:
            raise MemoryError(
                f"the result would have {count} primary tiles, but primary_capacity is {capacity}; "
                "nothing is pinned: scatter fewer tiles at a time"
            )

    def perform(self, transition: Transition) -> Any:
        fresh = invalid_like(self._carrier)
        try:
            buffer = self.read_compact()
            for position, number in enumerate(self._places.numbers):
                tile = fresh._state.tiles[number]
                fresh._state.enter(tile, self.packed(transition, buffer, position))
                tile.dirty = True
            fresh._increment_version()
        except BaseException:
            release_all([fresh])
            raise
        self._result = tensor_over(fresh, self._offset, self._layout, self._state.dtype)
        return self._result

    def commit(self) -> None:
        if self._result is not None and self._node is not None:
            self._result._autograd_ctx = self._node

    def end(self, error: BaseException | None) -> None:
        if error is not None and self._result is not None:
            release_all([self._result.carrier])
        self._result = self._node = None
        super().end(error)


@final
class _Update(_Storing):
    """Replaces the tiles in place."""

    def __init__(
        self, carrier: "TiledEvictable", compact: Tensor, places: CompactGrid, is_added: bool
    ) -> None:
        super().__init__(carrier._state, compact, places, is_added)
        self._carrier = carrier

    def perform(self, transition: Transition) -> None:
        buffer = self.read_compact()
        for position, number in enumerate(self._places.numbers):
            storage = self.packed(transition, buffer, position)
            transition.replace(self._state.tiles[number], storage)

    def commit(self) -> None:
        self._carrier._increment_version()
