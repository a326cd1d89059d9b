"""Views of several subtensors: the leading layouts change, and the whole is validated again."""

from collections.abc import Callable
from typing import final

from strideweave._record import record
from strideweave.layout import Layout
from strideweave.tensor.representation import DeeperLevels, Subtensor, TensorRepresentation
from strideweave.tensor.tensor import Tensor
from strideweave.tensor.view_layouts import LayoutView


@final
@record
class LevelView:
    """What a view does to the leading layouts of several subtensors.

    Attributes:
        placement: Gives the view of the placement of level 0; its start is always 0.
        adjacent: Gives the view of the adjacent layout from level 0 to level 1.
        undo: Takes a leading layout of the view, the source's shape and the view's arguments, and
            gives that layout in the source's shape; None where the view leaves coordinates out.
    """

    placement: LayoutView
    adjacent: LayoutView
    undo: Callable[..., Layout] | None


def view_levels(
    tensor: Tensor, deeper: DeeperLevels, view: LevelView, arguments: tuple[object, ...]
) -> Tensor:
    """View a Tensor of several subtensors.

    Raises:
        NotImplementedError: If the view would move the offset.
        ValueError: If the view does not fit a leading layout.
        Exception: What a representation rule of the dtype raises about the result.
    """
    _, placement = view.placement(tensor._layout, *arguments)
    _, adjacent = view.adjacent(deeper.adjacent_layouts[0], *arguments)
    return with_leading_layouts(tensor, deeper, placement, adjacent)


def with_leading_layouts(
    tensor: Tensor, deeper: DeeperLevels, placement: Layout, adjacent: Layout
) -> Tensor:
    """Replace the two leading layouts; everything else stays."""
    leading = Subtensor(tensor._carrier.dtype(), tensor._carrier, tensor._offset, placement)
    subtensors = (leading, *deeper.subtensors)
    adjacent_layouts = (adjacent, *deeper.adjacent_layouts[1:])
    return Tensor._from_representation(
        TensorRepresentation(tensor._dtype, subtensors, adjacent_layouts)
    )
