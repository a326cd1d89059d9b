"""Choosing, limiting and converting elements."""

from numbers import Real

from strideweave.dtype import DType
from strideweave.functional.running import run
from strideweave.operation.definition import OperationDefinition
from strideweave.ops.conversion import CAST_BOOL, CAST_FLOAT32, CAST_INT32
from strideweave.ops.extrema import CLAMP
from strideweave.ops.selection import SELECT
from strideweave.tensor.tensor import Tensor

_CASTS: dict[DType, OperationDefinition] = {
    DType.Float32: CAST_FLOAT32,
    DType.Int32: CAST_INT32,
    DType.Bool: CAST_BOOL,
}


def select(condition: Tensor, on_true: Tensor, on_false: Tensor) -> Tensor:
    """Take ``on_true`` where the condition holds and ``on_false`` elsewhere.

    Only the chosen branch is read at each coordinate: NaN in the other one cannot leak into the
    result or into a gradient.

    Args:
        condition: Bool.
        on_true: Float32.
        on_false: Float32; the three shapes align structurally.

    Returns:
        A new Float32 Tensor in the common shape.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> values = tensor([1.0, -2.0])
        >>> sw.select(sw.lt(values, tensor([0.0, 0.0])), sw.neg(values), values).tolist()
        [1.0, 2.0]
    """
    return run(SELECT, (condition, on_true, on_false))


def clamp(tensor: Tensor, lower: Tensor | Real | float, upper: Tensor | Real | float) -> Tensor:
    """Limit every element to ``minimum(maximum(tensor, lower), upper)``.

    Args:
        tensor: Float32.
        lower: A Float32 Tensor whose shape aligns with ``tensor``, or a real number.
        upper: The same; it wins where it is below ``lower``.

    Returns:
        A new Float32 Tensor in the common shape; NaN in any operand gives NaN. An element equal
        to a numeric bound keeps its whole gradient, one equal to a Tensor bound half of it.

    Raises:
        TypeError: ``tensor`` is no Tensor, a bound is neither a Tensor nor a real number, a dtype
            is not Float32, or the carrier classes differ.
        ValueError: The shapes do not align.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: An integer bound exceeds binary64.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.clamp(tensor([-2.0, 0.5, 3.0]), 0.0, 1.0).tolist()
        [0.0, 0.5, 1.0]
    """
    return run(CLAMP, (tensor, lower, upper))


def cast(tensor: Tensor, dtype: DType) -> Tensor:
    """Convert every element to another dtype.

    Args:
        tensor: Float32, Int32 or Bool.
        dtype: ``DType.Float32`` (Int32 rounds to nearest-even, Bool gives 0 and 1),
            ``DType.Int32`` (truncates toward zero) or ``DType.Bool`` (whether it is not zero).

    Returns:
        A new Tensor of that dtype and shape, also when the dtype is the same. Only a Float32 to
        Float32 conversion passes gradients on.

    Raises:
        TypeError: ``tensor`` is no Tensor or ``dtype`` no DType.
        ValueError: ``dtype`` is another dtype.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        OverflowError: A value converted to Int32 is not finite or does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.cast(tensor([1.9, -1.9]), sw.DType.Int32).tolist()
        [1, -1]
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"cast: tensor must be a Tensor, got {type(tensor).__qualname__}")
    if not isinstance(dtype, DType):
        raise TypeError(f"cast: dtype must be a DType, got {type(dtype).__qualname__}")
    definition = _CASTS.get(dtype)
    if definition is None:
        raise ValueError(
            f"cast: dtype must be DType.Float32, DType.Int32 or DType.Bool, got DType.{dtype.name}"
        )
    return run(definition, (tensor,))
