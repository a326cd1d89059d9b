"""Putting Tensors side by side, and one inside a border."""

from collections.abc import Iterable, Sequence

from strideweave.functional.running import run
from strideweave.operation.binding import carrier_mismatch
from strideweave.ops.axes import checked_axis, checked_new_axis
from strideweave.ops.joining import CONCAT, PAD, check_equal_dtypes, check_joinable
from strideweave.tensor.tensor import Tensor
from strideweave.tensor.views import unsqueeze


def concat(tensors: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Join Tensors along one mode.

    Args:
        tensors: At least one; all Float32, all Int32 or all Bool. Their shapes differ in the extent
            of the mode at most, nesting included.
        axis: A top-level leaf mode; a negative one counts from the end.

    Returns:
        A new Tensor in canonical layout with the values of all of them, also for a single one.
        More than two are joined pairwise, in a balanced tree of operations.

    Raises:
        TypeError: ``tensors`` is empty or no iterable of Tensors, ``axis`` is no integer, or
            carrier classes or dtypes differ.
        ValueError: ``axis`` is out of range, the mode is nested, or shapes differ elsewhere.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> rows = tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> sw.concat((rows, tensor([[5.0], [6.0]])), axis=1).tolist()
        [[1.0, 2.0, 5.0], [3.0, 4.0, 6.0]]
    """
    parts = _checked_tensors("concat", tensors)
    mode = checked_axis("concat", axis, parts[0].layout)
    names = _check_classes_and_dtypes("concat", parts)
    check_joinable("concat", names, [part.shape for part in parts], mode)
    return _joined(parts, mode)


def stack(tensors: Iterable[Tensor], axis: int = 0) -> Tensor:
    """Join Tensors along a new mode.

    Args:
        tensors: At least one; all Float32, all Int32 or all Bool, and all of one shape.
        axis: Where the new mode stands in the result; a negative one counts from its end.

    Returns:
        A new Tensor in canonical layout whose slices along the new mode are the Tensors.

    Raises:
        TypeError: ``tensors`` is empty or no iterable of Tensors, ``axis`` is no integer, or
            carrier classes or dtypes differ.
        ValueError: ``axis`` is out of range, or shapes differ.
        RuntimeError: A carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.stack((tensor([1.0, 2.0]), tensor([3.0, 4.0])), axis=-1).tolist()
        [[1.0, 3.0], [2.0, 4.0]]
    """
    parts = _checked_tensors("stack", tensors)
    mode = checked_new_axis("stack", axis, len(parts[0].layout))
    names = _check_classes_and_dtypes("stack", parts)
    for name, part in zip(names, parts, strict=True):
        if part.shape != parts[0].shape:
            raise ValueError(
                f"stack: {name} must have the shape {parts[0].shape} of tensors[0], got "
                f"{part.shape}"
            )
    for part in parts:
        part.carrier._require_executable("stack")
    return _joined([unsqueeze(part, mode) for part in parts], mode)


def pad(tensor: Tensor, padding: Iterable[tuple[int, int]], value: float | bool = 0) -> Tensor:
    """Surround a Tensor with a constant border.

    Args:
        tensor: Float32, Int32 or Bool.
        padding: One (before, after) pair of non-negative counts per top-level mode; (0, 0) where
            the mode is nested.
        value: What the border holds, a number that the dtype stores; 0 is the zero of every dtype.

    Returns:
        A new Tensor of that dtype in canonical layout.

    Raises:
        TypeError: ``tensor`` is no Tensor or has another dtype, ``padding`` holds anything but
            pairs of integers, or the dtype does not store ``value``.
        ValueError: A count is negative, a nested mode would grow, or the number of pairs is not
            that of modes.
        OverflowError: ``value`` is out of the dtype's range.
        RuntimeError: The carrier is released.
        UnsupportedOperationPlan: The carrier does not execute the operation.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.friendly import tensor
        >>> sw.pad(tensor([[1.0, 2.0]]), ((0, 1), (1, 0)), value=9.0).tolist()
        [[9.0, 1.0, 2.0], [9.0, 9.0, 9.0]]
    """
    return run(PAD, (tensor, padding, value))


def _checked_tensors(operation: str, tensors: object) -> list[Tensor]:
    if not isinstance(tensors, Iterable):
        raise TypeError(
            f"{operation}: tensors must be an iterable of Tensors, got {type(tensors).__qualname__}"
        )
    parts: list[Tensor] = []
    for position, entry in enumerate(tensors):
        if not isinstance(entry, Tensor):
            raise TypeError(
                f"{operation}: tensors[{position}] must be a Tensor, got {type(entry).__qualname__}"
            )
        parts.append(entry)
    if not parts:
        raise TypeError(f"{operation}: tensors must hold at least one Tensor, got none")
    return parts


def _check_classes_and_dtypes(operation: str, parts: Sequence[Tensor]) -> list[str]:
    """Require one carrier class, then one dtype; give the names of all parts."""
    names = [f"tensors[{position}]" for position in range(len(parts))]
    expected = type(parts[0].carrier)
    for name, part in zip(names, parts, strict=True):
        if type(part.carrier) is not expected:
            raise carrier_mismatch(operation, name, type(part.carrier), expected)
    check_equal_dtypes(operation, names, parts)
    return names


def _joined(parts: list[Tensor], mode: int) -> Tensor:
    if len(parts) == 1:
        return pad(parts[0], [(0, 0)] * len(parts[0].layout))
    while len(parts) > 1:
        pairs = [
            run(CONCAT, (lhs, rhs, mode)) for lhs, rhs in zip(parts[::2], parts[1::2], strict=False)
        ]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]
