"""Sign and rounding of every element.

A result has the operand's layout where that is injective and compact, else the canonical layout of
its shape.
"""

from strideweave.functional.running import run
from strideweave.ops.unary import ABS, CEIL, FLOOR, NEG, RECIP, ROUND, SIGN
from strideweave.tensor.tensor import Tensor


def neg(tensor: Tensor) -> Tensor:
    """Negate every element.

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
        >>> sw.neg(tensor([1.0, -2.0])).tolist()
        [-1.0, 2.0]
    """
    return run(NEG, (tensor,))


def abs(tensor: Tensor) -> Tensor:
    """Take the magnitude of every element; the gradient is 0 at zero.

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
        >>> sw.abs(tensor([1.0, -2.0])).tolist()
        [1.0, 2.0]
    """
    return run(ABS, (tensor,))


def sign(tensor: Tensor) -> Tensor:
    """Give -1, 0 or 1 by the sign of every element; NaN stays.

    Args:
        tensor: Any shape, Float32.

    Returns:
        A new Float32 Tensor of that shape; both zeros give +0.

    Raises:
        TypeError: ``tensor`` is no Tensor or has dtype Int32.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.sign(tensor([3.0, -0.0, -2.0])).tolist()
        [1.0, 0.0, -1.0]
    """
    return run(SIGN, (tensor,))


def recip(tensor: Tensor) -> Tensor:
    """Divide one by every element; zeros give infinities.

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
        >>> sw.recip(tensor([4.0, -0.0])).tolist()
        [0.25, -inf]
    """
    return run(RECIP, (tensor,))


def floor(tensor: Tensor) -> Tensor:
    """Round every element toward -inf; the gradient is zero.

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
        >>> sw.floor(tensor([1.5, -1.5])).tolist()
        [1.0, -2.0]
    """
    return run(FLOOR, (tensor,))


def ceil(tensor: Tensor) -> Tensor:
    """Round every element toward +inf; the gradient is zero.

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
        >>> sw.ceil(tensor([1.5, -0.5])).tolist()
        [2.0, -0.0]
    """
    return run(CEIL, (tensor,))


def round(tensor: Tensor) -> Tensor:
    """Round every element to an integer, ties to even; the gradient is zero.

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
        >>> sw.round(tensor([0.5, 1.5, 2.5])).tolist()
        [0.0, 2.0, 2.0]
    """
    return run(ROUND, (tensor,))
