"""Matrix products, one or a batch. Every one contracts the last mode of both operands.

Matrices are read as (inner, outer) arrays, batches of them with the batch in front, so that the
product of the transposed second operand with the first is one canonical result in C order.
"""

from typing import TYPE_CHECKING

from strideweave.carriers.cpu.views import axes, operands
from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel
from strideweave.carriers.metal.views import operand, result
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx

BLOCK = 256
"""Terms of a product that MLX adds one after the other, before that loses too much."""


def _matmul(invocation: ResolvedInvocation) -> Tensor:
    lhs, rhs = (_matrices(invocation, position) for position in (0, 1))
    sums = product(primitives.transpose(rhs), lhs)
    return result(primitives.add(sums, primitives.ZERO), invocation.results[0])


def _batched_matmul(invocation: ResolvedInvocation) -> Tensor:
    lhs, rhs = (
        primitives.transpose(_matrices(invocation, position), (2, 0, 1)) for position in (0, 1)
    )
    sums = primitives.add(product(primitives.transpose(rhs, (0, 2, 1)), lhs), primitives.ZERO)
    return result(primitives.transpose(sums, (1, 2, 0)), invocation.results[0])


def _matrices(invocation: ResolvedInvocation, position: int) -> "mx.array":
    """One operand as (inner, outer), with the batch, if it has one, as its last axis."""
    sizes = axes(operands(invocation)[position].layout).sizes
    return primitives.reshape(operand(invocation, position), sizes[::-1])


def product(left: "mx.array", right: "mx.array") -> "mx.array":
    """Multiply matrices in their last two axes; long inner axes are halved and added up."""
    inner = left.shape[-1]
    if inner <= BLOCK:
        return primitives.matmul(left, right)
    lefts = primitives.split(left, [inner // 2], -1)
    rights = primitives.split(right, [inner // 2], -2)
    return primitives.add(*map(product, lefts, rights))


KERNELS: dict[str, Kernel] = {"matmul": _matmul, "_batched_matmul": _batched_matmul}
