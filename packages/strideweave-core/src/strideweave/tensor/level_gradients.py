"""Reverse mode through a view of several subtensors, for operations that are run by hand.

No compound dtype is differentiable, so no traversal comes here.
"""

from strideweave.autograd.buffers import gradient_layout
from strideweave.carriers.base import Carrier
from strideweave.layout import Layout, Shape
from strideweave.tensor.access import logical_values, write_logical_values
from strideweave.tensor.representation import DeeperLevels, Subtensor, TensorRepresentation
from strideweave.tensor.tensor import Tensor, tensor_over
from strideweave.tensor.view_layouts import reshape_layout, squeeze_layout, unsqueeze_layout
from strideweave.tensor.view_levels import LevelView, with_leading_layouts


def source_levels_gradient(
    gradient: Tensor, source: Tensor, view: LevelView, arguments: tuple[object, ...]
) -> Tensor:
    """Give the gradient of a view's source, both of several subtensors.

    Args:
        gradient: The cotangent, in the placement of the view.
        source: The Tensor that was viewed.
        view: What the view does to the leading layouts.
        arguments: The view's arguments after the Tensor.

    Returns:
        The gradient with its leading layouts in the source's shape. Where the view leaves
        coordinates out: fresh carriers of the source's class with level 0 scattered to the
        source's ordinals, the rest of it at what ``allocate_like`` gives, and deeper levels copied.

    Raises:
        TypeError: If the gradient has another dtype.
        ValueError: If its layouts do not fit the view or the source.
        NotImplementedError: If values of several coordinates would have to be added.
    """
    ours, theirs = source._deeper, gradient._deeper
    if ours is None or theirs is None or gradient._dtype is not source._dtype:
        raise TypeError(
            f"gradient must have dtype {source._dtype.name} in as many subtensors as the source, "
            f"got {gradient!r}"
        )
    _, adjacent = view.adjacent(ours.adjacent_layouts[0], *arguments)
    if theirs.adjacent_layouts[0] != adjacent:
        raise ValueError(
            f"Tensor layouts must match: the view leads to level 1 by {adjacent}, its gradient by "
            f"{theirs.adjacent_layouts[0]}"
        )
    if view.undo is None:
        return _scattered(gradient, theirs, source, ours, view, arguments)
    shape = source._layout.shape
    return with_leading_layouts(
        gradient,
        theirs,
        view.undo(gradient._layout, shape, *arguments),
        view.undo(adjacent, shape, *arguments),
    )


def _scattered(
    gradient: Tensor,
    theirs: DeeperLevels,
    source: Tensor,
    ours: DeeperLevels,
    view: LevelView,
    arguments: tuple[object, ...],
) -> Tensor:
    for level, (mine, given) in enumerate(zip(ours.subtensors, theirs.subtensors, strict=True), 1):
        if given.layout != mine.layout:
            raise ValueError(
                f"gradient subtensor {level} must have the placement of the source, {mine.layout}, "
                f"got {given.layout}"
            )
    layout = gradient_layout(source._layout)
    _, placement = view.placement(layout, *arguments)
    leading = _copy(
        tensor_over(gradient._carrier, gradient._offset, gradient._layout),
        source._carrier,
        layout,
        placement,
    )
    deeper = [
        _copy(
            tensor_over(given.carrier, given.offset, given.layout),
            mine.carrier,
            mine.layout,
            mine.layout,
        )
        for mine, given in zip(ours.subtensors, theirs.subtensors, strict=True)
    ]
    return Tensor._from_representation(
        TensorRepresentation(source._dtype, (leading, *deeper), ours.adjacent_layouts)
    )


def _copy(values: Tensor, prototype: Carrier, layout: Layout, placement: Layout) -> Subtensor:
    """Write values through ``placement`` into fresh storage for ``layout``."""
    carrier = prototype.allocate_like(layout.cosize)
    write_logical_values(tensor_over(carrier, 0, placement), logical_values(values))
    return Subtensor(carrier.dtype(), carrier, 0, layout)


def undo_permute(layout: Layout, shape: Shape, *order: int) -> Layout:
    """Give a leading layout of ``permute``'s view in the shape of its source."""
    return Layout.permute(layout, *(order.index(mode) for mode in range(len(order))))


def undo_reshape(layout: Layout, shape: Shape, target: Shape) -> Layout:
    """Give a leading layout of ``reshape``'s view in the shape of its source."""
    return reshape_layout(layout, shape)[1]


def undo_squeeze(layout: Layout, shape: Shape, dim: int) -> Layout:
    """Give a leading layout of ``squeeze``'s view in the shape of its source."""
    return unsqueeze_layout(layout, dim)[1]


def undo_unsqueeze(layout: Layout, shape: Shape, dim: int) -> Layout:
    """Give a leading layout of ``unsqueeze``'s view in the shape of its source."""
    return squeeze_layout(layout, dim)[1]


def undo_broadcast(layout: Layout, shape: Shape, target: Shape) -> Layout:
    """Give a leading layout of ``broadcast_to``'s view, if it widened nothing."""
    if shape != target:
        raise NotImplementedError(
            f"the gradient of a broadcast from {shape} to {target} adds values, which no layout of "
            f"several subtensors expresses"
        )
    return layout
