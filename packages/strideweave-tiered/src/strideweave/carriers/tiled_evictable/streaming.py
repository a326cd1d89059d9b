"""Direct operations with a capacity: tile by tile, while the next tile arrives.

An operand's layout sends coordinates to slots, and slots to tiles. Along each leaf of the layout a
run of coordinates stays within one tile; cutting the leaves there divides the operation into
boxes, each of which reads one tile of every operand.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias, cast, final

import strideweave.host as host
from strideweave.carriers import Carrier
from strideweave.carriers.dtype import DType
from strideweave.carriers.tiled_evictable.buffers import (
    Canvas,
    Region,
    filled_like,
    fresh_like,
    read_slots,
)
from strideweave.carriers.tiled_evictable.geometry import TileGrid
from strideweave.carriers.tiled_evictable.leases import Lease
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.layout import Layout, Shape
from strideweave.operation import ResolvedInvocation
from strideweave.operation.evaluation import evaluate
from strideweave.ops.metadata import layout_of
from strideweave.ops.nesting import nest
from strideweave.tensor import Tensor
from strideweave.tensor.access import logical_values, write_logical_values
from strideweave.tensor.tensor import tensor_over

Interval: TypeAlias = tuple[int, int]
"""First coordinate and length."""
Box: TypeAlias = tuple[Interval, ...]
"""One interval per leaf."""

_POINTWISE = ("add", "elementwise_mul", "mul", "relu")


def execute(invocation: ResolvedInvocation, leases: dict[ResidencyState, Lease]) -> Tensor | None:
    """Run an operation box by box.

    Returns:
        The result, or None where the operation needs dense operands: exact integer sums and wide
        accumulators round the whole sum once.
    """
    if invocation.name in _POINTWISE:
        return _pointwise(invocation, leases)
    if invocation.plan.accumulator_dtype is not DType.Float32:
        return None
    if invocation.name == "reduce_sum":
        return _reduced(invocation, leases)
    return _multiplied(invocation, leases)


@final
class StreamedOperand:
    """One operand, of which one tile at a time is in the primary tier.

    Args:
        tensor: The aligned or lowered operand.
        lease: The hold on its carrier.

    Attributes:
        cuts: Per leaf, how many neighbouring coordinates share a tile.
    """

    def __init__(self, tensor: Tensor, lease: Lease) -> None:
        self._tensor = tensor
        self._grid = lease.state.grid
        self._lease = lease
        self._current: int | None = None
        self._storage: Carrier | None = None
        layout = tensor.layout
        steps = [
            _leaf_step(self._grid, extent, stride)
            for extent, stride in zip(layout.leaf_extents, layout.leaf_strides, strict=True)
        ]
        self.cuts = [cut for cut, _ in steps]
        self._strides = tuple(stride for _, stride in steps)

    def number(self, box: Box) -> int:
        """Give the tile that a box reads."""
        return self._grid.locate(self._slot(box))[0]

    def _slot(self, box: Box) -> int:
        strides = self._tensor.layout.leaf_strides
        steps = (start * stride for (start, _), stride in zip(box, strides, strict=True))
        return self._tensor.offset + sum(steps)

    def leave(self, number: int) -> None:
        """Let go of the present tile unless it is the given one."""
        if self._current is not None and self._current != number:
            self._lease.done(self._current)
            self._current = self._storage = None

    def read(self, box: Box) -> Tensor:
        """Bring the tile of a box, and view the box in it."""
        number, local = self._grid.locate(self._slot(box))
        if self._storage is None:
            self._storage = self._lease.fetch(number)
            self._current = number
        shape = _box_shape(self._tensor.layout, box)
        return tensor_over(
            self._storage, local, layout_of(shape, self._strides), self._tensor.dtype()
        )

    def prefetch(self, box: Box) -> None:
        """Begin to bring the tile of a box that comes next."""
        number = self.number(box)
        if number != self._current:
            self._lease.prefetch(number)

    def finish(self) -> None:
        """Let go of the last tile."""
        self.leave(-1)


def _leaf_step(grid: TileGrid, extent: int, stride: int) -> tuple[int, int]:
    """Give how far a leaf stays within a tile, and its stride there in local ordinals."""
    if stride == 0 or extent == 1:
        return extent, 0
    runs = _merged_axes(grid)
    _, tile, step, local = next(run for run in reversed(runs) if run[2] <= stride)
    digit = stride // step
    if digit >= tile:
        return 1, 0
    return min(extent, tile // digit), digit * local


def _merged_axes(grid: TileGrid) -> list[tuple[int, int, int, int]]:
    """List extents, tile extents and strides of the axes; whole axes continue in the next."""
    runs: list[tuple[int, int, int, int]] = []
    for axis in zip(
        grid.logical_shape, grid.tile_shape, grid.strides, grid.tile_strides, strict=True
    ):
        if runs and runs[-1][0] == runs[-1][1]:
            extent, tile, step, local = runs.pop()
            runs.append((extent * axis[0], tile * axis[1], step, local))
        else:
            runs.append(axis)
    return runs


def _box_shape(layout: Layout, box: Box) -> Shape:
    return Shape(nest(layout.shape.top_level, [length for _, length in box]))


def _intervals(extent: int, cuts: Sequence[int]) -> list[Interval]:
    """Divide a leaf at every multiple of every cut."""
    starts = sorted({start for cut in cuts for start in range(0, extent, cut)})
    ends = [*starts[1:], extent]
    return [(start, end - start) for start, end in zip(starts, ends, strict=True)]


def _boxes(columns: Sequence[Sequence[Interval]]) -> Iterator[Box]:
    """Combine the intervals of all leaves, the first leaf fastest."""
    for box in product(*reversed(columns)):
        yield box[::-1]


class Step(NamedTuple):
    """One computation: the box of each operand, and of the result."""

    reads: tuple[Box, ...]
    writes: Box


def _walk(
    operands: Sequence[StreamedOperand], steps: Sequence[Step]
) -> Iterator[tuple[list[Tensor], Box]]:
    """Give the blocks of each step, while the tiles of the next one arrive."""
    for position, step in enumerate(steps):
        for operand, box in zip(operands, step.reads, strict=True):
            operand.leave(operand.number(box))
        blocks = [operand.read(box) for operand, box in zip(operands, step.reads, strict=True)]
        if position + 1 < len(steps):
            for operand, box in zip(operands, steps[position + 1].reads, strict=True):
                operand.prefetch(box)
        yield blocks, step.writes
    for operand in operands:
        operand.finish()


def _streamed(
    invocation: ResolvedInvocation, leases: dict[ResidencyState, Lease]
) -> list[StreamedOperand]:
    by_carrier = {id(lease.state): lease for lease in leases.values()}
    return [
        StreamedOperand(operand, by_carrier[id(operand.carrier._state)])  # type: ignore[attr-defined]  # every operand is tiled
        for operand in invocation.operands
        if isinstance(operand, Tensor)
    ]


def _block_result(invocation: ResolvedInvocation, blocks: Sequence[Tensor]) -> Tensor:
    remaining = iter(blocks)
    operands = [
        next(remaining) if isinstance(operand, Tensor) else operand
        for operand in invocation.operands
    ]
    return cast(Tensor, invocation.definition(*operands, **invocation.options))


def _pointwise(invocation: ResolvedInvocation, leases: dict[ResidencyState, Lease]) -> Tensor:
    operands = _streamed(invocation, leases)
    spec = invocation.results[0]
    columns = [
        _intervals(extent, cuts)
        for extent, *cuts in zip(
            spec.layout.leaf_extents, *(operand.cuts for operand in operands), strict=True
        )
    ]
    steps = [Step((box,) * len(operands), box) for box in _boxes(columns)]
    steps.sort(key=lambda step: [operand.number(step.writes) for operand in operands])
    primary = next(iter(leases)).primary
    carrier = fresh_like(primary, spec.layout.cosize, spec.dtype)
    canvas = Canvas(carrier, spec.layout.cosize)
    for blocks, box in _walk(operands, steps):
        result = _block_result(invocation, blocks)
        values = read_slots(result.carrier, result.offset, result.layout.cosize)
        offset, layout = _window(spec.layout, box)
        canvas.paint(offset, layout, Region(values, 0, result.layout))
    canvas.finish()
    return tensor_over(carrier, 0, spec.layout, spec.dtype)


def _window(layout: Layout, box: Box) -> tuple[int, Layout]:
    """Place a box in a layout: its first slot, and the layout from there."""
    strides = layout.leaf_strides
    offset = sum(start * stride for (start, _), stride in zip(box, strides, strict=True))
    return offset, layout_of(_box_shape(layout, box), strides)


def _reduced(invocation: ResolvedInvocation, leases: dict[ResidencyState, Lease]) -> Tensor:
    (operand,) = operands = _streamed(invocation, leases)
    layout = cast(Tensor, invocation.operands[0]).layout
    columns = [
        _intervals(extent, [cut])
        for extent, cut in zip(layout.leaf_extents, operand.cuts, strict=True)
    ]
    kept = len(layout[0].leaf_extents)
    steps = [Step((box,), box[:kept]) for box in _boxes(columns)]
    steps.sort(key=lambda step: operand.number(step.reads[0]))
    return _summed(invocation, leases, operands, steps)


def _multiplied(
    invocation: ResolvedInvocation, leases: dict[ResidencyState, Lease]
) -> Tensor | None:
    lhs, rhs = operands = _streamed(invocation, leases)
    layouts = [cast(Tensor, operand).layout for operand in invocation.operands]
    inner = [layout[1].leaf_extents for layout in layouts]
    if inner[0] != inner[1]:
        return None  # the contracted mode is nested differently
    rows, columns = (len(layout[0].leaf_extents) for layout in layouts)
    outer = [
        _intervals(extent, [cut])
        for layout, operand, count in zip(layouts, operands, (rows, columns), strict=True)
        for extent, cut in zip(layout[0].leaf_extents, operand.cuts[:count], strict=True)
    ]
    contracted = [
        _intervals(extent, cuts)
        for extent, *cuts in zip(inner[0], lhs.cuts[rows:], rhs.cuts[columns:], strict=True)
    ]
    steps = [
        Step((box[:rows] + terms, box[rows:] + terms), box)
        for box in _boxes(outer)
        for terms in _boxes(contracted)
    ]
    return _summed(invocation, leases, operands, steps)


def _summed(
    invocation: ResolvedInvocation,
    leases: dict[ResidencyState, Lease],
    operands: Sequence[StreamedOperand],
    steps: Sequence[Step],
) -> Tensor:
    """Add the results of all steps, each to its box of the result."""
    spec = invocation.results[0]
    primary = next(iter(leases)).primary
    carrier = filled_like(primary, spec.layout.cosize, spec.dtype)
    for blocks, box in _walk(operands, steps):
        offset, layout = _window(spec.layout, box)
        total = tensor_over(carrier, offset, layout, spec.dtype)
        term = _block_result(invocation, blocks)
        reshaped = tensor_over(term.carrier, term.offset, _like(layout, term.layout), spec.dtype)
        _store(total, evaluate("add", total, reshaped))
    return tensor_over(carrier, 0, spec.layout, spec.dtype)


def _like(layout: Layout, dense: Layout) -> Layout:
    """View a dense block in the nesting of a box."""
    return layout if dense == layout else layout_of(layout.shape, dense.leaf_strides)


def _store(tensor: Tensor, values: Tensor) -> None:
    """Replace the values of a box; the result is not published yet and has no version to keep."""
    array = host.read_array(values)
    if array is None or not host.write_array(tensor, array):
        write_logical_values(tensor, logical_values(values))
