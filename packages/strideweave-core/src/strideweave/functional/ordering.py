"""Sorting along one top-level mode.

Both functions are stable in either direction: equal values, zeros of either sign among them, keep
their source order. NaNs come last in ascending and first in descending order.
"""

from typing import NamedTuple

from strideweave.functional.running import run
from strideweave.ops.ordering import SORT_INDICES, SORT_VALUES, TOPK_INDICES, TOPK_VALUES
from strideweave.tensor.tensor import Tensor


class SortResult(NamedTuple):
    """What ``sort`` returns.

    Attributes:
        values: Float32, in order; gradients flow back to where each value came from.
        indices: Int32, the position of each value along the sorted mode.
    """

    values: Tensor
    indices: Tensor


class TopKResult(NamedTuple):
    """What ``topk`` returns.

    Attributes:
        values: Float32, in order; gradients flow back to where each value came from.
        indices: Int32, the position of each value along the mode it was chosen from.
    """

    values: Tensor
    indices: Tensor


def sort(tensor: Tensor, axis: int = -1, descending: bool = False) -> SortResult:
    """Sort along one mode.

    Args:
        tensor: Float32.
        axis: A top-level mode; a negative one counts from the end. A nested mode is sorted by its
            ordinals.
        descending: Whether the largest values come first.

    Returns:
        Values, with their bits, and Int32 indices, both in canonical layout of the tensor's shape.

    Raises:
        TypeError: ``tensor`` is no Tensor or not Float32, ``axis`` is no integer, or
            ``descending`` no bool.
        ValueError: ``axis`` is out of range.
        OverflowError: The mode is too long for Int32 indices.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute a part.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> values, indices = sw.sort(tensor([3.0, 1.0, 2.0]))
        >>> values.tolist(), indices.tolist()
        ([1.0, 2.0, 3.0], [1, 2, 0])
    """
    operands = (tensor, axis, descending)
    return SortResult(run(SORT_VALUES, operands), run(SORT_INDICES, operands))


def topk(tensor: Tensor, k: int, axis: int = -1, largest: bool = True) -> TopKResult:
    """Take the first values of the sorted order along one mode.

    Args:
        tensor: Float32.
        k: How many, from 1 to the size of the mode.
        axis: A top-level mode; a negative one counts from the end.
        largest: Whether to take the largest values, NaNs before all, in descending order; else the
            smallest ones in ascending order.

    Returns:
        Values, with their bits, and Int32 indices, both in canonical layout of the tensor's shape
        with a leaf of extent ``k`` in place of the mode.

    Raises:
        TypeError: ``tensor`` is no Tensor or not Float32, ``axis`` or ``k`` is no integer, or
            ``largest`` no bool.
        ValueError: ``axis`` or ``k`` is out of range.
        OverflowError: The mode is too long for Int32 indices.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute a part.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> values, indices = sw.topk(tensor([3.0, 1.0, 7.0]), 2)
        >>> values.tolist(), indices.tolist()
        ([7.0, 3.0], [2, 0])
    """
    operands = (tensor, k, axis, largest)
    return TopKResult(run(TOPK_VALUES, operands), run(TOPK_INDICES, operands))
