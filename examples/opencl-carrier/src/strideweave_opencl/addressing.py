"""Layouts as OpenCL C expressions: from an ordinal to a slot."""

from collections.abc import Sequence
from typing import TypeAlias

from strideweave import Layout

Leaves: TypeAlias = tuple[tuple[int, int], ...]
"""Extent and stride of each leaf, first leaf fastest."""


def leaves(*layouts: Layout) -> Leaves:
    """The leaves of layouts behind each other, as if they were the modes of one."""
    return tuple(leaf for layout in layouts for leaf in layout.infix())


def slots(ordinal: str, *places: Leaves, any_order: bool = False) -> tuple[str, ...]:
    """Write the slot of an ordinal in each of several layouts of one shape.

    Leaves that all layouts walk with one stride become one, so contiguous layouts of any shape
    give the same text.

    Args:
        ordinal: A C expression of type ``ulong``.
        *places: Leaves with the same extents.
        any_order: Whether the ordinal may count the coordinates in another order, with the first
            layout's smallest stride fastest.

    Returns:
        One C expression per layout.

    Examples:
        >>> from strideweave_opencl.addressing import slots
        >>> slots("item", ((2, 1), (3, 2)), ((2, 5), (3, 10)))
        ('item', 'item * 5')
        >>> slots("item", ((2, 1), (3, 2)), ((2, 3), (3, 0)))
        ('item % 2 + item / 2 * 2', 'item % 2 * 3')
        >>> slots("item", ((2, 3), (3, 1)), ((2, 6), (3, 2)), any_order=True)
        ('item', 'item * 2')
    """
    extents, strides = merged(places, any_order=any_order)
    return tuple(_slot(ordinal, extents, own) for own in strides)


def merged(
    places: Sequence[Leaves], *, any_order: bool = False
) -> tuple[list[int], list[tuple[int, ...]]]:
    """Walk several layouts of one shape with as few leaves as possible.

    Returns:
        The extents, and the strides of each layout.
    """
    steps = [
        (leaf[0][0], [stride for _, stride in leaf])
        for leaf in zip(*places, strict=True)
        if leaf[0][0] > 1
    ]
    if any_order:
        steps.sort(key=lambda step: step[1][0])
    extents: list[int] = []
    strides: list[list[int]] = []
    for extent, own in steps:
        if extents and own == [stride * extents[-1] for stride in strides[-1]]:
            extents[-1] *= extent
        else:
            extents.append(extent)
            strides.append(own)
    return extents, [tuple(own) for own in zip(*strides, strict=True)] or [()] * len(places)


def _slot(ordinal: str, extents: Sequence[int], strides: Sequence[int]) -> str:
    terms: list[str] = []
    before = 1
    for position, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        if stride:
            coordinate = ordinal if before == 1 else f"{ordinal} / {before}"
            if position < len(extents) - 1:
                coordinate += f" % {extent}"
            terms.append(coordinate if stride == 1 else f"{coordinate} * {stride}")
        before *= extent
    return " + ".join(terms) or "0"
