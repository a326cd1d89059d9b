"""Gradients of tiled Tensors, which are tiled themselves: untouched tiles are implicit zero."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from strideweave.autograd.buffers import placed_copy
from strideweave.carriers import Carrier
from strideweave.carriers.tiled_evictable.buffers import (
    Canvas,
    Region,
    copy_region,
    fresh_like,
    new_buffer,
    read_slots,
    zeros,
)
from strideweave.carriers.tiled_evictable.factories import invalid_like, put_all
from strideweave.carriers.tiled_evictable.footprints import full_placement, is_full
from strideweave.carriers.tiled_evictable.requests import CompactGrid
from strideweave.carriers.tiled_evictable.seeding import scratch_tile
from strideweave.carriers.tiled_evictable.state import lock
from strideweave.carriers.tiled_evictable.storage import read_tile
from strideweave.layout import Layout
from strideweave.operation import no_grad
from strideweave.operation.evaluation import evaluate
from strideweave.tensor import Tensor
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable

TileSource: TypeAlias = Callable[[int], Region | None]
"""Gives the values of a tile in the shape of a tile, or None for zeros."""


def checked_cotangent(gradient: object, layout: Layout, operation: str) -> Tensor:
    """Check what a node is given.

    Raises:
        TypeError: It is no Tensor.
        ValueError: Its shape differs.
        RuntimeError: Its carrier is released.
    """
    if not isinstance(gradient, Tensor):
        raise TypeError(
            f"{operation}: gradient must be a Tensor, got {type(gradient).__qualname__}"
        )
    require_one_subtensor(gradient, "backward")
    if gradient.shape != layout.shape:
        raise ValueError(
            f"{operation}: gradient has shape {gradient.shape}, the result has {layout.shape}"
        )
    gradient.carrier._require_executable(f"{operation} backward")
    return gradient


def tiled_gradient(gradient: Tensor, operand: Tensor) -> Tensor:
    """Copy a full gradient into a fresh carrier of an operand's configuration.

    Args:
        gradient: A Tensor of the operand's shape, dense or tiled.
        operand: A full Tensor over a TiledEvictable.

    Returns:
        A leaf in the operand's layout, whose tiles are all valid.

    Raises:
        ValueError: The operand is not a full Tensor.
    """
    carrier = _tiled(operand)
    full_placement(carrier._state.grid, operand, "the differentiated tensor")
    source, stored = tiles_of(gradient, operand)
    return _built(carrier, operand, source, stored)


def tiled_sum(carrier: "TiledEvictable", total: Tensor, gradient: Tensor) -> Tensor:
    """Add two gradients tile by tile.

    Tiles that are implicit zero in one have the values of the other, and in both stay implicit.
    """
    tiled = [
        entry
        for entry in (total, gradient)
        if type(entry.carrier) is type(carrier) and is_full(_tiled(entry)._state.grid, entry)
    ]
    if not tiled:
        return evaluate("add", total, gradient)
    like = tiled[0]
    left, left_stored = tiles_of(total, like)
    right, right_stored = tiles_of(gradient, like)
    return _summed(like, left, right, sorted({*left_stored, *right_stored}))


def reached_sum(total: Tensor, gradient: Tensor) -> Tensor | None:
    """Add two gradients in the tiles that are not implicit zero in the second one.

    Returns:
        A Tensor like the first one, implicit zero elsewhere; None where that is not a full one.
    """
    if not is_full(_tiled(total)._state.grid, total):
        return None
    left, _ = tiles_of(total, total)
    right, stored = tiles_of(gradient, total)
    return _summed(total, left, right, stored)


def _summed(like: Tensor, left: TileSource, right: TileSource, stored: Sequence[int]) -> Tensor:
    state = _tiled(like)._state

    def added(number: int) -> Region | None:
        former, term = left(number), right(number)
        if former is None or term is None:
            return former or term
        result = evaluate("add", scratch_tile(state, former), scratch_tile(state, term))
        return Region(
            read_slots(result.carrier, result.offset, result.layout.cosize), 0, result.layout
        )

    with no_grad():
        return _built(_tiled(like), like, added, stored)


def scattered(gradient: object, source: Tensor, places: CompactGrid) -> Tensor:
    """Put a gradient of a compact Tensor into the selected tiles of a tiled gradient."""
    checked = checked_cotangent(gradient, places.layout, "project")
    carrier = _tiled(source)
    state = carrier._state
    dense = _dense(checked, state.primary, places.layout, source)
    buffer = read_slots(dense.carrier, dense.offset, dense.layout.cosize)
    positions = {number: position for position, number in enumerate(places.numbers)}
    fresh = invalid_like(carrier)
    for tile in fresh._state.tiles:
        tile.location = "implicit"

    def region(number: int) -> Region:
        return Region(buffer, places.offset(positions[number]), places.region)

    put_all(fresh._state, sorted(positions), region, places.within, is_passing=True)
    return tensor_over(fresh, source.offset, source.layout, source.dtype())


def gathered(
    gradient: Tensor, compact: Tensor, template: Tensor, places: CompactGrid
) -> Tensor | None:
    """Take the selected tiles of a full gradient as a gradient of the compact Tensor."""
    if not compact.is_differentiable():
        return None
    source, _ = tiles_of(gradient, template)
    grid, dtype = _tiled(template)._state.grid, template.dtype()
    carrier = fresh_like(compact.carrier, places.layout.size, dtype)
    canvas = Canvas(carrier, places.layout.size)
    for position, number in enumerate(places.numbers):
        region = source(number) or zeros(dtype, grid.tile_layout)
        local = new_buffer(grid.tile_slots, dtype)
        copy_region(region, Region(local, 0, grid.tile_layout))
        canvas.paint(places.offset(position), places.region, Region(local, 0, places.within))
    canvas.finish()
    return tensor_over(carrier, 0, compact.layout, dtype)


def template_gradient(
    gradient: Tensor, template: Tensor, places: CompactGrid, is_added: bool
) -> Tensor | None:
    """Take a full gradient as one of the template: all of it, or what was not replaced."""
    if is_added:
        return tiled_gradient(gradient, template)
    source, stored = tiles_of(gradient, template)
    kept = sorted({*stored} - {*places.numbers})
    return _built(_tiled(template), template, source, kept)


def _tiled(tensor: Tensor) -> "TiledEvictable":
    return cast("TiledEvictable", tensor.carrier)


def _corresponds(tensor: Tensor, like: Tensor) -> bool:
    """Tell whether each tile of a Tensor has the values of the same tile of another one."""
    return (
        type(tensor.carrier) is type(like.carrier)
        and _tiled(tensor)._state.grid == _tiled(like)._state.grid
        and tensor.dtype() is like.dtype()
        and tensor.offset == like.offset
        and tensor.layout == like.layout
    )


def tiles_of(tensor: Tensor, like: Tensor) -> tuple[TileSource, list[int]]:
    """Read a full Tensor tile by tile, and list the tiles that are not zero for certain."""
    grid = _tiled(like)._state.grid
    if _corresponds(tensor, like):
        state = _tiled(tensor)._state

        def tile_region(number: int) -> Region | None:
            values = read_tile(state, state.tiles[number])
            return None if values is None else Region(values, 0, grid.tile_layout)

        with lock:
            return tile_region, state.numbers("primary", "secondary", "invalid")
    dense = _dense(tensor, _tiled(like)._state.primary, like.layout, like)
    buffer = read_slots(dense.carrier, dense.offset, dense.layout.cosize)

    def footprint_region(number: int) -> Region:
        return Region(buffer, grid.first_slot(number), grid.footprint)

    return footprint_region, list(range(grid.tile_count))


def _dense(tensor: Tensor, prototype: Carrier, layout: Layout, like: Tensor) -> Tensor:
    """Give a Tensor on an independent carrier in a layout, copied if it is not so already."""
    is_tiled = type(tensor.carrier) is type(like.carrier)
    if not is_tiled and tensor.layout == layout and tensor.dtype() is like.dtype():
        return tensor
    return placed_copy(tensor, prototype, layout, like.dtype())


def _built(
    carrier: "TiledEvictable",
    like: Tensor,
    source: Callable[[int], Region | None],
    stored: Sequence[int],
) -> Tensor:
    """Build a full Tensor like another one; tiles that are not stored are implicit zero."""
    fresh = invalid_like(carrier)
    state = fresh._state
    for tile in state.tiles:
        tile.location = "implicit"

    def region(number: int) -> Region:
        return source(number) or zeros(state.dtype, state.grid.tile_layout)

    put_all(state, stored, region, is_passing=True)
    return tensor_over(fresh, like.offset, like.layout, like.dtype())
