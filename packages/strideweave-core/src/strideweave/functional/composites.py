"""Functions composed of operations along one top-level mode; the graph shows their parts.

The largest element of the mode is subtracted before ``exp``, so that no exponential overflows.
"""

from math import inf

from strideweave.functional.binary import add, div, mul, sub
from strideweave.functional.comparison import lt
from strideweave.functional.running import run
from strideweave.functional.selection import select
from strideweave.functional.transcendental import exp, log
from strideweave.functional.unary import abs
from strideweave.layout.construction import canonical_layout
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.resolution import NO_OPTIONS
from strideweave.ops.alignment import axis_alignment
from strideweave.ops.axes import checked_axis
from strideweave.ops.metadata import constant_like, viewed
from strideweave.ops.nesting import with_unit_mode
from strideweave.ops.reductions import REDUCE_MAX, REDUCE_SUM
from strideweave.tensor.tensor import Tensor
from strideweave.tensor.views import reshape


def mean(tensor: Tensor, axis: int = -1) -> Tensor:
    """Average along one top-level mode.

    Args:
        tensor: Float32 or Int32.
        axis: The mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor without the mode; rank one gives the layout ``(1):(1)``.

    Raises:
        TypeError: ``tensor`` is no Tensor or ``axis`` no integer.
        ValueError: ``axis`` is out of range.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute a part.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.mean(tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]), 0).tolist()
        [1.5, 3.5, 5.5]
    """
    mode = _mode("mean", tensor, axis)
    return mul(_sum(tensor, mode), 1.0 / tensor.layout[mode].size)


def logsumexp(tensor: Tensor, axis: int = -1) -> Tensor:
    """Take the logarithm of the sum of exponentials along one top-level mode.

    Args:
        tensor: Float32.
        axis: The mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor without the mode; rank one gives the layout ``(1):(1)``.

    Raises:
        TypeError: ``tensor`` is no Tensor, its dtype is Int32, or ``axis`` is no integer.
        ValueError: ``axis`` is out of range.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute a part.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.logsumexp(tensor([1000.0, 1000.0 - float('inf')])).tolist()
        [1000.0]
    """
    mode = _mode("logsumexp", tensor, axis)
    largest = _finite_maximum(tensor, mode)
    return add(log(_sum(exp(_less(tensor, largest, mode)), mode)), largest)


def softmax(tensor: Tensor, axis: int = -1) -> Tensor:
    """Normalize exponentials to sum one along one top-level mode.

    Args:
        tensor: Float32.
        axis: The mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor, its dtype is Int32, or ``axis`` is no integer.
        ValueError: ``axis`` is out of range.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute a part.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.softmax(tensor([7.0, 7.0])).tolist()
        [0.5, 0.5]
    """
    mode = _mode("softmax", tensor, axis)
    powers = exp(_less(tensor, _finite_maximum(tensor, mode), mode))
    return div(powers, reshape(_sum(powers, mode), with_unit_mode(tensor.shape, mode)))


def log_softmax(tensor: Tensor, axis: int = -1) -> Tensor:
    """Take the logarithm of ``softmax`` without its rounding to zero.

    Args:
        tensor: Float32.
        axis: The mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor of that shape.

    Raises:
        TypeError: ``tensor`` is no Tensor, its dtype is Int32, or ``axis`` is no integer.
        ValueError: ``axis`` is out of range.
        NotImplementedError: The dtype is not supported.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute a part.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.log_softmax(tensor([1000.0, 0.0])).tolist()
        [0.0, -1000.0]
    """
    mode = _mode("log_softmax", tensor, axis)
    normalizer = logsumexp(tensor, mode)
    return sub(tensor, reshape(normalizer, with_unit_mode(tensor.shape, mode)))


def _mode(operation: str, tensor: object, axis: object) -> int:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{operation}: tensor must be a Tensor, got {type(tensor).__qualname__}")
    return checked_axis(operation, axis, tensor.layout)


def _sum(tensor: Tensor, mode: int) -> Tensor:
    return run(REDUCE_SUM, (tensor,), NO_OPTIONS, axis_alignment(len(tensor.layout), mode))


def _finite_maximum(tensor: Tensor, mode: int) -> Tensor:
    """The largest elements along a mode as constants, 0 where they are not finite."""
    with no_grad():
        alignment = axis_alignment(len(tensor.layout), mode)
        largest = run(REDUCE_MAX, (tensor,), NO_OPTIONS, alignment)
        is_finite = lt(abs(largest), constant_like(largest, inf))
        largest = select(is_finite, largest, constant_like(largest, 0.0))
    largest._retains_grad = None  # a constant: no gradient is computed for it
    return largest


def _less(tensor: Tensor, constant: Tensor, mode: int) -> Tensor:
    """Subtract one constant per fiber."""
    column = viewed(constant, canonical_layout(with_unit_mode(tensor.shape, mode)))
    column._retains_grad = None
    return sub(tensor, column)
