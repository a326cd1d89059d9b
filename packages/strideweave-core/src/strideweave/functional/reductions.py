"""Reductions by description, and the inclusive scan.

A description such as ``"a b -> a"`` names the operand's modes before the arrow and those to keep
after it; all others are reduced. Groups in parentheses name nested modes, a ``1`` after the arrow
inserts a mode of extent 1. The result has the canonical layout of what is kept.
"""

from strideweave.dtype import SimpleDType
from strideweave.functional.running import accumulator_option, run
from strideweave.operation.resolution import NO_OPTIONS
from strideweave.ops.alignment import check_description, reduce_alignment
from strideweave.ops.reductions import (
    ARGMAX,
    ARGMIN,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_PROD,
    REDUCE_SUM,
)
from strideweave.ops.scan import CUMSUM
from strideweave.tensor.tensor import Tensor


def reduce_sum(
    tensor: Tensor, description: str, *, accumulator_dtype: SimpleDType | None = None
) -> Tensor:
    """Sum the modes that a description omits.

    Args:
        tensor: Float32 or Int32.
        description: A reduce command.
        accumulator_dtype: ``DType.Float64`` adds in binary64 and rounds the total once; None adds
            in Float32. Int32 sums are exact and take none.

    Returns:
        A new Tensor of the same dtype. The order of Float32 additions is not fixed.

    Raises:
        TypeError: ``description`` is no str, ``tensor`` no Tensor, or the accumulator is no
            simple dtype or given for Int32.
        ValueError: The command is malformed or does not fit the layout.
        NotImplementedError: The dtype or the accumulator is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 sum does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> rows = tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
        >>> sw.reduce_sum(rows, "a b -> b").tolist()
        [3.0, 7.0, 11.0]
        >>> sw.reduce_sum(rows, "a b -> 1").tolist()
        [21.0]
    """
    check_description(description)
    options = accumulator_option("reduce_sum", accumulator_dtype)
    return run(REDUCE_SUM, (tensor,), options, reduce_alignment(description))


def reduce_prod(tensor: Tensor, description: str) -> Tensor:
    """Multiply the modes that a description omits.

    Args:
        tensor: Float32.
        description: A reduce command.

    Returns:
        A new Float32 Tensor; factors are multiplied in order, the first reduced mode fastest, and
        every step is rounded.

    Raises:
        TypeError: ``description`` is no str, ``tensor`` no Tensor, or its dtype is Int32.
        ValueError: The command is malformed or does not fit the layout.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.reduce_prod(tensor([[2.0, 3.0], [4.0, 5.0]]), "a b -> a").tolist()
        [6.0, 20.0]
    """
    return run(REDUCE_PROD, (tensor,), NO_OPTIONS, reduce_alignment(description))


def reduce_max(tensor: Tensor, description: str) -> Tensor:
    """Take the largest element over the modes that a description omits.

    Args:
        tensor: Float32.
        description: A reduce command.

    Returns:
        A new Float32 Tensor. NaN wins; zeros of both signs give +0. Elements equal to the result
        share its gradient evenly.

    Raises:
        TypeError: ``description`` is no str, ``tensor`` no Tensor, or its dtype is Int32.
        ValueError: The command is malformed or does not fit the layout.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.reduce_max(tensor([[2.0, 3.0], [5.0, 4.0]]), "a b -> a").tolist()
        [3.0, 5.0]
    """
    return run(REDUCE_MAX, (tensor,), NO_OPTIONS, reduce_alignment(description))


def reduce_min(tensor: Tensor, description: str) -> Tensor:
    """Take the smallest element over the modes that a description omits.

    Args:
        tensor: Float32.
        description: A reduce command.

    Returns:
        A new Float32 Tensor. NaN wins; zeros of both signs give -0. Elements equal to the result
        share its gradient evenly.

    Raises:
        TypeError: ``description`` is no str, ``tensor`` no Tensor, or its dtype is Int32.
        ValueError: The command is malformed or does not fit the layout.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.reduce_min(tensor([[2.0, 3.0], [5.0, 4.0]]), "a b -> a").tolist()
        [2.0, 4.0]
    """
    return run(REDUCE_MIN, (tensor,), NO_OPTIONS, reduce_alignment(description))


def argmax(tensor: Tensor, description: str) -> Tensor:
    """Find the first largest element over the modes that a description omits.

    Args:
        tensor: Float32.
        description: A reduce command.

    Returns:
        A new Int32 Tensor of ordinals, counted with the first reduced mode fastest. The first NaN
        wins; equal elements, zeros of either sign included, keep the first. It has no gradient.

    Raises:
        TypeError: ``description`` is no str, ``tensor`` no Tensor, or its dtype is Int32.
        ValueError: The command is malformed or does not fit the layout.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: So many elements are reduced that an ordinal exceeds Int32.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.argmax(tensor([[1.0, 3.0, 5.0], [9.0, 9.0, 9.0]]), "a b -> a").tolist()
        [2, 0]
    """
    return run(ARGMAX, (tensor,), NO_OPTIONS, reduce_alignment(description))


def argmin(tensor: Tensor, description: str) -> Tensor:
    """Find the first smallest element over the modes that a description omits.

    Args:
        tensor: Float32.
        description: A reduce command.

    Returns:
        A new Int32 Tensor of ordinals, counted with the first reduced mode fastest. The first NaN
        wins; equal elements, zeros of either sign included, keep the first. It has no gradient.

    Raises:
        TypeError: ``description`` is no str, ``tensor`` no Tensor, or its dtype is Int32.
        ValueError: The command is malformed or does not fit the layout.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: So many elements are reduced that an ordinal exceeds Int32.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.argmin(tensor([[3.0, 1.0, 5.0], [9.0, 9.0, 9.0]]), "a b -> a").tolist()
        [1, 0]
    """
    return run(ARGMIN, (tensor,), NO_OPTIONS, reduce_alignment(description))


def cumsum(tensor: Tensor, dimension: int) -> Tensor:
    """Sum every element with all that precede it along one top-level mode.

    Args:
        tensor: Float32.
        dimension: The mode; a negative one counts from the end. A nested mode is scanned by its
            ordinals.

    Returns:
        A new Float32 Tensor of that shape in canonical layout; every step is rounded, in order.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32, or ``dimension`` is no integer.
        ValueError: ``dimension`` is out of range.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.cumsum(tensor([1.0, 2.0, 3.0]), 0).tolist()
        [1.0, 3.0, 6.0]
    """
    return run(CUMSUM, (tensor, dimension))
