"""What the kernels of the Metal carrier share: the pointwise frame."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.storage import ELEMENTS
from strideweave.carriers.metal.views import result, slots, slots_result, strided
from strideweave.layout import Layout
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.reference import convert_weak_scalar
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx

Kernel: TypeAlias = Callable[[ResolvedInvocation], Tensor]
Compute: TypeAlias = Callable[..., "mx.array"]
"""Computes one array from arrays that broadcast to its shape."""


def pointwise(compute: Compute) -> Kernel:
    """Make the kernel of an operation that computes each coordinate on its own.

    Args:
        compute: Takes the operands, converted as the plan says; its result is no view of them.
    """

    def kernel(invocation: ResolvedInvocation) -> Tensor:
        spec = invocation.results[0]
        operands: tuple[Any, ...] = invocation.operands
        layouts = tuple(entry.layout for entry in operands if isinstance(entry, Tensor))
        is_flat = _is_flat(spec.layout, layouts)
        view = slots if is_flat else strided
        arrays: list[mx.array] = []
        for operand, entry in zip(operands, invocation.plan.operands, strict=True):
            if entry.dtype is None:
                arrays.append(primitives.constant(convert_weak_scalar(operand, entry.convert_to)))
            else:
                arrays.append(primitives.converted(view(operand), ELEMENTS[entry.convert_to]))
        # Without flat operands the layout is canonical, so logical order is slot order.
        return (slots_result if is_flat else result)(compute(*arrays), spec)

    return kernel


@lru_cache(maxsize=1024)
def _is_flat(own: Layout, layouts: tuple[Layout, ...]) -> bool:
    """Whether the slots of operands are computed one by one, in whatever order.

    That is so where they have the result's own, compact layout; an operand whose coordinates all
    share a slot takes part as a single element.
    """
    return own in layouts and all(layout == own or layout.cosize == 1 for layout in layouts)
