"""Pictures of which tiles were in memory when, as text and as SVG."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

CELL, MARGIN, TITLE = 8, 24, 20
STYLE = {
    "used and in memory": ("#", "#1f5fa8"),
    "used, and out again": ("o", "#e0902f"),
    "in memory": ("-", "#b7cfe8"),
    "in a file": (".", "#f2f2f2"),
}


class Moment(NamedTuple):
    """What one batch did.

    Attributes:
        used: The tiles that it used.
        resident: The tiles in memory after it.
    """

    used: set[int]
    resident: set[int]


def state(moment: Moment, tile: int) -> str:
    """Tell which of the four states a tile is in."""
    if tile in moment.used:
        return "used and in memory" if tile in moment.resident else "used, and out again"
    return "in memory" if tile in moment.resident else "in a file"


def draw(timeline: Sequence[Moment], tiles: int) -> str:
    """Draw a line per tile and a character per batch, and explain the characters."""
    lines = [
        f"{tile:3} " + "".join(STYLE[state(moment, tile)][0] for moment in timeline)
        for tile in range(tiles)
    ]
    legend = "   ".join(f"{mark} {meaning}" for meaning, (mark, _) in STYLE.items())
    return "\n".join([*lines, f"    {legend}"])


def to_svg(timelines: Mapping[str, Sequence[Moment]], tiles: int) -> str:
    """Draw several timelines below each other, a row per tile and a column per batch.

    Args:
        timelines: What happened, by title.
        tiles: How many tiles there are.

    Returns:
        A self-contained document.
    """
    panel = TITLE + tiles * CELL + MARGIN
    width = 2 * MARGIN + max(600, *(len(timeline) * CELL for timeline in timelines.values()))
    height = 2 * MARGIN + len(timelines) * panel
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for place, (title, timeline) in enumerate(timelines.items()):
        parts += _panel(title, timeline, tiles, MARGIN + place * panel)
    for place, (meaning, (_, colour)) in enumerate(STYLE.items()):
        left, top = MARGIN + place * 150, height - MARGIN
        parts.append(f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left + 18}" y="{top + 10}">{escape(meaning)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _panel(title: str, timeline: Sequence[Moment], tiles: int, top: int) -> list[str]:
    parts = [f'<text x="{MARGIN}" y="{top + 12}">{escape(title)}</text>']
    for column, moment in enumerate(timeline):
        for tile in range(tiles):
            left, above = MARGIN + column * CELL, top + TITLE + tile * CELL
            meaning = state(moment, tile)
            parts.append(
                f'<rect x="{left}" y="{above}" width="{CELL - 1}" height="{CELL - 1}" '
                f'fill="{STYLE[meaning][1]}"/>'
            )
    return parts
