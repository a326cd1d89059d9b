"""Operations on full Tensors: executed on the primary's class, dense or tile by tile."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, cast

from strideweave.autograd.buffers import placed_copy
from strideweave.carriers import Carrier
from strideweave.carriers.extension import (
    CompositeProvider,
    PreparedComposite,
    ProviderResult,
    Unsupported,
)
from strideweave.carriers.operation_capability import (
    OperationCapability,
    UnsupportedOperationPlan,
)
from strideweave.carriers.operation_policy import OperandRole
from strideweave.carriers.tiled_evictable import streaming
from strideweave.carriers.tiled_evictable.buffers import Canvas, Region, fresh_like, read_slots
from strideweave.carriers.tiled_evictable.footprints import full_placement, has_full_shape
from strideweave.carriers.tiled_evictable.leases import Lease, leased
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.operation import ResolvedInvocation
from strideweave.operation.definition import find_definition
from strideweave.operation.operation import VIEW_OPERATION_NAMES
from strideweave.tensor import Tensor
from strideweave.tensor.tensor import tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable

DIRECT_OPERATIONS: Final = ("add", "elementwise_mul", "mul", "relu", "reduce_sum", "matmul")


def composite_provider() -> "CompositeProvider[TiledEvictable]":
    """Build the composite provider of the one definition."""
    return CompositeProvider(
        capabilities=_capabilities,
        result_carriers=lambda carrier, invocation: (
            (type(carrier._state.primary),) * len(invocation.results)
        ),
        prepare=_prepare,
    )


def refuse_others(carrier: "TiledEvictable", name: str) -> None:
    """Refuse a known operation that full Tensors do not take part in.

    Raises:
        UnsupportedOperationPlan: It is one.
    """
    is_known = name in VIEW_OPERATION_NAMES or find_definition(name) is not None
    if is_known and name not in DIRECT_OPERATIONS:
        raise UnsupportedOperationPlan(
            f"TiledEvictable does not execute {name!r}; {execution_remedy(carrier)}"
        )


def execution_remedy(carrier: "TiledEvictable") -> str:
    """Tell what full Tensors take part in, and what to do for anything else."""
    primary = carrier._state.primary
    if not primary.operation_capabilities():
        name = type(primary).__qualname__
        return f"its primary {name} only stores values: choose a primary that computes"
    executed = [name for name in DIRECT_OPERATIONS if carrier.operation_capabilities(name)]
    return (
        f"full Tensors of {carrier.dtype().name} take part in {', '.join(executed) or 'nothing'}; "
        "project the tiles into a compact Tensor for anything else"
    )


def _capabilities(carrier: "TiledEvictable") -> Iterable[OperationCapability]:
    primary, dtype = carrier._state.primary, carrier._state.dtype
    for name in DIRECT_OPERATIONS:
        for capability in primary.operation_capabilities(name):
            tensors = [
                operand for operand in capability.operands if operand.role is OperandRole.TENSOR
            ]
            stores = primary.supports_storage_dtype(capability.output)
            if tensors[0].dtype is dtype and stores:
                yield capability


def _prepare(
    carrier: "TiledEvictable", invocation: ResolvedInvocation
) -> PreparedComposite | Unsupported:
    wanted = type(carrier._state.primary)
    for source in invocation.call.sources:
        if not isinstance(source, Tensor):
            continue
        state = state_of(source)
        if type(state.primary) is not wanted:
            return Unsupported(
                f"its operands compute on {wanted.__qualname__} and "
                f"{type(state.primary).__qualname__}; one compute class is needed"
            )
        if _is_constant(state, source):
            continue
        if not has_full_shape(state.grid, source.layout):
            return Unsupported(
                f"an operand has shape {source.shape}, but only full Tensors of the logical shape "
                f"{state.grid.logical_shape} take part"
            )
        full_placement(state.grid, source, "an operand")
    return PreparedComposite(lambda: ProviderResult((_execute(invocation),)))


def _is_constant(state: ResidencyState, source: Tensor) -> bool:
    """Tell whether an operand is one value for every coordinate, as a number becomes."""
    is_one_slot = state.grid.extent == 1 and source.layout.cosize == 1
    return is_one_slot and not source._takes_gradient()


def state_of(tensor: Tensor) -> ResidencyState:
    """Give the tiles of the TiledEvictable under a Tensor."""
    return cast("TiledEvictable", tensor.carrier)._state


def working_tiles(invocation: ResolvedInvocation, states: Sequence[ResidencyState]) -> int:
    """Tell how many tiles of one carrier an operation reads at the same time."""
    is_squared = invocation.name == "matmul" and len(set(states)) == 1
    return min(2 if is_squared else 1, states[0].grid.tile_count)


def _execute(invocation: ResolvedInvocation) -> Tensor:
    tensors = [operand for operand in invocation.operands if isinstance(operand, Tensor)]
    states = list(map(state_of, tensors))
    with leased(states, "operation", working_tiles(invocation, states)) as leases:
        if any(lease.streams for lease in leases.values()):
            streamed = streaming.execute(invocation, states, leases)
            if streamed is not None:
                return streamed
        return _execute_dense(invocation, leases)


def _execute_dense(invocation: ResolvedInvocation, leases: dict[ResidencyState, Lease]) -> Tensor:
    dense = {state: assembled(lease) for state, lease in leases.items()}
    operands = [
        tensor_over(dense[state_of(operand)], operand.offset, operand.layout, operand.dtype())
        if isinstance(operand, Tensor)
        else operand
        for operand in invocation.operands
    ]
    result = cast(Tensor, invocation.definition(*operands, **invocation.options))
    # Aligned operands do not show which of them had a single element, and so no say in the layout.
    layout = invocation.results[0].layout
    if result.layout == layout:
        return result
    return placed_copy(result, result.carrier, layout, result.dtype())


def assembled(lease: Lease) -> Carrier:
    """Copy all tiles of a lease into one carrier of the primary's class, in slot order."""
    state = lease.state
    grid = state.grid
    carrier = fresh_like(state.primary, grid.extent, state.dtype)
    canvas = Canvas(carrier, grid.extent)
    for number in range(grid.tile_count):
        storage = lease.fetch(number)
        if number + 1 < grid.tile_count:
            lease.prefetch(number + 1)
        source = Region(read_slots(storage, 0, grid.tile_slots), 0, grid.tile_layout)
        canvas.paint(grid.first_slot(number), grid.footprint, source)
        lease.done(number)
    canvas.finish()
    return carrier


def dense_stand_in(tensor: Tensor) -> Tensor:
    """Give a Tensor with the values of a tiled one, for a gradient that reads them."""
    state = state_of(tensor)
    with leased([state], "backward") as leases:
        carrier = assembled(leases[state])
    return tensor_over(carrier, tensor.offset, tensor.layout, tensor.dtype())
