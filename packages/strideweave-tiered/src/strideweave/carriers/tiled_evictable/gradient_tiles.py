"""A gradient that grows block by block, in tiles of which few are in the primary tier."""

from typing import TYPE_CHECKING, cast, final

from strideweave.autograd.fold import fold_gradient
from strideweave.carriers import Carrier
from strideweave.carriers.tiled_evictable.blocks import store
from strideweave.carriers.tiled_evictable.buffers import fresh_like, read_slots, write_slots
from strideweave.carriers.tiled_evictable.factories import invalid_like
from strideweave.carriers.tiled_evictable.state import Tile
from strideweave.carriers.tiled_evictable.transition import release_all
from strideweave.layout import Layout, Shape
from strideweave.layout.construction import canonical_layout
from strideweave.operation.evaluation import evaluate
from strideweave.ops.metadata import filled, layout_of
from strideweave.ops.nesting import nest
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


@final
class GradientTiles:
    """The gradient of one full Tensor.

    Blocks arrive by tile; the same block may arrive again and is then added. At most as many tiles
    as the capacity are open, the others wait in the secondary tier.

    Args:
        operand: The full Tensor.
        is_summed: Whether the operation repeats its values, so that every value is a sum.
    """

    def __init__(self, operand: Tensor, is_summed: bool) -> None:
        self._operand = operand
        self._is_summed = is_summed
        self._fresh = invalid_like(cast("TiledEvictable", operand.carrier))
        self._state = self._fresh._state
        self._open: dict[int, Tile] = {}  # the least recently used one first
        self._known: set[tuple[int, int]] = set()

    def add(self, number: int, local: int, layout: Layout, term: Tensor) -> None:
        """Add a block to a tile.

        Args:
            number: The tile.
            local: The local ordinal of the block's first value.
            layout: Sends each coordinate of the block to a local ordinal, relative to the first;
                values that meet are summed.
            term: The gradient of the block.
        """
        if not layout.is_injective:
            term, layout = _folded(term, layout, self._state.primary)
        total = tensor_over(self._opened(number), local, layout, self._state.dtype)
        if (number, local) in self._known:
            term = evaluate("add", total, term)
        elif self._is_summed:
            term = evaluate("add", filled(layout.shape, 0.0, term), term)  # sums begin with +0.0
        self._known.add((number, local))
        store(total, term)

    def _opened(self, number: int) -> Carrier:
        tile = self._open.pop(number, None)
        if tile is None:
            storage = self._make_room()
            tile = self._state.tiles[number]
            slots, dtype = self._state.grid.tile_slots, self._state.dtype
            if storage is None:
                storage = fresh_like(self._state.primary, slots, dtype, empty=True)
            tile.primary = storage
            counters = self._state.counters
            counters.promotions += 1
            if tile.secondary is not None:
                write_slots(storage, 0, read_slots(tile.secondary, 0, slots))
                counters.bytes_in += self._state.tile_bytes
        self._open[number] = tile
        assert tile.primary is not None
        return tile.primary

    def _make_room(self) -> Carrier | None:
        """Close the least recently used tile where the capacity is reached; give its storage."""
        capacity = self._state.capacity
        if capacity is None or len(self._open) < capacity:
            return None
        return self._closed(self._open.pop(next(iter(self._open))))

    def _closed(self, tile: Tile) -> Carrier:
        """Write an open tile to the secondary tier, and give the storage that it had."""
        slots, dtype = self._state.grid.tile_slots, self._state.dtype
        assert tile.primary is not None
        if tile.secondary is None:
            tile.secondary = fresh_like(self._state.secondary, slots, dtype, empty=True)
        write_slots(tile.secondary, 0, read_slots(tile.primary, 0, slots))
        counters = self._state.counters
        counters.evictions += 1
        counters.bytes_out += self._state.tile_bytes
        storage, tile.primary = tile.primary, None
        return storage

    def finished(self) -> Tensor:
        """Give the gradient; with a capacity all of it is secondary, so that a copy has room."""
        state = self._state
        if state.capacity is not None:
            for tile in self._open.values():
                release_all([self._closed(tile)])
        for tile in state.tiles:
            if tile.primary is not None:
                state.enter(tile, tile.primary)
            else:
                tile.location = "implicit" if tile.secondary is None else "secondary"
        self._open.clear()
        return tensor_over(self._fresh, 0, self._operand.layout, state.dtype)

    def abandon(self) -> None:
        """Release everything."""
        release_all([self._fresh])


def _folded(term: Tensor, layout: Layout, prototype: Carrier) -> tuple[Tensor, Layout]:
    """Sum the values that a layout sends to one place along its leaves of stride 0."""
    extents = [
        extent if stride else 1
        for extent, stride in zip(layout.leaf_extents, layout.leaf_strides, strict=True)
    ]
    shape = Shape(nest(layout.shape.top_level, extents))
    dense = canonical_layout(shape)
    source = tensor_over(prototype, 0, dense, term.dtype())
    kept = tuple(
        dense_stride if stride else 0
        for stride, dense_stride in zip(layout.leaf_strides, dense.leaf_strides, strict=True)
    )
    placement = layout_of(layout.shape, kept)
    folded = fold_gradient(term, source, placement, placement)
    return folded, layout_of(shape, layout.leaf_strides)
