"""Backward of direct operations: over blocks where tiles come and go, else over dense stand-ins."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from strideweave.carriers.tiled_evictable.blocks import (
    Step,
    StreamedOperand,
    steps_of,
    walk,
    window,
    with_blocks,
)
from strideweave.carriers.tiled_evictable.direct import assembled, state_of, working_tiles
from strideweave.carriers.tiled_evictable.gradient_tiles import GradientTiles
from strideweave.carriers.tiled_evictable.leases import Lease, leased
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.operation.gradient import RecordedCall

Gradients: TypeAlias = tuple[Tensor | None, ...]


def differentiate(call: "RecordedCall") -> Gradients:
    """Give the gradients of a recorded direct operation.

    The policy of each carrier whose values are read is asked once, for the purpose "backward".
    """
    invocation = call.invocation
    saved = [cast(Tensor, invocation.operands[p]) for p in invocation.saved_operands]
    states = [state_of(tensor) for tensor in saved]
    tensors = [cast(Tensor, invocation.operands[p]) for p in call.tensor_positions]
    is_streamed = any(state_of(tensor).capacity is not None for tensor in tensors)
    cotangents = call.cotangents() if is_streamed else ()
    with leased(states, "backward", working_tiles(invocation, states) if states else 1) as leases:
        if is_streamed:
            gradients = _streamed(call, tensors, cast(Tensor, cotangents[0]), leases)
            if gradients is not None:
                return gradients
        dense = {state: assembled(lease) for state, lease in leases.items()}
    stand_ins = [
        tensor_over(dense[state], tensor.offset, tensor.layout, tensor.dtype())
        for tensor, state in zip(saved, states, strict=True)
    ]
    return call.differentiate(stand_ins)


def _streamed(
    call: "RecordedCall",
    tensors: Sequence[Tensor],
    cotangent: Tensor,
    leases: dict[ResidencyState, Lease],
) -> Gradients | None:
    """Run the vjp block by block; None where the operation needs dense operands."""
    states = [state_of(tensor) for tensor in tensors]
    operands = [
        StreamedOperand(tensor, state, leases.get(state))
        for tensor, state in zip(tensors, states, strict=True)
    ]
    steps = steps_of(call.invocation, operands)
    if steps is None:
        return None
    _sort(steps, operands, states)
    sources = [cast(Tensor, call.invocation.call.sources[p]) for p in call.tensor_positions]
    kept: list[GradientTiles | None] = []
    try:
        for source, operand, position in zip(sources, operands, call.tensor_positions, strict=True):
            is_summed = not operand.layout.is_injective
            is_wanted = call.takes_gradient(position)
            kept.append(GradientTiles(source, is_summed) if is_wanted else None)
        for step, blocks in walk(operands, steps):
            _accumulate(call, step, operands, blocks, cotangent, kept)
        return tuple(None if tiles is None else tiles.finished() for tiles in kept)
    except BaseException:
        for tiles in kept:
            if tiles is not None:
                tiles.abandon()
        raise


def _sort(
    steps: list[Step], operands: Sequence[StreamedOperand], states: Sequence[ResidencyState]
) -> None:
    """Order the steps by tiles, so that those of the operand with the most are open once only."""
    order = sorted(range(len(operands)), key=lambda entry: -states[entry].grid.tile_count)
    steps.sort(key=lambda step: [operands[entry].number(step.reads[entry]) for entry in order])


def _accumulate(
    call: "RecordedCall",
    step: Step,
    operands: Sequence[StreamedOperand],
    blocks: Sequence[Tensor],
    cotangent: Tensor,
    kept: Sequence[GradientTiles | None],
) -> None:
    """Add the gradients of one step; what they take is free again before the next one."""
    offset, layout = window(cotangent.layout, step.writes)
    arrived = tensor_over(cotangent.carrier, cotangent.offset + offset, layout, cotangent.dtype())
    entries = call.differentiate_block(with_blocks(call.invocation, blocks), arrived)
    for tiles, operand, box, entry in zip(kept, operands, step.reads, entries, strict=True):
        if tiles is not None and entry is not None:
            tiles.add(*operand.place(box), entry)
