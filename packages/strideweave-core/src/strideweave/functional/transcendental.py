"""Roots, exponentials, logarithms and trigonometry of every element.

A result has the operand's layout where that is injective and compact, else the canonical layout of
its shape.
"""

from strideweave.functional.running import run
from strideweave.ops.unary import COS, ERF, EXP, EXP2, LOG, LOG2, RSQRT, SIN, SQRT
from strideweave.tensor.tensor import Tensor


def sqrt(tensor: Tensor) -> Tensor:
    """Take the correctly rounded square root; negative elements give NaN.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.sqrt(tensor([9.0, 0.25])).tolist()
        [3.0, 0.5]
    """
    return run(SQRT, (tensor,))


def rsqrt(tensor: Tensor) -> Tensor:
    """Divide one by the rounded square root.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.rsqrt(tensor([4.0, 0.0])).tolist()
        [0.5, inf]
    """
    return run(RSQRT, (tensor,))


def exp(tensor: Tensor) -> Tensor:
    """Raise e to every element.

    Args:
        tensor: Any shape, Float32 or Int32.

    Returns:
        A new Float32 Tensor of that shape; Int32 values are converted first.

    Raises:
        TypeError: ``tensor`` is no Tensor.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.exp(tensor([0.0, -float('inf')])).tolist()
        [1.0, 0.0]
    """
    return run(EXP, (tensor,))


def exp2(tensor: Tensor) -> Tensor:
    """Raise 2 to every element.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.exp2(tensor([3.0, -1.0])).tolist()
        [8.0, 0.5]
    """
    return run(EXP2, (tensor,))


def log(tensor: Tensor) -> Tensor:
    """Take the natural logarithm; zeros give -inf, negative elements NaN.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.log(tensor([1.0, 0.0])).tolist()
        [0.0, -inf]
    """
    return run(LOG, (tensor,))


def log2(tensor: Tensor) -> Tensor:
    """Take the base-2 logarithm; zeros give -inf, negative elements NaN.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.log2(tensor([8.0, 0.5])).tolist()
        [3.0, -1.0]
    """
    return run(LOG2, (tensor,))


def sin(tensor: Tensor) -> Tensor:
    """Take the sine of every element, in radians; infinities give NaN.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.sin(tensor([0.0])).tolist()
        [0.0]
    """
    return run(SIN, (tensor,))


def cos(tensor: Tensor) -> Tensor:
    """Take the cosine of every element, in radians; infinities give NaN.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.cos(tensor([0.0])).tolist()
        [1.0]
    """
    return run(COS, (tensor,))


def erf(tensor: Tensor) -> Tensor:
    """Evaluate the error function.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.erf(tensor([0.0, float('inf')])).tolist()
        [0.0, 1.0]
    """
    return run(ERF, (tensor,))
