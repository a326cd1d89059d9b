"""The way of a gradient back through the alignment of an operand."""

from strideweave.autograd.buffers import gradient_layout, placed_copy, summed_storage
from strideweave.carriers.dependent import DependentCarrier
from strideweave.layout import Layout
from strideweave.tensor.tensor import Tensor, tensor_over


def fold_gradient(
    gradient: Tensor,
    source: Tensor,
    aligned_layout: Layout | None = None,
    ordinal_layout: Layout | None = None,
) -> Tensor:
    """Turn the gradient of an aligned operand into one of the operand as the caller gave it.

    Values that meet in one coordinate of the source are added in binary64, in ascending logical
    order of the aligned coordinates, and rounded once.

    Args:
        gradient: The gradient in the aligned operand's shape, in any layout.
        source: The operand before alignment.
        aligned_layout: The aligned operand's layout, which sends each of its coordinates to a slot
            of ``source``; None when alignment kept the operand.
        ordinal_layout: Sends each aligned coordinate to an ordinal of ``source``; None when
            alignment kept the operand.

    Returns:
        The gradient in the layout of ``source`` when that is injective and in the canonical layout
        of its shape otherwise, on the exact carrier class of ``source`` (for a dependent carrier on
        that of the gradient). It may be, or share storage with, the gradient given.
    """
    layout = gradient_layout(source.layout)
    # A canonical gradient keeps each coordinate in the slot of its ordinal.
    placement = aligned_layout if source.layout.is_injective else ordinal_layout
    if placement is None:
        placement = layout
    prototype = source.carrier
    if isinstance(prototype, DependentCarrier):
        prototype = gradient.carrier  # its _vjp_gradient takes the gradient of a dense stand-in
    is_on_class = type(gradient.carrier) is type(prototype)
    if is_on_class and gradient.layout == placement:
        if placement is layout:
            return gradient
        return tensor_over(gradient.carrier, gradient.offset, layout)
    if placement.is_injective:
        placed = placed_copy(gradient, prototype, placement)
        return placed if placement is layout else tensor_over(placed.carrier, 0, layout)
    return tensor_over(summed_storage(gradient, prototype, placement), 0, layout)
