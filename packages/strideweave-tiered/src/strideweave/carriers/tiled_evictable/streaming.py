"""Direct operations with a capacity: tile by tile, while the next tile arrives."""

from collections.abc import Callable, Sequence
from math import isqrt, prod
from threading import Lock
from typing import Final, cast

from strideweave.carriers.tiled_evictable.blocks import (
    POINTWISE,
    Box,
    Step,
    StreamedOperand,
    steps_of,
    store,
    walk,
    window,
    with_blocks,
)
from strideweave.carriers.tiled_evictable.buffers import (
    Canvas,
    Region,
    filled_like,
    fresh_like,
    read_slots,
)
from strideweave.carriers.tiled_evictable.lanes import Lanes, Visit, runs_of
from strideweave.carriers.tiled_evictable.leases import Lease
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.layout import Layout
from strideweave.operation import ResolvedInvocation
from strideweave.operation.evaluation import evaluate
from strideweave.ops.metadata import layout_of
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over

MANY_READ: Final = 2**22
"""Elements from which a step takes so long that a second thread pays."""
MANY_MULTIPLIED: Final = 2**28
"""Multiplications from which it does, however little is read."""


def execute(
    invocation: ResolvedInvocation,
    states: Sequence[ResidencyState],
    leases: dict[ResidencyState, Lease],
) -> Tensor | None:
    """Run an operation box by box.

    Args:
        invocation: The operation.
        states: The tiles under each Tensor operand.
        leases: The holds on them.

    Returns:
        The result, or None where the operation needs dense operands.
    """
    tensors = [operand for operand in invocation.operands if isinstance(operand, Tensor)]

    def new_operands() -> list[StreamedOperand]:
        return [
            StreamedOperand(tensor, state, leases[state])
            for tensor, state in zip(tensors, states, strict=True)
        ]

    operands = new_operands()
    steps = steps_of(invocation, operands)
    if steps is None:
        return None
    if invocation.name in POINTWISE:
        steps.sort(key=lambda step: [operand.number(step.writes) for operand in operands])
        return _painted(invocation, states[0], operands, steps)
    if invocation.name == "reduce_sum":
        steps.sort(key=lambda step: operands[0].number(step.reads[0]))

    def visit_all(visit: Visit) -> None:
        if invocation.name == "matmul" and _is_large(steps[0]) and _has_room(leases):
            runs = runs_of(steps)
            if len(runs) > 1 and Lanes(runs, new_operands, visit).finish():
                return
        for step, blocks in walk(operands, steps):
            visit(step, blocks)

    return _summed(invocation, states[0], visit_all)


def _is_large(step: Step) -> bool:
    """Tell whether a second thread pays for such steps of a product."""
    lhs, rhs, written = (prod(length for _, length in box) for box in (*step.reads, step.writes))
    multiplied = isqrt(lhs * rhs * written)  # each of the three extents is in two of the boxes
    return lhs + rhs >= MANY_READ or multiplied >= MANY_MULTIPLIED


def _has_room(leases: dict[ResidencyState, Lease]) -> bool:
    return all(lease.has_room_for_two() for lease in leases.values())


def _block_result(invocation: ResolvedInvocation, blocks: Sequence[Tensor]) -> Tensor:
    operands = with_blocks(invocation, blocks)
    return cast(Tensor, invocation.definition(*operands, **invocation.options))


def _painted(
    invocation: ResolvedInvocation,
    state: ResidencyState,
    operands: Sequence[StreamedOperand],
    steps: Sequence[Step],
) -> Tensor:
    """Put the results of all steps side by side."""
    spec = invocation.results[0]
    carrier = fresh_like(state.primary, spec.layout.cosize, spec.dtype)
    canvas = Canvas(carrier, spec.layout.cosize)
    for step, blocks in walk(operands, steps):
        result = _block_result(invocation, blocks)
        values = read_slots(result.carrier, result.offset, result.layout.cosize)
        offset, layout = window(spec.layout, step.writes)
        canvas.paint(offset, layout, Region(values, 0, result.layout))
    canvas.finish()
    return tensor_over(carrier, 0, spec.layout, spec.dtype)


def _summed(
    invocation: ResolvedInvocation,
    state: ResidencyState,
    visit_all: Callable[[Visit], None],
) -> Tensor:
    """Add up the results of the steps that write to the same box of the result."""
    spec = invocation.results[0]
    carrier = filled_like(state.primary, spec.layout.cosize, spec.dtype)
    begun: set[Box] = set()
    storing = Lock()

    def add(step: Step, blocks: Sequence[Tensor]) -> None:
        offset, layout = window(spec.layout, step.writes)
        total = tensor_over(carrier, offset, layout, spec.dtype)
        result = _block_result(invocation, blocks)
        dense = _like(layout, result.layout)
        term = tensor_over(result.carrier, result.offset, dense, spec.dtype)
        with storing:
            store(total, evaluate("add", total, term) if step.writes in begun else term)
            begun.add(step.writes)

    visit_all(add)
    return tensor_over(carrier, 0, spec.layout, spec.dtype)


def _like(layout: Layout, dense: Layout) -> Layout:
    """View a dense block in the nesting of a box."""
    return layout if dense == layout else layout_of(layout.shape, dense.leaf_strides)
