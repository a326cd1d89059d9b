"""The kinds of a view's arguments, checked before any layout is looked at.

Every function takes the Tensor and the arguments of one view and returns the arguments in a plain,
immutable form, because reverse mode applies the view once more.
"""

from operator import index
from typing import Any

from strideweave.layout import Shape, Stride, Tree
from strideweave.tensor.tensor import Tensor


def as_given(tensor: Tensor, *arguments: object) -> tuple[object, ...]:
    """Leave the checks to the layout function, which makes them entry by entry."""
    return arguments


def trees(tensor: Tensor, output: object, selection: object = None) -> tuple[Tree, Tree | None]:
    """Take an output and an optional selection."""
    if not isinstance(output, Tree):
        raise TypeError(f"output must be a Tree or a description, got {_kind(output)}")
    if not (selection is None or isinstance(selection, Tree)):
        raise TypeError(f"selection must be a Tree or None, got {_kind(selection)}")
    return output, selection


def order(tensor: Tensor, *modes: Any) -> tuple[int, ...]:
    """Take several integers or one iterable of them."""
    entries = modes
    if len(modes) == 1 and not isinstance(modes[0], int):
        try:
            entries = tuple(modes[0])
        except TypeError:
            pass  # a single entry of a wrong kind
    for entry in entries:
        if type(entry) is not int:
            raise TypeError(f"Permutation dimensions must be integers, got {_kind(entry)}")
    return entries


def shape(tensor: Tensor, target: object) -> tuple[Shape]:
    """Take the shape of ``reshape``."""
    if not isinstance(target, Shape):
        raise TypeError(f"shape must be a Shape such as Shape(2, 3), got {_kind(target)}")
    return (target,)


def target(tensor: Tensor, widened: object) -> tuple[Shape]:
    """Take the target of a broadcast."""
    if not isinstance(widened, Shape):
        raise TypeError(f"target must be a Shape such as Shape(2, 3), got {_kind(widened)}")
    return (widened,)


def selector(tensor: Tensor, extents: object, strides: object) -> tuple[Shape, Stride]:
    """Take shape and stride of ``as_strided``, over a live carrier."""
    (checked,) = shape(tensor, extents)
    if not isinstance(strides, Stride):
        raise TypeError(f"stride must be a Stride, got {_kind(strides)}")
    if tensor._carrier.is_released():
        raise RuntimeError(f"as_strided: the {_kind(tensor._carrier)} carrier is released")
    return checked, strides


def dim(tensor: Tensor, mode: object) -> tuple[int]:
    """Take one integer."""
    position = integer(mode)
    if position is None:
        raise TypeError(f"dim must be an integer, got {_kind(mode)}")
    return (position,)


def integer(value: object) -> int | None:
    """Read what ``operator.index`` accepts, except ``bool``; ``None`` for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return index(value)  # type: ignore[arg-type]  # the call is the test
    except TypeError:
        return None


def _kind(value: object) -> str:
    return type(value).__qualname__
