"""Metal storage seen as strided MLX arrays, and MLX arrays published as Metal results.

The axes of a view are those of a view of CPU storage: the layout's leaves, depth first and
reversed, without those of extent one.
"""

from math import prod
from typing import TYPE_CHECKING, cast

from strideweave.carriers.cpu.views import axes, operands
from strideweave.carriers.metal import carrier as carrier_module
from strideweave.carriers.metal import primitives, storage
from strideweave.operation.invocation import ResolvedInvocation, ResultSpec
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    import mlx.core as mx


def strided(tensor: Tensor) -> "mx.array":
    """View the values of a Metal tensor as one array with an axis per leaf."""
    placement = axes(tensor.layout)
    return primitives.as_strided(
        _slots(tensor), placement.extents, placement.strides, tensor.offset
    )


def slots(tensor: Tensor) -> "mx.array":
    """View the slots a Metal tensor spans, holes included, as one dimension."""
    return storage.part(_slots(tensor), tensor.offset, tensor.layout.cosize)


def _slots(tensor: Tensor) -> storage.Slots:
    # A Tensor spans slots of its carrier only, and a carrier never shrinks but by release.
    return cast("carrier_module.Metal", tensor.carrier)._live_slots()


def operand(invocation: ResolvedInvocation, position: int) -> "mx.array":
    """View one Tensor operand, converted to the dtype the plan computes in."""
    target = storage.ELEMENTS[invocation.plan.operands[position].convert_to]
    return primitives.converted(strided(operands(invocation)[position]), target)


def slices(invocation: ResolvedInvocation, position: int, axis: int) -> "mx.array":
    """View one Tensor operand as an array of three axes, of which the middle one is one mode.

    Args:
        invocation: The invocation that is executed.
        position: Position of the operand.
        axis: The top-level mode; those after it make the first axis, those before it the last.
    """
    sizes = axes(operands(invocation)[position].layout).sizes
    parted = (prod(sizes[axis + 1 :]), sizes[axis], prod(sizes[:axis]))
    return primitives.reshape(operand(invocation, position), parted)


def result(values: "mx.array", spec: ResultSpec) -> Tensor:
    """Publish an array as the Tensor that a specification asks for.

    Args:
        values: Any array that lists the values in logical order when flattened.
        spec: The result's dtype and its canonical layout.
    """
    return slots_result(primitives.contiguous(primitives.reshape(values, (-1,))), spec)


def slots_result(slots: "mx.array", spec: ResultSpec) -> Tensor:
    """Publish storage, which this submits.

    Args:
        slots: One contiguous dimension, in slot order.
        spec: The result's dtype and its compact layout.
    """
    carrier = carrier_module.adopted(storage.submitted(slots), spec.dtype)
    return tensor_over(carrier, 0, spec.layout, spec.dtype)
