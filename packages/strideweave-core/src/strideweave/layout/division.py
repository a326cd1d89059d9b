"""Complements of tiles, and dividing a layout into tile and remainder."""

from __future__ import annotations

from collections.abc import Sequence

from strideweave.layout.composition import lower, lower_parts
from strideweave.layout.injectivity import is_injective
from strideweave.layout.modes import (
    SINGLETON,
    Leaf,
    Mode,
    Modes,
    append,
    gather,
    leaves,
    size,
    sublayout,
)


def complement(modes: Modes, cotarget: int) -> Modes:
    """The modes that, appended to a tile, hit every index of `[0, cotarget)` exactly once.

    Raises:
        ValueError: The tile overlaps with itself, or does not tile `cotarget`.
    """
    tile_leaves = leaves(modes)
    if not is_injective(tile_leaves):
        raise ValueError("layout overlaps with itself: two coordinates share an index")
    found: list[Leaf] = []
    covered = 1
    for extent, stride in sorted(tile_leaves, key=lambda leaf: leaf.stride):
        if extent == 1:
            continue
        if stride < covered:
            raise ValueError(
                f"layout overlaps with itself: leaf {extent}:{stride} starts inside the "
                f"{covered} indices of the smaller leaves"
            )
        if stride % covered:
            raise ValueError(
                f"layout is incongruent: stride {stride} is no multiple of the {covered} "
                f"indices below it"
            )
        if stride != covered:
            found.append(Leaf(stride // covered, covered))
        covered = extent * stride
    if covered > cotarget:
        raise ValueError(f"layout is larger than cotarget: it covers {covered} of {cotarget}")
    if cotarget % covered:
        raise ValueError(
            f"layout is incongruent with cotarget: {covered} does not divide {cotarget}"
        )
    if covered != cotarget:
        found.append(Leaf(cotarget // covered, covered))
    return tuple(found)


def divide(modes: Modes, tile: Modes) -> Modes:
    """The layout as tile and remainder modes.

    Raises:
        ValueError: The tile has no complement or cannot be lowered.
    """
    return lower(modes, gather([tile, complement(tile, size(modes))]))


def compose_tiler(modes: Modes, tiles: Sequence[Modes]) -> Modes:
    """Lower tile `i` against mode `i`; trailing modes stay as they are.

    Raises:
        ValueError: There are more tiles than modes, or a tile cannot be lowered.
    """
    lowered = gather(lower(sublayout(mode), tile) for mode, tile in _pairs(modes, tiles, "compose"))
    return lowered + modes[len(tiles) :]


def divide_tiler(modes: Modes, tiles: Sequence[Modes]) -> Modes:
    """Divide mode `i` by tile `i`; trailing modes stay as they are.

    Raises:
        ValueError: There are more tiles than modes, or a tile does not divide its mode.
    """
    divided = gather(divide(sublayout(mode), tile) for mode, tile in _pairs(modes, tiles, "divide"))
    return divided + modes[len(tiles) :]


def zipped_divide(modes: Modes, tiles: Sequence[Modes]) -> Modes:
    """Divide by mode, then gather all tile parts in mode 0 and all remainders in mode 1.

    Raises:
        ValueError: There are more tiles than modes, or a tile does not divide its mode.
    """
    if not tiles:
        return modes
    inside: Modes = ()
    outside: Modes = ()
    for mode, tile in _pairs(modes, tiles, "divide"):
        whole = sublayout(mode)
        part, rest = lower_parts(whole, [tile, complement(tile, size(whole))])
        inside = append(inside, part or SINGLETON)
        outside = append(outside, rest or SINGLETON)
    return gather([inside, outside]) + modes[len(tiles) :]


def _pairs(modes: Modes, tiles: Sequence[Modes], verb: str) -> list[tuple[Mode, Modes]]:
    if len(tiles) > len(modes):
        raise ValueError(
            f"cannot {verb} by more tiles than A has modes: {len(tiles)} tiles, {len(modes)} modes"
        )
    return list(zip(modes, tiles, strict=False))
