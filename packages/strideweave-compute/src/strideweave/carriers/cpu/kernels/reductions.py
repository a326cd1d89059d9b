"""Reductions of the second mode of a tensor with the modes (kept, reduced).

The axes of the reduced mode come first in a view, and in C order they run through a fiber.
"""

from functools import partial
from math import prod
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Array, Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, narrow, quiet
from strideweave.carriers.cpu.views import axes, operand, operands, result
from strideweave.dtype import DType
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.reference import int32_overflow
from strideweave.tensor.tensor import Tensor

Axis: TypeAlias = tuple[int, ...]

_SAFE_TERMS = 2**32
"""Fewer Int32 terms than this cannot leave 64 bits."""


def _fibers(invocation: ResolvedInvocation) -> tuple[Array, Axis]:
    """The operand and the axes of its reduced mode."""
    reduced = axes(operands(invocation)[0].layout).by_mode[1]
    return operand(invocation, 0), tuple(range(reduced))


def _rows(invocation: ResolvedInvocation) -> Array:
    """The operand as a matrix with one row per position in the fibers."""
    length = operands(invocation)[0].layout.shape[1].size
    return operand(invocation, 0).reshape(length, -1)


def _reduce_sum(invocation: ResolvedInvocation) -> Tensor:
    values, fiber = _fibers(invocation)
    spec = invocation.results[0]
    if spec.dtype is DType.Int32:
        sums: Array = narrow(
            _exact_sums(values, fiber), None, partial(int32_overflow, "reduce_sum")
        )
    elif invocation.plan.accumulator_dtype is DType.Float64:
        sums = numpy.add.reduce(values, fiber, numpy.float64, initial=0.0).astype(numpy.float32)
    else:
        # The start is a real term: a fiber of only -0.0 sums to +0.0.
        sums = numpy.add.reduce(values, fiber, numpy.float32, initial=0.0)
    return result(numpy.reshape(sums, -1), spec)


def _exact_sums(values: Array, fiber: Axis) -> NDArray[numpy.int64]:
    sums: NDArray[numpy.int64] = numpy.asarray(numpy.add.reduce(values, fiber, numpy.int64))
    if prod(values.shape[: len(fiber)]) >= _SAFE_TERMS:
        # Where the sum wrapped around, any value that far outside Int32 stands for it.
        estimates = numpy.asarray(numpy.add.reduce(values, fiber, numpy.float64))
        numpy.copyto(sums, estimates, where=numpy.absolute(estimates) > 2.0**62, casting="unsafe")
    return sums


def _reduce_extreme(reduce: Any, winning_zero: bool) -> Kernel:
    """Make the kernel that takes the largest or smallest value of every fiber; NaN wins.

    Args:
        reduce: Reduces over axes, in any order among zeros of different sign.
        winning_zero: The sign bit of the zero that wins over the other.
    """

    def kernel(invocation: ResolvedInvocation) -> Tensor:
        values, fiber = _fibers(invocation)
        extremes: Floats = numpy.asarray(reduce(values, fiber))
        zeros = numpy.equal(extremes, 0)
        if zeros.any():
            wins = numpy.logical_and(numpy.equal(values, 0), numpy.signbit(values) == winning_zero)
            found = numpy.logical_or.reduce(wins, fiber)
            signs = numpy.where(found == winning_zero, numpy.float32(-1), numpy.float32(1))
            numpy.copysign(extremes, signs, extremes, where=zeros)
        return result(numpy.reshape(extremes, -1), invocation.results[0])

    return kernel


def _reduce_prod(invocation: ResolvedInvocation) -> Tensor:
    # Along the one axis, one row after the other: the order of the factors is fixed.
    products = numpy.multiply.reduce(_rows(invocation), 0, numpy.float32)
    return result(products, invocation.results[0])


def _first_extreme(search: Any) -> Kernel:
    """Make the kernel that finds the first winner of every fiber; the first NaN wins."""

    def kernel(invocation: ResolvedInvocation) -> Tensor:
        positions = search(_rows(invocation), 0)
        return result(positions.astype(numpy.int32), invocation.results[0])

    return kernel


KERNELS: dict[str, Kernel] = {
    "reduce_sum": quiet(_reduce_sum),
    "reduce_prod": quiet(_reduce_prod),
    "reduce_max": quiet(_reduce_extreme(numpy.maximum.reduce, winning_zero=False)),
    "reduce_min": quiet(_reduce_extreme(numpy.minimum.reduce, winning_zero=True)),
    "argmax": quiet(_first_extreme(numpy.argmax)),
    "argmin": quiet(_first_extreme(numpy.argmin)),
}
