"""Predicates: comparisons and logical operations, which give Bool Tensors without a gradient.

Operands are aligned as in arithmetic. Int32 pairs compare exactly, other pairs as Float32. NaN
compares false except with ``ne``; both zeros are equal.
"""

from strideweave.functional.running import run
from strideweave.ops.predicates import (
    EQ,
    LE,
    LOGICAL_AND,
    LOGICAL_NOT,
    LOGICAL_OR,
    LOGICAL_XOR,
    LT,
    NE,
)
from strideweave.tensor.tensor import Tensor


def eq(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where the elements are equal.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.eq(tensor([1.0, 2.0]), tensor([1.0, 3.0])).tolist()
        [True, False]
    """
    return run(EQ, (lhs, rhs))


def ne(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where the elements differ; NaN differs from everything.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.ne(tensor([1.0, 2.0]), tensor([1.0, 3.0])).tolist()
        [False, True]
    """
    return run(NE, (lhs, rhs))


def lt(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where ``lhs`` is less than ``rhs``.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.lt(tensor([1.0, 3.0]), tensor([2.0, 2.0])).tolist()
        [True, False]
    """
    return run(LT, (lhs, rhs))


def le(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where ``lhs`` is less than or equal to ``rhs``.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.le(tensor([2.0, 3.0]), tensor([2.0, 2.0])).tolist()
        [True, False]
    """
    return run(LE, (lhs, rhs))


def gt(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where ``lhs`` is greater than ``rhs``: exactly ``lt(rhs, lhs)``, which errors name.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.gt(tensor([1.0, 3.0]), tensor([2.0, 2.0])).tolist()
        [False, True]
    """
    return run(LT, (rhs, lhs))


def ge(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where ``lhs`` is at least ``rhs``: exactly ``le(rhs, lhs)``, which errors name.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.ge(tensor([2.0, 1.0]), tensor([2.0, 2.0])).tolist()
        [True, False]
    """
    return run(LE, (rhs, lhs))


def logical_and(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where both elements are True.

    Args:
        lhs: Bool.
        rhs: Bool, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> mask = sw.lt(tensor([1.0, 3.0]), tensor([2.0, 2.0]))
        >>> sw.logical_and(mask, mask).tolist()
        [True, False]
    """
    return run(LOGICAL_AND, (lhs, rhs))


def logical_or(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where at least one element is True.

    Args:
        lhs: Bool.
        rhs: Bool, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> mask = sw.lt(tensor([1.0, 3.0]), tensor([2.0, 2.0]))
        >>> sw.logical_or(mask, mask).tolist()
        [True, False]
    """
    return run(LOGICAL_OR, (lhs, rhs))


def logical_xor(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Tell where exactly one element is True.

    Args:
        lhs: Bool.
        rhs: Bool, of a shape that aligns with ``lhs``.

    Returns:
        A Bool Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> mask = sw.lt(tensor([1.0, 3.0]), tensor([2.0, 2.0]))
        >>> sw.logical_xor(mask, mask).tolist()
        [False, False]
    """
    return run(LOGICAL_XOR, (lhs, rhs))


def logical_not(tensor: Tensor) -> Tensor:
    """Tell where an element equals zero: true for both zeros, false for NaN.

    Args:
        tensor: Float32.

    Returns:
        A Bool Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has another dtype.
        RuntimeError: Its carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.logical_not(tensor([0.0, -0.0, 2.0])).tolist()
        [True, True, False]
    """
    return run(LOGICAL_NOT, (tensor,))
