"""Index maps as coloured grids in SVG."""

from __future__ import annotations

from collections.abc import Iterator
from colorsys import hls_to_rgb
from typing import TYPE_CHECKING, Final, NamedTuple

from strideweave.layout.grid import Block, Grid, grid

if TYPE_CHECKING:
    from strideweave.layout.index_map import IndexMap

LARGEST: Final = 4096

# Pixels. A character of the font is about 7 wide.
_CHARACTER, _LINE, _MARGIN = 8, 26, 8


class _Frame(NamedTuple):
    """Where things are, in pixels.

    Attributes:
        cell_width: The width of a cell; its height is a line.
        left: Where the cells begin, right of the row labels.
        header: The height of title and column labels.
        block: The height of a block with the margin below it.
    """

    cell_width: int
    left: int
    header: int
    block: int


def svg(index_map: IndexMap) -> str:
    """Draw the indices of a map as cells coloured by index, with ordinals on the borders.

    Raises:
        ValueError: The map has more than `LARGEST` coordinates.
    """
    drawn = grid(index_map, LARGEST, "an SVG")
    frame = _frame(drawn, index_map.codomain_size)
    title_width = max(len(block.title) for block in drawn.blocks) * _CHARACTER
    cells_width = len(drawn.blocks[0].rows[0]) * frame.cell_width
    width = max(frame.left + cells_width, _MARGIN + title_width) + _MARGIN
    height = _MARGIN + len(drawn.blocks) * frame.block
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="monospace" font-size="12" '
        'text-anchor="middle">',
        f"<title>{_escaped(str(index_map))}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, block in enumerate(drawn.blocks):
        top = _MARGIN + number * frame.block
        lines += _borders(block, drawn, frame, top)
        lines += _cells(block, frame, top + frame.header, index_map.codomain_size)
    return "\n".join([*lines, "</svg>"])


def _frame(drawn: Grid, codomain_size: int) -> _Frame:
    longest = max(map(len, [str(codomain_size - 1), *drawn.column_labels]))
    edge = len(drawn.row_labels[-1]) + 1 if drawn.row_labels else 0
    first = drawn.blocks[0]
    header = _LINE * (bool(first.title) + bool(drawn.column_labels))
    return _Frame(
        cell_width=max(_LINE, _CHARACTER * (longest + 1)),
        left=_MARGIN + edge * _CHARACTER,
        header=header,
        block=header + _LINE * len(first.rows) + _MARGIN,
    )


def _borders(block: Block, drawn: Grid, frame: _Frame, top: int) -> Iterator[str]:
    if block.title:
        yield _text(_MARGIN, top, block.title, ' text-anchor="start" font-weight="bold"')
    for column, label in enumerate(drawn.column_labels):
        center = frame.left + column * frame.cell_width + frame.cell_width // 2
        yield _text(center, top + frame.header - _LINE, label, ' fill="#666666"')
    for row, label in enumerate(drawn.row_labels):
        line = top + frame.header + row * _LINE
        yield _text((_MARGIN + frame.left) // 2, line, label, ' fill="#666666"')


def _cells(block: Block, frame: _Frame, top: int, codomain_size: int) -> Iterator[str]:
    for row, indices in enumerate(block.rows):
        for column, index in enumerate(indices):
            x, y = frame.left + column * frame.cell_width, top + row * _LINE
            yield (
                f'<rect x="{x}" y="{y}" width="{frame.cell_width}" height="{_LINE}" '
                f'fill="{_colour(index, codomain_size)}" stroke="#444444"/>'
            )
            yield _text(x + frame.cell_width // 2, y, str(index))


def _text(x: int, top: int, content: str, attributes: str = "") -> str:
    return f'<text x="{x}" y="{top + 17}"{attributes}>{_escaped(content)}</text>'


def _colour(index: int, codomain_size: int) -> str:
    """Light colours from red for index 0 to violet for the last one."""
    channels = hls_to_rgb(0.78 * (index / max(1, codomain_size - 1)), 0.82, 0.8)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
