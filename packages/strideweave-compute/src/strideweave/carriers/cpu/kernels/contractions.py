"""Matrix products. Every one contracts the second mode of both operands."""

from functools import partial

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Array, Floats, Integers
from strideweave.carriers.cpu.kernels.frame import Kernel, narrow, quiet
from strideweave.carriers.cpu.views import operand, operands, result
from strideweave.dtype import DType
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.reference import int32_overflow
from strideweave.tensor.tensor import Tensor

_EXACT_FLOAT64 = 2**53
_HALF_WORD = 16
_CHUNK = 2**20
"""Terms whose 16-bit partial products add up exactly in binary64."""
_BLOCK = 2**20
"""Rounded products held at once."""


def _matmul(invocation: ResolvedInvocation) -> Tensor:
    """Multiply the first operand with the transposed second one.

    Both are read as (inner, outer) matrices, so that the product of the transposed second with
    the first is the canonical result in C order.
    """
    lhs = _matrix(invocation, 0)
    rhs = _matrix(invocation, 1)
    spec = invocation.results[0]
    if spec.dtype is DType.Int32:
        product: Array = _exact_product(rhs, lhs)
    elif invocation.plan.accumulator_dtype is DType.Float64:
        product = _rounded_product(rhs, lhs)
    else:
        product = numpy.matmul(_for_blas(rhs).T, _for_blas(lhs))
    return result(numpy.reshape(product, -1), spec)


def _matrix(invocation: ResolvedInvocation, position: int) -> Array:
    shape = operands(invocation)[position].layout.shape
    return operand(invocation, position).reshape(shape[1].size, shape[0].size)


def _for_blas(matrix: Array) -> Array:
    """The same matrix with one dense dimension, without which NumPy does not call BLAS."""
    rows, columns = matrix.shape
    by_row, by_column = matrix.strides
    width = matrix.itemsize
    if by_column == width and by_row >= width * columns:
        return matrix
    if by_row == width and by_column >= width * rows:
        return matrix
    return numpy.ascontiguousarray(matrix)


def _rounded_product(left: Floats, right: Floats) -> Floats:
    """Round every product to binary32 and add them in binary64."""
    inner, columns = right.shape
    product = numpy.empty((left.shape[1], columns), numpy.float32)
    rows = max(1, _BLOCK // (inner * columns))
    for start in range(0, len(product), rows):
        terms = left[:, start : start + rows, None] * right[:, None, :]
        product[start : start + rows] = numpy.add.reduce(terms, 0, numpy.float64, initial=0.0)
    return product


def _exact_product(left: Integers, right: Integers) -> Integers:
    """Multiply integers exactly, checking only the final sums."""
    overflow = partial(int32_overflow, "matmul")
    if len(left) * _magnitude(left) * _magnitude(right) < _EXACT_FLOAT64:
        return narrow(_float64_product(left, right), None, overflow)
    high, middle, low = _partial_products(left, right)
    middle += low >> _HALF_WORD
    low &= 2**_HALF_WORD - 1
    high += middle >> _HALF_WORD
    middle &= 2**_HALF_WORD - 1
    word = (middle << _HALF_WORD) + low
    # The sum is high * 2**32 + word; it fits when high merely repeats the sign bit of word.
    fits = high == -(word >> 31)
    if not fits.all():
        first = int(numpy.argmin(fits))
        raise overflow(int(high.flat[first]) * 2**32 + int(word.flat[first]))
    return ((high << 32) + word).astype(numpy.int32)


def _partial_products(left: Integers, right: Integers) -> list[NDArray[numpy.int64]]:
    """Sums of the products of 16-bit halves, by their weight 2**32, 2**16 and 1."""
    shape = (left.shape[1], right.shape[1])
    high, middle, low = (numpy.zeros(shape, numpy.int64) for _ in range(3))
    for start in range(0, len(left), _CHUNK):
        rows = slice(start, start + _CHUNK)
        left_high, left_low = _halves(left[rows])
        right_high, right_low = _halves(right[rows])
        high += _float64_product(left_high, right_high)
        middle += _float64_product(left_high, right_low)
        middle += _float64_product(left_low, right_high)
        low += _float64_product(left_low, right_low)
    return [high, middle, low]


def _halves(values: Integers) -> tuple[Integers, Integers]:
    return values >> _HALF_WORD, values & 2**_HALF_WORD - 1


def _float64_product(left: Integers, right: Integers) -> NDArray[numpy.int64]:
    product: Array = numpy.matmul(left.T.astype(numpy.float64), right.astype(numpy.float64))
    return product.astype(numpy.int64)


def _magnitude(values: Integers) -> int:
    return max(-int(values.min()), int(values.max()))


KERNELS: dict[str, Kernel] = {"matmul": quiet(_matmul)}
