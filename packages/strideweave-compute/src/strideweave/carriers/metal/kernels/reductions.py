"""Reductions of the second mode of a tensor with the modes (kept, reduced)."""

from typing import TYPE_CHECKING

import numpy

from strideweave.carriers.cpu.views import operands
from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Compute, Kernel
from strideweave.carriers.metal.runtime import load
from strideweave.carriers.metal.views import operand, result
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core

_BLOCK = 32
"""Terms that are added at once. MLX adds them one after the other, which loses more with each."""


def _rows(invocation: ResolvedInvocation) -> mx.array:
    """The operand as a matrix with one row per position in the fibers."""
    length = operands(invocation)[0].layout.shape[1].size
    return primitives.reshape(operand(invocation, 0), (length, -1))


def _reduce_sum(invocation: ResolvedInvocation) -> Tensor:
    return result(sum_of_rows(_rows(invocation)), invocation.results[0])


def sum_of_rows(rows: mx.array) -> mx.array:
    """Add an array up along its first axis, from +0.0 and block by block.

    With up to 2**25 terms the result stays within 1e-5 of the sum of their magnitudes.
    """
    while rows.shape[0] > _BLOCK:
        count, *others = rows.shape
        blocks = count // _BLOCK
        whole, *rest = primitives.split(rows, [blocks * _BLOCK] if count % _BLOCK else 1)
        sums = primitives.sum(primitives.reshape(whole, (blocks, _BLOCK, *others)), 1)
        rows = primitives.concatenate([sums, *rest]) if rest else sums
    # MLX leaves a sum of only -0.0 negative.
    return primitives.add(primitives.sum(rows, 0), primitives.ZERO)


def _reduce_extreme(reduce: Compute, winner: float) -> Kernel:
    """Make the kernel that takes the largest or smallest value of every fiber; NaN wins.

    Args:
        reduce: Reduces over an axis, in any order among zeros of different sign.
        winner: The zero that wins over the other.
    """
    winning_zero, losing_zero = primitives.constant(winner), primitives.constant(-winner)
    # From host data: a view would be work that only the importing thread could have done.
    winning_bits = mx.array(numpy.array(winner, numpy.float32).view(numpy.int32))

    def kernel(invocation: ResolvedInvocation) -> Tensor:
        rows = _rows(invocation)
        extremes = reduce(rows, 0)
        wins = primitives.equal(primitives.view(rows, mx.int32), winning_bits)
        zeros = primitives.where(primitives.any(wins, 0), winning_zero, losing_zero)
        is_zero = primitives.equal(extremes, primitives.ZERO)
        return result(primitives.where(is_zero, zeros, extremes), invocation.results[0])

    return kernel


def _reduce_prod(invocation: ResolvedInvocation) -> Tensor:
    # A reduction has a partial product per lane of a vector; a scan has the order of memory.
    fibers = primitives.contiguous(primitives.transpose(_rows(invocation)))
    running = primitives.cumprod(fibers, 1)
    *_, last = primitives.split(running, [fibers.shape[1] - 1], 1)
    return result(last, invocation.results[0])


def _first_extreme(search: Compute) -> Kernel:
    """Make the kernel that finds the first winner of every fiber; the first NaN wins."""

    def kernel(invocation: ResolvedInvocation) -> Tensor:
        positions = search(_rows(invocation), 0)
        return result(primitives.converted(positions, mx.int32), invocation.results[0])

    return kernel


KERNELS: dict[str, Kernel] = {
    "reduce_sum": _reduce_sum,
    "reduce_prod": _reduce_prod,
    "reduce_max": _reduce_extreme(primitives.max, 0.0),
    "reduce_min": _reduce_extreme(primitives.min, -0.0),
    "argmax": _first_extreme(primitives.argmax),
    "argmin": _first_extreme(primitives.argmin),
}
