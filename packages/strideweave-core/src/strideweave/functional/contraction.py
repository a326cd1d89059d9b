"""Contractions of two Tensors."""

from strideweave.dtype import SimpleDType
from strideweave.functional.running import accumulator_option, run
from strideweave.operation.resolution import NO_OPTIONS
from strideweave.ops.contraction_alignment import einsum_alignment
from strideweave.ops.contractions import BATCHED_MATMUL, MATMUL
from strideweave.tensor.tensor import Tensor


def matmul(lhs: Tensor, rhs: Tensor, *, accumulator_dtype: SimpleDType | None = None) -> Tensor:
    """Multiply ``lhs`` by ``rhs`` transposed: ``o[i, j] = sum over k of lhs[i, k] * rhs[j, k]``.

    Args:
        lhs: Float32 or Int32 with exactly two top-level modes, nested or not.
        rhs: The same; the sizes of the two second modes are equal.
        accumulator_dtype: ``DType.Float64`` adds the rounded products in binary64 and rounds the
            total once; None adds in Float32. Int32 pairs are exact and take none.

    Returns:
        A new Tensor in the canonical layout of (first mode of lhs, first mode of rhs): Int32 for
        two Int32 Tensors, else Float32. The order of Float32 additions is not fixed.

    Raises:
        TypeError: An operand is no Tensor, the carrier classes differ, or the accumulator is no
            simple dtype or given for Int32.
        ValueError: An operand has not two modes, or the second modes' sizes differ.
        NotImplementedError: A dtype or the accumulator is not supported.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 result does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> rows = tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> sw.matmul(rows, tensor([[10.0, 1.0]])).tolist()
        [[12.0], [34.0]]
    """
    return run(MATMUL, (lhs, rhs), accumulator_option("matmul", accumulator_dtype))


def einsum(lhs: Tensor, rhs: Tensor, description: str) -> Tensor:
    """Contract two Tensors as a description says.

    The description names the modes of both operands and, after the arrow, those of the result:
    shared names that it omits are summed over, shared names that it keeps are batch modes, and
    names of one operand only have to be kept. Groups in parentheses name nested modes; a name may
    stand for a whole nested mode; a ``1`` after the arrow inserts a mode of extent 1.

    Args:
        lhs: Float32 or Int32.
        rhs: The same; shared names have equal sizes in both.
        description: A contraction command such as ``"a b, c b -> a c"``.

    Returns:
        A new Tensor, Int32 for two Int32 Tensors, else Float32: the canonical product of one
        ``matmul``, or of one for all batches, with its modes rearranged. The order of Float32
        additions is not fixed.

    Raises:
        TypeError: ``description`` is no str, an operand is no Tensor, or the carrier classes
            differ.
        ValueError: The command is malformed or does not fit a layout, or a shared name has two
            sizes.
        NotImplementedError: A dtype is not supported.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 result does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> rows = tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> sw.einsum(rows, tensor([10.0, 1.0]), "a b, b -> a").tolist()
        [12.0, 34.0]
        >>> sw.einsum(rows, rows, "a b, a b -> b a").tolist()
        [[1.0, 9.0], [4.0, 16.0]]
    """
    alignment = einsum_alignment(description)
    product = BATCHED_MATMUL if alignment.spec.batch_symbols else MATMUL
    return run(product, (lhs, rhs), NO_OPTIONS, alignment)
