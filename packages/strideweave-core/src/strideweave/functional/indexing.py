"""Reading and writing slices of one top-level mode by index, and reversing a mode."""

from strideweave.functional.running import run
from strideweave.ops.indexing import GATHER, SCATTER, SCATTER_ADD
from strideweave.ops.scan import FLIP
from strideweave.tensor.tensor import Tensor


def gather(tensor: Tensor, indices: Tensor, axis: int) -> Tensor:
    """Copy the slices that indices name along one mode.

    Args:
        tensor: Float32.
        indices: Int32, any shape; ordinals of the mode, not wrapped.
        axis: A top-level mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor in canonical layout, the modes of ``indices`` in place of the mode.
        A slice read several times collects all its gradients.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, ``axis`` is no integer, or the
            carrier classes differ.
        ValueError: ``axis`` is out of range.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        IndexError: An index is out of range.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> rows = tensor([[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])
        >>> sw.gather(rows, tensor([2, 0], dtype=sw.DType.Int32), 1).tolist()
        [[5.0, 1.0], [6.0, 2.0]]
    """
    return run(GATHER, (tensor, indices, axis))


def scatter(base: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Copy a Tensor and overwrite the slices that indices name.

    Args:
        base: Float32.
        indices: Int32, any shape; distinct ordinals of the mode, not wrapped.
        updates: Float32, of the shape ``gather(base, indices, axis)`` has.
        axis: A top-level mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor of the base's shape in canonical layout.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, ``axis`` is no integer, or the
            carrier classes differ.
        ValueError: ``axis`` is out of range, ``updates`` has another shape, or an index repeats.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        IndexError: An index is out of range.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> indices = tensor([2, 0], dtype=sw.DType.Int32)
        >>> sw.scatter(tensor([1.0, 2.0, 3.0]), indices, tensor([10.0, 20.0]), 0).tolist()
        [20.0, 2.0, 10.0]
    """
    return run(SCATTER, (base, indices, updates, axis))


def scatter_add(base: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Copy a Tensor and add to the slices that indices name.

    Args:
        base: Float32.
        indices: Int32, any shape; ordinals of the mode, not wrapped, repeats allowed.
        updates: Float32, of the shape ``gather(base, indices, axis)`` has.
        axis: A top-level mode; a negative one counts from the end.

    Returns:
        A new Float32 Tensor of the base's shape in canonical layout; updates are added in
        ascending order and every step is rounded.

    Raises:
        TypeError: An operand is no Tensor or has another dtype, ``axis`` is no integer, or the
            carrier classes differ.
        ValueError: ``axis`` is out of range or ``updates`` has another shape.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.
        IndexError: An index is out of range.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> indices = tensor([0, 0], dtype=sw.DType.Int32)
        >>> sw.scatter_add(tensor([1.0, 2.0]), indices, tensor([10.0, 20.0]), 0).tolist()
        [31.0, 2.0]
    """
    return run(SCATTER_ADD, (base, indices, updates, axis))


def flip(tensor: Tensor, axis: int) -> Tensor:
    """Reverse one mode.

    Args:
        tensor: Float32, Int32 or Bool.
        axis: A top-level mode; a negative one counts from the end. A nested mode is reversed by
            its ordinals.

    Returns:
        A new Tensor of that shape and dtype in canonical layout.

    Raises:
        TypeError: ``tensor`` is no Tensor or has another dtype, or ``axis`` is no integer.
        ValueError: ``axis`` is out of range.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.flip(tensor([1.0, 2.0, 3.0]), 0).tolist()
        [3.0, 2.0, 1.0]
    """
    return run(FLIP, (tensor, axis))
