"""Bulk reads and writes of any Tensor over the full extent, one part of a tile after the other.

Along one axis a Tensor visits an arithmetic progression of coordinates; cut at the borders of the
tiles, the progressions of all axes divide the Tensor into pieces that lie in one tile each. So only
the tiles that a Tensor addresses are touched, whatever lies between its slots.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import strideweave.host as host
from strideweave.carriers import Carrier, spans
from strideweave.carriers.tiled_evictable.buffers import (
    Region,
    copy_region,
    is_zero,
    new_buffer,
    read_slots,
    write_slots,
)
from strideweave.carriers.tiled_evictable.capacity import held_numbers
from strideweave.carriers.tiled_evictable.geometry import TileGrid, flat_layout, running_products
from strideweave.carriers.tiled_evictable.replacement import replace
from strideweave.carriers.tiled_evictable.residency import promote_to_write
from strideweave.carriers.tiled_evictable.state import ResidencyState, Tile, lock
from strideweave.carriers.tiled_evictable.storage import (
    read_present,
    read_tile,
    require_writable,
)
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots
from strideweave.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


_MANY_PIECES: Final = 1024
_FEW_VALUES: Final = 8
"""Beyond many pieces of few values each, slots are taken one by one."""


class Leaf(NamedTuple):
    """A leaf of a layout along one axis, or along none where it repeats values."""

    extent: int
    step: int  # in coordinates of the axis
    distance: int  # between neighbours in logical order


class Run(NamedTuple):
    """Coordinates of one axis that lie in one tile."""

    first: int
    extent: int
    step: int
    ordinal: int  # of the first
    distance: int


class Piece(NamedTuple):
    """A part of a Tensor in one tile.

    Attributes:
        number: The tile.
        local: The local ordinal of the first value.
        within: Sends each coordinate of the piece to a local ordinal, relative to the first.
        ordinal: Where the first value is in logical order.
        logical: Sends each coordinate to its place in logical order, relative to the first.
    """

    number: int
    local: int
    within: Layout
    ordinal: int
    logical: Layout


def read_view(carrier: "TiledEvictable", tensor: Tensor) -> "memoryview[Any] | None":
    """Copy the values of a Tensor in logical order, and move no tile.

    Returns:
        None where its leaves do not keep to the axes, or its dtype has no span format.

    Raises:
        RuntimeError: The carrier is released, or a tile that the Tensor addresses is invalid.
    """
    state, found = carrier._state, _divided(carrier, tensor)
    if found is None:
        return None
    image = new_buffer(tensor.layout.size, state.dtype)
    for piece in found:
        _read_piece(state, piece, image)
    return image  # type: ignore[no-any-return]  # the dtype has a span format


def _read_piece(state: ResidencyState, piece: Piece, image: "memoryview[Any]") -> None:
    def copy(storage: Carrier) -> bool:
        values = read_slots(storage, piece.local, piece.within.cosize)
        copy_region(Region(values, 0, piece.within), Region(image, piece.ordinal, piece.logical))
        return True

    read_present(state, state.tiles[piece.number], copy)  # an implicit tile leaves zeros


def write_view(carrier: "TiledEvictable", tensor: Tensor, values: "memoryview[Any]") -> bool:
    """Store values, given in logical order, through an injective Tensor: all of them or none.

    Tiles are promoted together and become dirty; of more than the capacity holds at one time, the
    last ones do. A tile of implicit zeros that takes only zeros stays what it is.

    Returns:
        False, with nothing written, where its dtype has no span format.

    Raises:
        RuntimeError: The carrier is released, or a tile is pending, pinned or invalid.

    What a transfer raises propagates.
    """
    state = carrier._state
    if state.dtype not in host.SPAN_FORMATS:
        return False
    found = _divided(carrier, tensor) or _single_slots(state.grid, tensor)
    by_tile: dict[int, list[Piece]] = {}
    for piece in found:
        by_tile.setdefault(piece.number, []).append(piece)
    while True:
        with lock:
            changed = _changed(state, by_tile, values)
            fitting = _fitting(state, changed)
            if _are_primary(state, changed) and _is_one_step(state, changed, by_tile):
                # Under the lock, so that no eviction begins with the former values.
                for number in changed:
                    _write_tile(state, state.tiles[number], by_tile[number], values)
                return True
            has_arrived = _are_primary(state, fitting)
        if has_arrived:
            replace(state, changed, lambda number: _rewritten(state, by_tile[number], values))
            return True
        promote_to_write(state, fitting)


def _changed(
    state: ResidencyState, by_tile: dict[int, list[Piece]], values: "memoryview[Any]"
) -> list[int]:
    """List the tiles that do not stay as they are, under the lock; refuse those in use."""
    for number in by_tile:
        require_writable(state, state.tiles[number])
    return sorted(
        number
        for number, pieces in by_tile.items()
        if state.tiles[number].location != "implicit"
        or not all(_is_zero(piece, values) for piece in pieces)
    )


def _fitting(state: ResidencyState, numbers: Sequence[int]) -> Sequence[int]:
    """List those tiles that can be primary at one time, or one: the last ones, under the lock."""
    if state.capacity is None:
        return numbers
    room = state.capacity - len(held_numbers(state).difference(numbers))
    return numbers[-max(1, room) :]


def _are_primary(state: ResidencyState, numbers: Sequence[int]) -> bool:
    return all(state.tiles[number].location == "primary" for number in numbers)


def _is_one_step(
    state: ResidencyState, numbers: Sequence[int], by_tile: dict[int, list[Piece]]
) -> bool:
    """Tell whether tiles in the primary tier are written without a call that fails midway."""
    if sum(len(by_tile[number]) for number in numbers) < 2:
        return True
    storages = [state.tiles[number].primary for number in numbers]
    return all(s is not None and spans.host_array(s) is not None for s in storages)


def _write_tile(
    state: ResidencyState, tile: Tile, pieces: Sequence[Piece], values: "memoryview[Any]"
) -> None:
    assert tile.primary is not None
    for piece in pieces:
        _write_piece(tile.primary, piece, values)
    tile.dirty = True
    state.touch(tile)


def _rewritten(state: ResidencyState, pieces: Sequence[Piece], values: "memoryview[Any]") -> Region:
    """Copy a tile, and change the copy."""
    present = read_tile(state, state.tiles[pieces[0].number])
    buffer = new_buffer(state.grid.tile_slots, state.dtype) if present is None else present
    for piece in pieces:
        source = Region(values, piece.ordinal, piece.logical)
        copy_region(source, Region(buffer, piece.local, piece.within))
    return Region(buffer, 0, state.grid.tile_layout)


def _is_zero(piece: Piece, values: "memoryview[Any]") -> bool:
    taken = host.new_image(piece.within.size, values.format)  # type: ignore[arg-type]  # a span
    extents = piece.logical.leaf_extents
    copy_region(
        Region(values, piece.ordinal, piece.logical),
        Region(taken, 0, flat_layout(extents, running_products(extents))),
    )
    return is_zero(taken)


def _write_piece(storage: Carrier, piece: Piece, values: "memoryview[Any]") -> None:
    source = Region(values, piece.ordinal, piece.logical)
    array = spans.host_array(storage)
    if array is not None:
        copy_region(source, Region(array, piece.local, piece.within))
        return
    present = read_slots(storage, piece.local, piece.within.cosize)
    copy_region(source, Region(present, 0, piece.within))
    write_slots(storage, piece.local, present)


def _divided(carrier: "TiledEvictable", tensor: Tensor) -> list[Piece] | None:
    state = carrier._state
    if state.dtype not in host.SPAN_FORMATS:
        return None
    grid, layout = state.grid, tensor.layout
    assigned = _leaves_of_axes(grid, tensor.offset, layout)
    if assigned is None:
        return None
    axes, repeated = assigned
    columns = [
        list(_runs(start, leaves, tile))
        for start, leaves, tile in zip(
            grid.decoded(tensor.offset), axes, grid.tile_shape, strict=True
        )
    ]
    count = prod(map(len, columns))
    if count > _MANY_PIECES and count * _FEW_VALUES > layout.size:
        return None
    return list(_pieces(grid, columns, repeated))


def _single_slots(grid: TileGrid, tensor: Tensor) -> Iterator[Piece]:
    single = flat_layout((1,), (0,))
    for ordinal, slot in enumerate(slots(tensor.layout)):
        number, local = grid.locate(tensor.offset + slot)
        yield Piece(number, local, single, ordinal, single)


def _leaves_of_axes(
    grid: TileGrid, offset: int, layout: Layout
) -> tuple[list[list[Leaf]], list[Leaf]] | None:
    """Assign the leaves of a layout to the axes they run along; the rest repeat values.

    A leaf that counts on from one axis to the next is split there.

    Returns:
        None where a leaf carries over from one axis into the middle of the next.
    """
    starts = grid.decoded(offset)
    axes: list[list[Leaf]] = [[] for _ in grid.strides]
    repeated: list[Leaf] = []
    distance = 1
    for extent, stride in zip(layout.leaf_extents, layout.leaf_strides, strict=True):
        step = distance
        distance *= extent
        if extent == 1:
            continue
        if stride == 0:
            repeated.append(Leaf(extent, 0, step))
            continue
        while extent > 1:
            axis = max(k for k, unit in enumerate(grid.strides) if unit <= stride)
            pace, rest = divmod(stride, grid.strides[axis])
            side = grid.logical_shape[axis]
            count = extent
            if starts[axis] + (extent - 1) * pace >= side:
                count = side // pace
                if side % pace or extent % count or starts[axis] >= pace or axis + 1 == len(axes):
                    return None
            if rest:
                return None
            axes[axis].append(Leaf(count, pace, step))
            extent, step, stride = extent // count, step * count, grid.strides[axis] * side
    for start, side, leaves in zip(starts, grid.logical_shape, axes, strict=True):
        if start + sum((leaf.extent - 1) * leaf.step for leaf in leaves) >= side:
            return None
    return axes, repeated


def _runs(start: int, leaves: Sequence[Leaf], tile: int) -> Iterator[Run]:
    """Cut the coordinates of one axis at the borders of the tiles."""
    if not leaves:
        yield Run(start, 1, 0, 0, 0)
        return
    fastest, *others = sorted(leaves, key=lambda leaf: leaf.step)
    for places in product(*(range(leaf.extent) for leaf in others)):
        first = start + sum(p * leaf.step for p, leaf in zip(places, others, strict=True))
        ordinal = sum(p * leaf.distance for p, leaf in zip(places, others, strict=True))
        done = 0
        while done < fastest.extent:
            here = first + done * fastest.step
            room = (tile - 1 - here % tile) // fastest.step + 1
            count = min(room, fastest.extent - done)
            yield Run(
                here, count, fastest.step, ordinal + done * fastest.distance, fastest.distance
            )
            done += count


def _pieces(
    grid: TileGrid, columns: Sequence[Sequence[Run]], repeated: Sequence[Leaf]
) -> Iterator[Piece]:
    extents = tuple(leaf.extent for leaf in repeated)
    distances = tuple(leaf.distance for leaf in repeated)
    for reversed_runs in product(*reversed(columns)):
        runs = reversed_runs[::-1]
        places = [divmod(run.first, tile) for run, tile in zip(runs, grid.tile_shape, strict=True)]
        counts = tuple(run.extent for run in runs) + extents
        steps = tuple(
            run.step * stride for run, stride in zip(runs, grid.tile_strides, strict=True)
        )
        yield Piece(
            grid.number(tuple(tile for tile, _ in places)),
            sum(place * unit for (_, place), unit in zip(places, grid.tile_strides, strict=True)),
            flat_layout(counts, steps + (0,) * len(repeated)),
            sum(run.ordinal for run in runs),
            flat_layout(counts, tuple(run.distance for run in runs) + distances),
        )
