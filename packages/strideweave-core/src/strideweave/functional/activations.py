"""Activation functions on every element.

A result has the operand's layout where that is injective and compact, else the canonical layout of
its shape.
"""

from strideweave.functional.running import run
from strideweave.ops.activations import ELU, GELU, LEAKY_RELU, RELU, SIGMOID, SILU, SOFTPLUS, TANH
from strideweave.tensor.tensor import Tensor


def relu(tensor: Tensor) -> Tensor:
    """Keep positive elements; all others, NaN included, become +0.

    Args:
        tensor: Any shape, Float32 or Int32.

    Returns:
        A new Tensor of that shape and dtype: Int32 stays Int32.

    Raises:
        TypeError: ``tensor`` is no Tensor.
        NotImplementedError: ``tensor`` has another dtype, Bool included.
        RuntimeError: its carrier is released.
        UnsupportedOperationPlan: its carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.relu(tensor([-1.0, 2.0])).tolist()
        [0.0, 2.0]
    """
    return run(RELU, (tensor,))


def sigmoid(tensor: Tensor) -> Tensor:
    """Evaluate ``1 / (1 + exp(-x))`` without overflow.

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
        >>> sw.sigmoid(tensor([0.0, float('inf')])).tolist()
        [0.5, 1.0]
    """
    return run(SIGMOID, (tensor,))


def tanh(tensor: Tensor) -> Tensor:
    """Take the hyperbolic tangent.

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
        >>> sw.tanh(tensor([0.0, -float('inf')])).tolist()
        [0.0, -1.0]
    """
    return run(TANH, (tensor,))


def gelu(tensor: Tensor) -> Tensor:
    """Evaluate ``x * Phi(x)`` with the normal distribution function, in its exact form.

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
        >>> sw.gelu(tensor([0.0, float('inf')])).tolist()
        [0.0, inf]
    """
    return run(GELU, (tensor,))


def silu(tensor: Tensor) -> Tensor:
    """Evaluate ``x * sigmoid(x)``.

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
        >>> sw.silu(tensor([0.0, float('inf')])).tolist()
        [0.0, inf]
    """
    return run(SILU, (tensor,))


def softplus(tensor: Tensor) -> Tensor:
    """Evaluate ``log(1 + exp(x))`` without overflow.

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
        >>> sw.softplus(tensor([200.0, -float('inf')])).tolist()
        [200.0, 0.0]
    """
    return run(SOFTPLUS, (tensor,))


def elu(tensor: Tensor) -> Tensor:
    """Keep positive elements and replace the others by ``exp(x) - 1``.

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
        >>> sw.elu(tensor([2.0, -float('inf')])).tolist()
        [2.0, -1.0]
    """
    return run(ELU, (tensor,))


def leaky_relu(tensor: Tensor) -> Tensor:
    """Keep elements from 0 up and multiply the others by 0.01.

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
        >>> sw.leaky_relu(tensor([2.0, -1.0])).tolist()
        [2.0, -0.009999999776482582]
    """
    return run(LEAKY_RELU, (tensor,))
