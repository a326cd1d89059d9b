"""An index map as rows and columns of indices, for drawing."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from strideweave.layout.index_map import IndexMap


class Block(NamedTuple):
    """The indices at one coordinate of the modes after the second.

    Attributes:
        title: The coordinate, such as `(:,:,1)`; empty where there are no further modes.
        rows: One list per ordinal of mode 0, or one list for all of a map of one mode.
    """

    title: str
    rows: list[list[int]]


class Grid(NamedTuple):
    """What a drawing shows.

    Attributes:
        row_labels: The ordinals of mode 0, none below rank two.
        column_labels: The ordinals of mode 1, or of the only mode.
        blocks: One per coordinate of the further modes, the first of them fastest.
    """

    row_labels: list[str]
    column_labels: list[str]
    blocks: list[Block]


def grid(index_map: IndexMap, limit: int, purpose: str) -> Grid:
    """Enumerate an index map; nested modes are flattened to their ordinals.

    Args:
        index_map: The map to draw.
        limit: How many coordinates it may have.
        purpose: What the grid is for, in the message.

    Raises:
        ValueError: The map has more coordinates.
    """
    size = index_map.size
    if size > limit:
        raise ValueError(
            f"{size} coordinates are too many for {purpose}, which takes at most {limit}; "
            "take a part, such as one mode, or a tile from a division"
        )
    extents = [mode.size for mode in index_map.shape]
    rows = extents[0] if len(extents) > 1 else 1
    columns = extents[min(1, len(extents) - 1)] if extents else 1
    further = extents[2:]
    indices = [index_map._map_ordinal(ordinal) for ordinal in range(size)]
    blocks = []
    for block in range(prod(further)):
        first = block * rows * columns
        block_indices = indices[first : first + rows * columns]
        blocks.append(
            Block(_title(block, further), [block_indices[row::rows] for row in range(rows)])
        )
    return Grid(
        list(map(str, range(rows))) if len(extents) > 1 else [],
        list(map(str, range(columns))) if extents else [],
        blocks,
    )


def _title(block: int, extents: list[int]) -> str:
    if not extents:
        return ""
    coordinate = []
    for extent in extents:
        block, component = divmod(block, extent)
        coordinate.append(str(component))
    return f"(:,:,{','.join(coordinate)})"
