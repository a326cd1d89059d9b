"""Whole values and summaries of tensors."""

import strideweave.functional as functional
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor

_MODE_NAMES = "abcdefghijklmnopqrstuvwxyz"


def item(tensor: Tensor) -> float | int | bool:
    """Read the only value of a tensor.

    Args:
        tensor: A tensor of one element, in any layout.

    Returns:
        The value as a plain Python number.

    Raises:
        ValueError: The tensor has several elements.
        RuntimeError: Its carrier is released.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.item(sw.friendly.ones(1, 1, carrier=ArrayCarrier))
        1.0
    """
    if tensor.size() != 1:
        raise ValueError(
            f"item: the tensor must have exactly one element, got {tensor.size()} in "
            f"{tensor.layout!r}; use to_list"
        )
    return tensor.item()


def to_list(tensor: Tensor) -> list[float | int | bool]:
    """Read all values of a tensor.

    Args:
        tensor: A tensor in any layout.

    Returns:
        A new flat list in logical order, first mode fastest.

    Raises:
        RuntimeError: Its carrier is released.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.to_list(sw.friendly.arange(3, carrier=ArrayCarrier))
        [0.0, 1.0, 2.0]
    """
    return logical_values(tensor)


def sum(tensor: Tensor) -> Tensor:
    """Add all elements.

    Args:
        tensor: A flat tensor of 1 to 26 modes.

    Returns:
        The sum in the layout ``(1):(1)``, of the same dtype.

    Raises:
        ValueError: The tensor has rank zero, a hierarchical mode, or too many modes.
        UnsupportedOperationPlan: Its carrier does not run ``reduce_sum``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.sum(sw.friendly.ones(2, 3, carrier=ArrayCarrier)).tolist()
        [6.0]
    """
    layout = tensor.layout
    if len(layout) == 0 or layout.depth != 1:
        raise ValueError(
            f"sum and mean need a flat tensor of at least one mode, got {layout!r}; use reduce_sum"
        )
    if len(layout) > len(_MODE_NAMES):
        raise ValueError(
            f"sum and mean name modes by letters; {len(layout)} are too many modes, at most "
            f"{len(_MODE_NAMES)}"
        )
    return functional.reduce_sum(tensor, f"{' '.join(_MODE_NAMES[: len(layout)])} -> 1")


def mean(tensor: Tensor) -> Tensor:
    """Average all elements.

    Args:
        tensor: A flat tensor of 1 to 26 modes.

    Returns:
        The Float32 mean in the layout ``(1):(1)``.

    Raises:
        ValueError: The tensor has rank zero, a hierarchical mode, or too many modes.
        UnsupportedOperationPlan: Its carrier does not run ``reduce_sum`` or ``mul``.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> sw.friendly.mean(sw.friendly.arange(3, carrier=ArrayCarrier)).tolist()
        [1.0]
    """
    return functional.mul(sum(tensor), 1.0 / tensor.size())
