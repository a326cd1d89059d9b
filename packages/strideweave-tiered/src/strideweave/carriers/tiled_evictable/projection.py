"""Copying chosen tiles into one compact Tensor."""

from typing import TYPE_CHECKING, Any, final

from strideweave.carriers import Carrier
from strideweave.carriers.move import AwaitResult
from strideweave.carriers.move.claims import Claims
from strideweave.carriers.move.handles import new_handle
from strideweave.carriers.move.preparation import restore_empty, size_destination
from strideweave.carriers.tiled_evictable.buffers import Canvas, Region, fresh_like, read_slots
from strideweave.carriers.tiled_evictable.nodes import ProjectNode, recorded
from strideweave.carriers.tiled_evictable.policy import consult
from strideweave.carriers.tiled_evictable.requests import (
    CompactGrid,
    check_compute_class,
    checked_full,
    checked_selection,
    start,
)
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.carriers.tiled_evictable.transition import Transition, Work, release_all
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


@final
class AwaitProjection(AwaitResult[Tensor]):
    """The handle of a projection; its result is the compact Tensor.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> seed = ArrayCarrier(4, dtype=sw.DType.Int32).new_like([1, 2, 3, 4])
        >>> store = ArrayCarrier(0, dtype=sw.DType.Int32)
        >>> carrier = sw.TiledEvictable(seed, store, grid_shape=(2,), tile_shape=(2,))
        >>> tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(4), sw.Stride(1)))
        >>> carrier.project(tensor, sw.TileSelection([[1, 0]])).wait().tolist()
        [3, 4, 1, 2]
    """

    __slots__ = ()


def project(
    carrier: "TiledEvictable", tensor: object, selection: object, destination: object
) -> AwaitProjection:
    """Start a projection; see ``TiledEvictable.project``."""
    state = carrier._state
    full, within = checked_full(carrier, tensor, "tensor")
    compact = checked_selection(state.grid, selection, within)
    given = None if destination is None else _checked_destination(state, destination, compact)
    plan = consult(state, compact.numbers, "projection")
    handle = new_handle(AwaitProjection, state.counters.count_wait)
    node = recorded(ProjectNode(compact), full)
    start(state, handle, plan, _Projection(state, compact, given, node))
    return handle


def _checked_destination(
    state: ResidencyState, destination: object, compact: CompactGrid
) -> Carrier:
    checked = check_compute_class(state, destination, "destination")
    name = type(checked).__qualname__
    if checked.is_released():
        raise RuntimeError(f"the destination {name} is released; make a fresh one")
    if checked.is_owned():
        raise RuntimeError(f"the destination {name} is owned by another carrier or pending work")
    if not checked.is_mutable():
        raise RuntimeError(f"the destination {name} is not mutable")
    if checked.dtype() is not state.dtype:
        raise TypeError(f"destination must have dtype {state.dtype!r}, got {checked.dtype()!r}")
    needed = compact.layout.size
    if checked.size() < needed and not (checked.size() == 0 and _can_grow(checked)):
        raise ValueError(
            f"the destination {name} has {checked.size()} slots, but the selected tiles need "
            f"{needed}"
        )
    return checked


def _can_grow(carrier: Carrier) -> bool:
    is_defined = carrier._class_record.definition is not None
    return is_defined or callable(getattr(carrier, "_allocate", None))


@final
class _Projection(Work):
    """Gathers the selected tiles once all of them are primary."""

    def __init__(
        self,
        state: ResidencyState,
        compact: CompactGrid,
        destination: Carrier | None,
        node: ProjectNode | None,
    ) -> None:
        self._state = state
        self._compact = compact
        self._destination = destination
        self._is_given = destination is not None
        self._is_sized_here = False
        self._node = node
        self._result: Tensor | None = None
        self._claims = Claims() if destination is None else Claims(destination)

    def perform(self, transition: Transition) -> Any:
        state, compact = self._state, self._compact
        count = compact.layout.size
        if self._destination is None:
            self._destination = fresh_like(state.primary, count, state.dtype)
        destination = self._destination
        with self._claims:
            if destination.size() == 0:
                self._is_sized_here = True
                size_destination(destination, count)
            canvas = Canvas(destination, count)
            version = destination.version
            for position, number in enumerate(compact.numbers):
                storage = transition.storage(state.tiles[number])
                source = Region(read_slots(storage, 0, state.grid.tile_slots), 0, compact.within)
                canvas.paint(compact.offset(position), compact.region, source)
            canvas.finish()
            if self._is_given and not self._is_sized_here and destination.version == version:
                destination._increment_version()
        self._result = tensor_over(destination, 0, compact.layout, state.dtype)
        return self._result

    def commit(self) -> None:
        if self._result is not None and self._node is not None:
            self._result._autograd_ctx = self._node

    def end(self, error: BaseException | None) -> None:
        destination, claims = self._destination, self._claims
        if error is not None and destination is not None:
            if not self._is_given:
                release_all([destination])
            elif self._is_sized_here:
                with claims:
                    restore_empty(destination, error)
        claims.relinquish()
        self._destination = self._result = self._node = None
