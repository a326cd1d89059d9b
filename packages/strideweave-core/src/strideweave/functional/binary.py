"""Arithmetic on two operands.

Tensors are aligned structurally: the nestings must be equal, and at every leaf the extents equal or
one of them 1. The result has the operands' common layout where that is injective and compact, else
the canonical layout of the common shape. Int32 pairs compute exactly; other pairs are converted to
Float32.
"""

from numbers import Real

from strideweave.functional.running import run
from strideweave.ops.arithmetic import ADD, DIV, ELEMENTWISE_MUL, MUL, REM, SUB
from strideweave.ops.extrema import MAXIMUM, MINIMUM
from strideweave.ops.power import POW
from strideweave.tensor.tensor import Tensor


def add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Add two Tensors.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        Their sum in the common shape: Int32 for two Int32 Tensors, else Float32.

    Raises:
        TypeError: An operand is no Tensor, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 sum does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> total = sw.add(tensor([[1.0], [2.0], [3.0]]), tensor([[10.0, 20.0]]))
        >>> total.tolist()
        [[11.0, 21.0], [12.0, 22.0], [13.0, 23.0]]
        >>> print(total.layout)
        (3,2):(1,3)
    """
    return run(ADD, (lhs, rhs))


def sub(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Subtract ``rhs`` from ``lhs``.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        Their difference in the common shape: Int32 for two Int32 Tensors, else Float32.

    Raises:
        TypeError: An operand is no Tensor, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 difference does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.sub(tensor([5.0, 5.0]), tensor([2.0, 7.0])).tolist()
        [3.0, -2.0]
    """
    return run(SUB, (lhs, rhs))


def mul(lhs: Tensor | Real | float, rhs: Tensor | Real | float) -> Tensor:
    """Multiply two Tensors, or a Tensor by a Python number on either side.

    Args:
        lhs: A Float32 or Int32 Tensor, or a real number.
        rhs: The same; one of the two is a Tensor. A float or bool converts an Int32 Tensor to
            Float32, an int does not.

    Returns:
        The product in the common shape: Int32 where only Int32 Tensors and ints take part, else
        Float32.

    Raises:
        TypeError: Neither operand is a Tensor, the other one is no real number, or the carrier
            classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: A Tensor has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 product, or the number beside an Int32 Tensor, does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.mul(tensor([1.0, -2.0]), 3).tolist()
        [3.0, -6.0]
    """
    if not isinstance(lhs, Tensor):
        if not isinstance(rhs, Tensor):
            raise TypeError(
                "mul: lhs or rhs must be a Tensor, got "
                f"{type(lhs).__qualname__} and {type(rhs).__qualname__}"
            )
        lhs, rhs = rhs, lhs
    return run(MUL, (lhs, rhs))


def elementwise_mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Multiply two Tensors; ``mul`` under another dispatch name and without Python numbers.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        The product in the common shape: Int32 for two Int32 Tensors, else Float32.

    Raises:
        TypeError: An operand is no Tensor, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 product does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.elementwise_mul(tensor([2.0, 3.0]), tensor([4.0, 5.0])).tolist()
        [8.0, 15.0]
    """
    return run(ELEMENTWISE_MUL, (lhs, rhs))


def div(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Divide ``lhs`` by ``rhs``; division by zero gives infinities and NaN.

    Args:
        lhs: Float32 or Int32.
        rhs: Float32 or Int32, of a shape that aligns with ``lhs``.

    Returns:
        The Float32 quotient in the common shape, for Int32 Tensors too.

    Raises:
        TypeError: An operand is no Tensor, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.div(tensor([7.0, 1.0]), tensor([2.0, 0.0])).tolist()
        [3.5, inf]
    """
    return run(DIV, (lhs, rhs))


def pow(base: Tensor | Real | float, exponent: Tensor | Real | float) -> Tensor:
    """Raise ``base`` to ``exponent`` as IEEE ``pow`` does; either may be a Python number.

    Args:
        base: A Float32 or Int32 Tensor, or a real number.
        exponent: The same; one of the two is a Tensor.

    Returns:
        The power in the common shape: Int32 for an Int32 Tensor and an int from 0 to 2**31 - 1,
        else Float32.

    Raises:
        TypeError: Neither operand is a Tensor, the other one is no real number, or the carrier
            classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: A Tensor has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An Int32 power does not fit, or an integer exceeds binary64.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.pow(tensor([3.0, -2.0]), 2).tolist()
        [9.0, 4.0]
        >>> sw.pow(2, tensor([3.0, -1.0])).tolist()
        [8.0, 0.5]
    """
    if not isinstance(base, Tensor) and not isinstance(exponent, Tensor):
        raise TypeError(
            "pow: base or exponent must be a Tensor, got "
            f"{type(base).__qualname__} and {type(exponent).__qualname__}"
        )
    return run(POW, (base, exponent))


def maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Take the larger element; NaN wins, and of two zeros +0 does.

    Args:
        lhs: Float32.
        rhs: Float32, of a shape that aligns with ``lhs``.

    Returns:
        A Float32 Tensor in the common shape. Equal elements share the gradient evenly.

    Raises:
        TypeError: An operand is no Tensor or has dtype Int32, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.maximum(tensor([1.0, 5.0]), tensor([3.0, 2.0])).tolist()
        [3.0, 5.0]
    """
    return run(MAXIMUM, (lhs, rhs))


def minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Take the smaller element; NaN wins, and of two zeros -0 does.

    Args:
        lhs: Float32.
        rhs: Float32, of a shape that aligns with ``lhs``.

    Returns:
        A Float32 Tensor in the common shape. Equal elements share the gradient evenly.

    Raises:
        TypeError: An operand is no Tensor or has dtype Int32, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.minimum(tensor([1.0, 5.0]), tensor([3.0, 2.0])).tolist()
        [1.0, 2.0]
    """
    return run(MINIMUM, (lhs, rhs))


def rem(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Take the truncating remainder, with the sign of the dividend, as C ``fmod`` does.

    Args:
        lhs: The dividend, Float32.
        rhs: The divisor, Float32, of a shape that aligns with ``lhs``.

    Returns:
        A Float32 Tensor in the common shape; a zero divisor or infinite dividend gives NaN.

    Raises:
        TypeError: An operand is no Tensor or has dtype Int32, or the carrier classes differ.
        ValueError: The shapes do not align.
        NotImplementedError: An operand has another dtype, Bool included.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.rem(tensor([5.5, -5.5]), tensor([2.0, 2.0])).tolist()
        [1.5, -1.5]
    """
    return run(REM, (lhs, rhs))
