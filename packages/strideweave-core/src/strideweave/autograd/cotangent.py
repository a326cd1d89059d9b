"""Which cotangents a tensor accepts."""

from strideweave.autograd.buffers import placed_copy
from strideweave.layout.agreement import agree
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor, tensor_over


def implicit_cotangent(tensor: Tensor) -> Tensor:
    """Return the cotangent 1 of a tensor whose layout is one leaf of extent 1.

    Args:
        tensor: The tensor to differentiate.

    Returns:
        A tensor in the same layout over fresh storage of the same exact carrier class.

    Raises:
        ValueError: The layout has another form.
    """
    layout = tensor.layout
    if len(layout) != 1 or not layout.is_leaf or layout.size != 1:
        raise ValueError(
            "backward requires a gradient for non-scalar tensors: only a layout of exactly one "
            f"extent-1 leaf has an implicit one, this tensor has {layout!r}; pass gradient=, a "
            "Tensor in the layout of this tensor"
        )
    return tensor_over(tensor.carrier.new_like([1.0]), 0, layout)


def require_cotangent(target: Tensor, gradient: object, subject: str) -> Tensor:
    """Check that ``gradient`` may flow into ``target``.

    Args:
        target: The tensor the cotangent belongs to.
        gradient: The candidate.
        subject: Who supplies it; error messages start with it.

    Returns:
        The gradient; where its strides of extent 1 are others, over the same storage in the
        target's layout.

    Raises:
        TypeError: It is not a Tensor.
        NotImplementedError: It has several subtensors.
        ValueError: Its layout does not fit, or ``target`` aliases in a way that has no gradient.
        RuntimeError: Its carrier is released.
    """
    if not isinstance(gradient, Tensor):
        raise TypeError(f"{subject} requires a Tensor gradient, got {type(gradient).__qualname__}")
    require_one_subtensor(gradient, "backward")
    if gradient.layout != target.layout or not target.layout.is_injective:
        gradient = _fitting(target, gradient, subject)
    if gradient.carrier.is_released():
        raise RuntimeError(
            f"{subject}: the gradient's {type(gradient.carrier).__qualname__} carrier is released; "
            "keep it alive until backward has returned"
        )
    return gradient


def admit_cotangent(target: Tensor, gradient: Tensor) -> Tensor:
    """Return a checked cotangent in the target's arithmetic.

    Args:
        target: The tensor the cotangent belongs to.
        gradient: A cotangent that ``require_cotangent`` accepted.

    Returns:
        The gradient itself when it has the target's dtype, else its values converted.
    """
    if gradient.dtype() is target.dtype():
        return gradient
    return placed_copy(gradient, target.carrier, gradient.layout)


def _fitting(target: Tensor, gradient: Tensor, subject: str) -> Tensor:
    wanted, found = target.layout, gradient.layout
    if wanted.is_injective:
        if agree(wanted, found):
            return tensor_over(gradient.carrier, gradient.offset, wanted)
        raise ValueError(
            f"{subject}: gradient layout must match tensor layout, strides and gaps included: "
            f"the tensor has {wanted!r}, the gradient {found!r}; "
            "strideweave.friendly.tensor(values, layout=tensor.layout) makes one that does"
        )
    if not wanted.has_broadcast_aliasing_only:
        raise ValueError(
            f"{subject}: the tensor has no gradient, because its layout {wanted!r} aliasing is "
            "not caused only by stride-zero broadcast modes; differentiate the injective tensor "
            "it was made from"
        )
    if found.shape != wanted.shape or not found.is_injective:
        raise ValueError(
            f"{subject}: the gradient of a broadcast tensor needs the same shape in an injective "
            f"layout: the tensor has {wanted!r}, the gradient {found!r}"
        )
    return gradient
