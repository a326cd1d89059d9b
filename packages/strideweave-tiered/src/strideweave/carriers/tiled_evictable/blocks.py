"""The blocks of a direct operation, each of which reads one tile of every operand.

An operand's layout sends coordinates to slots, and slots to tiles. Along each leaf of the layout a
run of coordinates stays within one tile; cutting the leaves there divides the operation into
boxes.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from math import gcd
from typing import Final, NamedTuple, TypeAlias, final

import strideweave.host as host
from strideweave.carriers import Carrier
from strideweave.carriers.dtype import DType
from strideweave.carriers.tiled_evictable.geometry import TileGrid
from strideweave.carriers.tiled_evictable.leases import Lease
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.layout import Layout, Shape
from strideweave.operation import ResolvedInvocation
from strideweave.ops.metadata import layout_of, stationary_layout
from strideweave.ops.nesting import nest
from strideweave.tensor import Tensor
from strideweave.tensor.access import logical_values, write_logical_values
from strideweave.tensor.tensor import tensor_over

Interval: TypeAlias = tuple[int, int]
"""First coordinate and length."""
Box: TypeAlias = tuple[Interval, ...]
"""One interval per leaf."""

POINTWISE: Final = ("add", "elementwise_mul", "mul", "relu")


class Step(NamedTuple):
    """One computation: the box of each operand, and of the result."""

    reads: tuple[Box, ...]
    writes: Box


@final
class StreamedOperand:
    """One operand, of which one tile at a time is in the primary tier.

    Args:
        tensor: The aligned or lowered operand.
        state: The tiles of its carrier.
        lease: The hold on them, or None where only shapes are needed.

    Attributes:
        layout: Its layout.
        cuts: Per leaf, how many neighbouring coordinates share a tile.
    """

    def __init__(self, tensor: Tensor, state: ResidencyState, lease: Lease | None) -> None:
        self._tensor = tensor
        self._grid = state.grid
        self._prototype = state.primary
        self._lease = lease
        self._current: int | None = None
        self._storage: Carrier | None = None
        self.layout = layout = tensor.layout
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
        if self._lease is not None and self._current not in (None, number):
            left, self._current, self._storage = self._current, None, None
            self._lease.done(left)

    def read(self, box: Box) -> Tensor:
        """Bring the tile of a box, and view the box in it."""
        number, local, layout = self.place(box)
        if self._lease is None:
            blank = stationary_layout(layout.shape)
            return tensor_over(self._prototype, 0, blank, self._tensor.dtype())
        if self._storage is None:
            self._storage = self._lease.fetch(number)
            self._current = number
        return tensor_over(self._storage, local, layout, self._tensor.dtype())

    def place(self, box: Box) -> tuple[int, int, Layout]:
        """Give the tile of a box, and where it lies there: its first local ordinal, and its layout.

        The strides are 0 along leaves that repeat values.
        """
        number, local = self._grid.locate(self._slot(box))
        return number, local, layout_of(_box_shape(self.layout, box), self._strides)

    def prefetch(self, box: Box) -> None:
        """Begin to bring the tile of a box that comes next."""
        number = self.number(box)
        if self._lease is not None and number != self._current:
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
    if tile % digit:  # the leaf steps across borders of tiles
        return 1, 0
    return gcd(extent, tile // digit), digit * local


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


def walk(
    operands: Sequence[StreamedOperand], steps: Sequence[Step]
) -> Iterator[tuple[Step, list[Tensor]]]:
    """Give the blocks of each step, while the tiles of the next one arrive."""
    for position, step in enumerate(steps):
        for operand, box in zip(operands, step.reads, strict=True):
            operand.leave(operand.number(box))
        blocks = [operand.read(box) for operand, box in zip(operands, step.reads, strict=True)]
        if position + 1 < len(steps):
            for operand, box in zip(operands, steps[position + 1].reads, strict=True):
                operand.prefetch(box)
        yield step, blocks
    for operand in operands:
        operand.finish()


def pointwise_steps(operands: Sequence[StreamedOperand], layout: Layout) -> list[Step]:
    """Divide an operation whose operands have the shape of its result."""
    columns = [
        _intervals(extent, cuts)
        for extent, *cuts in zip(
            layout.leaf_extents, *(operand.cuts for operand in operands), strict=True
        )
    ]
    return [Step((box,) * len(operands), box) for box in _boxes(columns)]


def reduced_steps(operand: StreamedOperand) -> list[Step]:
    """Divide a sum over the second of two modes."""
    layout = operand.layout
    columns = [
        _intervals(extent, [cut])
        for extent, cut in zip(layout.leaf_extents, operand.cuts, strict=True)
    ]
    kept = len(layout[0].leaf_extents)
    return [Step((box,), box[:kept]) for box in _boxes(columns)]


def product_steps(lhs: StreamedOperand, rhs: StreamedOperand) -> list[Step] | None:
    """Divide a product along its two outer modes, and each block along the contracted one.

    Returns:
        None where the contracted mode is nested differently in the two operands.
    """
    inner = [operand.layout[1].leaf_extents for operand in (lhs, rhs)]
    if inner[0] != inner[1]:
        return None
    rows, columns = (len(operand.layout[0].leaf_extents) for operand in (lhs, rhs))
    outer = [
        _intervals(extent, [cut])
        for operand, count in ((lhs, rows), (rhs, columns))
        for extent, cut in zip(operand.layout[0].leaf_extents, operand.cuts[:count], strict=True)
    ]
    contracted = [
        _intervals(extent, cuts)
        for extent, *cuts in zip(inner[0], lhs.cuts[rows:], rhs.cuts[columns:], strict=True)
    ]
    return [
        Step((box[:rows] + terms, box[rows:] + terms), box)
        for box in _boxes(outer)
        for terms in _boxes(contracted)
    ]


def steps_of(
    invocation: ResolvedInvocation, operands: Sequence[StreamedOperand]
) -> list[Step] | None:
    """Divide a direct operation.

    Returns:
        None where it needs dense operands: exact integer sums and wide accumulators round the whole
        sum once, and a contracted mode may be nested differently in the two operands.
    """
    if invocation.name in POINTWISE:
        return pointwise_steps(operands, invocation.results[0].layout)
    if invocation.plan.accumulator_dtype is not DType.Float32:
        return None
    if invocation.name == "reduce_sum":
        return reduced_steps(operands[0])
    return product_steps(operands[0], operands[1])


def window(layout: Layout, box: Box) -> tuple[int, Layout]:
    """Place a box in a layout: its first slot, and the layout from there."""
    strides = layout.leaf_strides
    offset = sum(start * stride for (start, _), stride in zip(box, strides, strict=True))
    return offset, layout_of(_box_shape(layout, box), strides)


def with_blocks(invocation: ResolvedInvocation, blocks: Sequence[Tensor]) -> list[object]:
    """Give the operands of a call with blocks in the place of its Tensors."""
    remaining = iter(blocks)
    return [
        next(remaining) if isinstance(operand, Tensor) else operand
        for operand in invocation.operands
    ]


def store(tensor: Tensor, values: Tensor) -> None:
    """Replace the values of a block of storage that nobody else knows yet."""
    array = host.read_array(values)
    if array is None or not host.write_array(tensor, array):
        write_logical_values(tensor, logical_values(values))
