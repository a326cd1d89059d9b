"""What project, scatter and update have in common: their arguments, and the tiles they rely on."""

from typing import TYPE_CHECKING, Any

from strideweave.carriers import Carrier, DependentCarrier
from strideweave.carriers.move import AwaitResult
from strideweave.carriers.tiled_evictable.capacity import choose_victims, require_room
from strideweave.carriers.tiled_evictable.footprints import full_placement, region_layout
from strideweave.carriers.tiled_evictable.geometry import TileGrid, running_products
from strideweave.carriers.tiled_evictable.policy import BoundPlan
from strideweave.carriers.tiled_evictable.residency import require_routes
from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile, lock
from strideweave.carriers.tiled_evictable.tiles import TileSelection
from strideweave.carriers.tiled_evictable.transition import Transition, Work
from strideweave.layout import Layout, Shape
from strideweave.layout.construction import canonical_layout
from strideweave.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


class CompactGrid:
    """Where the selected tiles are in a compact Tensor.

    Args:
        grid: The geometry of the full Tensor.
        selection: A selection that fits it.
        within: The layout within each tile of the full Tensor.

    Attributes:
        numbers: The selected tiles, in the order of the selection.
        layout: The layout of the compact Tensor.
        region: The places of one tile in the compact Tensor, relative to the tile's first.
        within: Sends the same coordinates to local ordinals.
    """

    def __init__(self, grid: TileGrid, selection: TileSelection, within: Layout) -> None:
        self.numbers = grid.bind(selection, "selection")
        self.within = within
        counts = selection.compact_grid_shape
        extents = [count * tile for count, tile in zip(counts, grid.tile_shape, strict=True)]
        self.layout = canonical_layout(Shape(extents))
        strides = running_products(tuple(extents))
        self.region = region_layout(within, strides)
        self._counts = counts
        self._steps = tuple(
            tile * stride for tile, stride in zip(grid.tile_shape, strides, strict=True)
        )

    def offset(self, position: int) -> int:
        """Give the first place of the tile at a position of the selection."""
        total = 0
        for count, step in zip(self._counts, self._steps, strict=True):
            position, place = divmod(position, count)
            total += place * step
        return total


def checked_full(carrier: "TiledEvictable", tensor: object, name: str) -> tuple[Tensor, Layout]:
    """Check an argument that must be a full Tensor over a live carrier.

    Returns:
        The Tensor, and its layout within each tile.

    Raises:
        TypeError: It is no Tensor, or lives on another carrier.
        RuntimeError: The carrier is released.
        NotImplementedError: It has several subtensors.
        ValueError: It is not a full one.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a Tensor, got {tensor!r} ({type(tensor).__qualname__})")
    if tensor.carrier is not carrier:
        raise TypeError(
            f"{name} must live on this TiledEvictable, got one on another "
            f"{type(tensor.carrier).__qualname__}"
        )
    carrier._state.refuse_released()
    return tensor, full_placement(carrier._state.grid, tensor, name)


def checked_selection(grid: TileGrid, selection: object, within: Layout) -> CompactGrid:
    """Check an argument that selects tiles.

    Raises:
        TypeError: It is no TileSelection.
        ValueError: It does not fit the grid.
    """
    if not isinstance(selection, TileSelection):
        raise TypeError(
            f"selection must be a TileSelection, got {selection!r} ({type(selection).__qualname__})"
        )
    return CompactGrid(grid, selection, within)


def check_compute_class(state: ResidencyState, carrier: object, name: str) -> Carrier:
    """Check that a carrier is of the primary's exact class.

    Raises:
        TypeError: It is no carrier, a dependent one, or of another class.
    """
    if not isinstance(carrier, Carrier):
        raise TypeError(f"{name} must be a Carrier instance, got {carrier!r}")
    wanted, given = type(state.primary), type(carrier)
    if isinstance(carrier, DependentCarrier) or given is not wanted:
        raise TypeError(
            f"{name} must be a {wanted.__qualname__}, the exact class of the primary tier, got a "
            f"{given.__qualname__}"
        )
    return carrier


def start(
    state: ResidencyState,
    handle: AwaitResult[Any],
    plan: BoundPlan,
    work: Work,
    *,
    reads: bool = True,
    changes: bool = False,
) -> None:
    """Check the tiles of a request, hold them, and start it.

    Args:
        state: The tiles of the carrier.
        handle: Takes the outcome.
        plan: What the policy answered.
        work: What the request does; it is ended whatever happens.
        reads: Whether the values of the required tiles are needed.
        changes: Whether the required tiles get new values.

    Raises:
        RuntimeError: A tile is pending, pinned or invalid.
        NotImplementedError: Tiles cannot move between the tiers.
        MemoryError: The tiles do not fit the capacity.
    """
    try:
        with lock:
            transition = _held(state, handle, plan, work, reads, changes)
    except BaseException as error:
        work.end(error)
        raise
    transition.begin()


def _held(
    state: ResidencyState,
    handle: AwaitResult[Any],
    plan: BoundPlan,
    work: Work,
    reads: bool,
    changes: bool,
) -> Transition:
    state.refuse_released()
    if changes:
        state.refuse_active()
    required = dict.fromkeys(plan.required)
    wanted = {number for number in plan.promote if reads or not changes or number not in required}
    if reads:
        wanted |= required.keys()
    pinned = sorted({*required, *plan.promote, *plan.retain})
    entering: list[Tile] = []
    for tile in [state.tiles[number] for number in pinned]:
        state.refuse_pending(tile)
        if changes and tile.number in required:
            state.refuse_pinned(tile, "updated")
        if tile.number in wanted and tile.location != "primary":
            state.refuse_pinned(tile, "promoted")
            state.refuse_invalid(tile, "promoted")
            entering.append(tile)
    changed = [state.tiles[number] for number in plan.required] if changes else []
    arriving = list(dict.fromkeys((*entering, *changed)))
    evicted = [state.tiles[number] for number in plan.evict]
    leaving = [tile for tile in evicted if tile.location == "primary" or tile in arriving]
    require_routes(state, entering, leaving)
    resident = [number for number in plan.retain if state.tiles[number].location == "primary"]
    needed = {*wanted, *resident, *(tile.number for tile in changed)}
    require_room(state, needed)
    work.check()
    victims = choose_victims(state, arriving, needed)
    for number in plan.required:
        state.acquire(state.tiles[number])
    return Transition(
        state,
        handle,
        promote=entering,
        victims=victims,
        change=changed,
        pin=[state.tiles[number] for number in pinned if not changes or number not in required],
        work=work,
        evict_after=plan.evict,
    )
