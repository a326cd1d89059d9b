"""Index maps as aligned text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from strideweave.layout.grid import Block, Grid, grid

if TYPE_CHECKING:
    from strideweave.layout.index_map import IndexMap

LARGEST: Final = 65536


def table(index_map: IndexMap) -> str:
    """Write the indices of a map as a grid with the ordinals of its modes on the borders.

    Raises:
        ValueError: The map has more than `LARGEST` coordinates.
    """
    drawn = grid(index_map, LARGEST, "a text table")
    largest = max(index for block in drawn.blocks for row in block.rows for index in row)
    width = max(map(len, [str(largest), *drawn.column_labels]))
    return "\n\n".join("\n".join(_lines(block, drawn, width)) for block in drawn.blocks)


def _lines(block: Block, drawn: Grid, width: int) -> list[str]:
    lines = [_spaced(map(str, row), width) for row in block.rows]
    if drawn.column_labels:
        header = _spaced(drawn.column_labels, width)
        lines = [header, "-" * len(header), *lines]
    if drawn.row_labels:
        edge = len(drawn.row_labels[-1])
        borders = [f"{'':{edge}} | ", f"{'':->{edge}}-+-"]
        borders += [f"{label:>{edge}} | " for label in drawn.row_labels]
        lines = [border + line for border, line in zip(borders, lines, strict=True)]
    return [block.title, *lines] if block.title else lines


def _spaced(cells: Iterable[str], width: int) -> str:
    return " ".join(cell.rjust(width) for cell in cells)
