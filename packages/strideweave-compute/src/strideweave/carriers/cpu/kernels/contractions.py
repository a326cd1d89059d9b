"""Matrix products, one or a batch. Every one contracts the last mode of both operands.

Matrices are read as (inner, outer) arrays, batches of them with the batch in front, so that the
product of the transposed second operand with the first is one canonical result in C order.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, Array, Floats, Integers
from strideweave.carriers.cpu.kernels import blas
from strideweave.carriers.cpu.kernels.frame import Kernel, narrow, quiet
from strideweave.carriers.cpu.kernels.threads import SMALL_PRODUCT, cuts, share
from strideweave.carriers.cpu.kernels.workspace import workspace
from strideweave.carriers.cpu.views import axes, operand, operands, result
from strideweave.dtype import DType
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.reference import int32_overflow
from strideweave.tensor.tensor import Tensor

Overflow: TypeAlias = Callable[[int], OverflowError]

_EXACT_FLOAT64 = 2**53
_HALF_WORD = 16
_CHUNK = 2**20
"""Terms whose 16-bit partial products add up exactly in binary64."""
_BLOCK = 2**20
"""Rounded products held at once."""
_SCRATCH = 2**21
"""Elements of products that wait for their place in a thread, if they are of enough matrices."""
_SHARED_SCRATCH = 2**22
"""Elements of large products that do so in all threads together."""
_RUN = 16
"""Matrices whose elements at one place fill a cache line."""
_PER_THREAD = 2**18
"""Elements of small products that are worth a thread."""
_MULTIPLICATIONS_PER_THREAD = 2**24
_COLUMNS = 128
"""Chunks of large products have so many columns: fewer pay too often for packing the right operand,
and more leave room for too few matrices, whose elements are written side by side."""
_FEWEST_PARTS = 8
"""Parts of a chunk for which matrices are divided when they are fewer."""
_PER_PART = 2**28
"""Multiplications that make one more part, as larger products are worth more threads."""
_WIDTH = 192
"""Columns beside which packing the right operand once more costs little."""
_GAP = 16
"""Elements between products: at distances of powers of two they would share cache sets."""
_FEW_MATRICES = 4
"""Batches up to which copying matrix by matrix beats one transposing copy."""


def _matmul(invocation: ResolvedInvocation) -> Tensor:
    lhs, rhs = _matrices(invocation, 0), _matrices(invocation, 1)
    spec = invocation.results[0]
    if spec.dtype is DType.Float32 and invocation.plan.accumulator_dtype is DType.Float64:
        product: Array = _rounded_product(rhs, lhs)
    else:
        product = _product(invocation, rhs, lhs)
    return result(numpy.reshape(product, -1), spec)


def _batched_matmul(invocation: ResolvedInvocation) -> Tensor:
    lhs, rhs = _matrices(invocation, 0), _matrices(invocation, 1)
    spec = invocation.results[0]
    batch, inner, rows = lhs.shape
    columns = rhs.shape[-1]
    placed = numpy.empty((columns, rows, batch), NUMPY_DTYPES[spec.dtype])
    size = inner * rows * columns
    if size < SMALL_PRODUCT:

        def multiply(first: int, last: int) -> None:
            part = slice(first * _RUN, last * _RUN)
            _multiply(invocation, rhs[part], lhs[part], placed[..., part])

        share(multiply, -(-batch // _RUN), placed.size // _PER_THREAD)
    elif spec.dtype is DType.Int32:  # whole products, of whose overflows one is the first
        _multiply(invocation, rhs, lhs, placed)
    else:
        _share_products(rhs, lhs, placed, size * batch)
    return result(placed.reshape(-1), spec)


def _share_products(left: Floats, right: Floats, placed: Floats, size: int) -> None:
    """Share large products among threads, and then the copies that put the batch last.

    Args:
        left: (matrix, inner, column).
        right: (matrix, inner, row).
        placed: Receives the (column, row, matrix).
        size: Multiplications in all.
    """
    columns, rows, batch = placed.shape
    width = min(columns, max(1, _SHARED_SCRATCH // (rows * batch * _COLUMNS)) * _COLUMNS)
    step = min(batch, max(1, _SHARED_SCRATCH // (rows * width)))
    starts = range(0, columns, width), range(0, batch, step)
    with _scratch(step, width, rows, placed.dtype) as scratch, blas.one_thread() as available:
        threads = min(available, size // _MULTIPLICATIONS_PER_THREAD)
        for column, matrix in itertools.product(*starts):
            some, part = slice(column, column + width), slice(matrix, matrix + step)
            chunk = placed[some, :, part]
            room = scratch[: chunk.shape[2], : len(chunk)]
            _multiply_shared(left[part, :, some], right[part], room, threads)
            share(partial(_copy_columns, room, chunk), len(chunk), threads)


def _multiply_shared(left: Floats, right: Floats, room: Floats, most: int) -> None:
    """Share matrices, and the columns of few ones, whose products fill some room.

    They are divided by their shape alone, because the columns that BLAS computes together decide
    how it rounds.
    """
    matrices, columns, _ = room.shape
    parts = max(_FEWEST_PARTS, room.size * left.shape[1] // _PER_PART)
    blocks = blas.even(-(-parts // matrices), columns // _WIDTH)
    bounds = cuts(columns, blocks)

    def multiply(first: int, last: int) -> None:
        for block in range(first // matrices, -(-last // matrices)):
            some = slice(bounds[block], bounds[block + 1])
            part = slice(max(0, first - block * matrices), last - block * matrices)
            numpy.matmul(left[part, :, some].swapaxes(-2, -1), right[part], room[part, some])

    share(multiply, matrices * blocks, most)


def _copy_columns(products: Floats, placed: Floats, first: int, last: int) -> None:
    _copy_batch_last(products[:, first:last], placed[first:last])


def _multiply(invocation: ResolvedInvocation, left: Array, right: Array, placed: Array) -> None:
    """Put the products of transposed left matrices with right ones where the batch comes last.

    Args:
        invocation: The invocation that is executed.
        left: (matrix, inner, column).
        right: (matrix, inner, row).
        placed: Receives the (column, row, matrix).
    """
    columns, rows, batch = placed.shape
    step = min(batch, max(_RUN, _SCRATCH // (rows * columns)))
    with _scratch(step, columns, rows, placed.dtype) as scratch:
        for start in range(0, batch, step):
            part = slice(start, min(start + step, batch))
            products = _products(invocation, left[part], right[part], scratch[: part.stop - start])
            _copy_batch_last(products, placed[..., part])


@contextmanager
def _scratch(matrices: int, columns: int, rows: int, dtype: "numpy.dtype[Any]") -> Iterator[Array]:
    """Lend room for products, each at some distance from the next one."""
    distance = columns * rows + _GAP
    with workspace(matrices * distance, dtype) as flat:
        yield flat.reshape(matrices, distance)[:, :-_GAP].reshape(matrices, columns, rows)


def _matrices(invocation: ResolvedInvocation, position: int) -> Array:
    """One operand with the batch, if it has one, as its first axis."""
    modes = axes(operands(invocation)[position].layout)
    *batch, outer, inner = modes.sizes
    array = operand(invocation, position)
    if batch:
        first = array.ndim - modes.by_mode[0]
        array = array.transpose(*range(first, array.ndim), *range(first))
    return _for_blas(array.reshape(*batch, inner, outer))


def _product(invocation: ResolvedInvocation, left: Array, right: Array) -> Array:
    """Multiply a transposed left matrix with a right one."""
    if invocation.results[0].dtype is DType.Int32:
        return _exact_product(left, right, partial(int32_overflow, invocation.name))
    return blas.product(left, right)


def _products(invocation: ResolvedInvocation, left: Array, right: Array, room: Array) -> Array:
    """Multiply transposed left matrices with right ones; ``room`` may take the result."""
    if invocation.results[0].dtype is DType.Int32:
        return _exact_product(left, right, partial(int32_overflow, invocation.name))
    products: Array = numpy.matmul(left.swapaxes(-2, -1), right, room)
    return products


def _copy_batch_last(products: Array, placed: Array) -> None:
    if len(products) > _FEW_MATRICES:
        placed[...] = products.transpose(1, 2, 0)
        return
    for position, matrix in enumerate(products):
        placed[..., position] = matrix


def _for_blas(matrices: Array) -> Array:
    """The same matrices with one dense dimension, without which NumPy does not call BLAS."""
    rows, columns = matrices.shape[-2:]
    by_row, by_column = matrices.strides[-2:]
    width = matrices.itemsize
    if by_column == width and by_row >= width * columns:
        return matrices
    if by_row == width and by_column >= width * rows:
        return matrices
    return numpy.ascontiguousarray(matrices)


def _rounded_product(left: Floats, right: Floats) -> Floats:
    """Round every product to binary32 and add them in binary64."""
    inner, columns = right.shape
    product = numpy.empty((left.shape[1], columns), numpy.float32)
    rows = max(1, _BLOCK // (inner * columns))
    for start in range(0, len(product), rows):
        terms = left[:, start : start + rows, None] * right[:, None, :]
        product[start : start + rows] = numpy.add.reduce(terms, 0, numpy.float64, initial=0.0)
    return product


def _exact_product(left: Integers, right: Integers, overflow: Overflow) -> Integers:
    """Multiply integers exactly, checking only the final sums."""
    if left.shape[-2] * _magnitude(left) * _magnitude(right) < _EXACT_FLOAT64:
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
    shape = (*left.shape[:-2], left.shape[-1], right.shape[-1])
    high, middle, low = (numpy.zeros(shape, numpy.int64) for _ in range(3))
    for start in range(0, left.shape[-2], _CHUNK):
        rows = slice(start, start + _CHUNK)
        left_high, left_low = _halves(left[..., rows, :])
        right_high, right_low = _halves(right[..., rows, :])
        high += _float64_product(left_high, right_high)
        middle += _float64_product(left_high, right_low)
        middle += _float64_product(left_low, right_high)
        low += _float64_product(left_low, right_low)
    return [high, middle, low]


def _halves(values: Integers) -> tuple[Integers, Integers]:
    return values >> _HALF_WORD, values & 2**_HALF_WORD - 1


def _float64_product(left: Integers, right: Integers) -> NDArray[numpy.int64]:
    transposed = left.swapaxes(-2, -1).astype(numpy.float64)
    product: Array = numpy.matmul(transposed, right.astype(numpy.float64))
    return product.astype(numpy.int64)


def _magnitude(values: Integers) -> int:
    return max(-int(values.min()), int(values.max()))


KERNELS: dict[str, Kernel] = {
    "matmul": quiet(_matmul),
    "_batched_matmul": quiet(_batched_matmul),
}
