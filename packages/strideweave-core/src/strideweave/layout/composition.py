"""Composing layouts leaf by leaf, exactly or not at all.

A coalesced layout reads an ordinal as digits in the mixed radix of its extents. A tile leaf
touches, at every digit position, the multiples `0, step, 2*step, ...` of one step. The sum of the
leaves' contributions equals the composed function exactly when no position can overflow into the
next one: below the last position a carry always changes the index, because neighbouring leaves of
a coalesced layout do not continue each other. So exactness is decided without enumeration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from strideweave.layout.coalescing import coalesce
from strideweave.layout.modes import SINGLETON, Leaf, Mode, Modes, append, leaves, size, span


def choose(leaf_modes: Sequence[Leaf], step: int) -> list[Leaf] | None:
    """Keep every `step`-th ordinal; None where an extent does not divide."""
    chosen: list[Leaf] = []
    remaining = step
    for extent, stride in leaf_modes:
        if remaining == 1:
            chosen.append(Leaf(extent, stride))
        elif extent > remaining:
            if extent % remaining:
                return None
            chosen.append(Leaf(extent // remaining, stride * remaining))
            remaining = 1
        else:
            if remaining % extent:
                return None
            chosen.append(Leaf(1, stride * remaining))
            remaining //= extent
    return chosen if remaining == 1 else None


def modout(leaf_modes: Sequence[Leaf], count: int) -> list[Leaf] | None:
    """Keep the first `count` ordinals; None where an extent does not divide."""
    kept: list[Leaf] = []
    covered = 1
    for extent, stride in leaf_modes:
        if covered == count:
            kept.append(Leaf(1, stride))
        elif extent * covered <= count:
            kept.append(Leaf(extent, stride))
            covered *= extent
        elif count % covered:
            return None
        else:
            kept.append(Leaf(count // covered, stride))
            covered = count
    return kept if covered == count else None


@final
class TileLowering:
    """Lowers tiles against one outer layout and keeps the digits they may reach together.

    All tiles given to one instance are lowered as parts of one composed layout.

    Attributes:
        failure: Why the last `lower` returned None.
    """

    def __init__(self, outer: Modes) -> None:
        self._outer = coalesce(leaves(outer))
        self._reached = [0] * len(self._outer)
        self.failure = ""

    def lower(self, tile: Modes) -> Modes | None:
        """The layout `outer(tile(q))`, or None with `failure` set."""
        lowered: Modes = ()
        for mode in tile:
            part = self._lower_leaf(mode) if isinstance(mode, Leaf) else self.lower(mode)
            if part is None:
                return None
            lowered = append(lowered, part)
        return lowered[0] if len(lowered) == 1 and not isinstance(lowered[0], Leaf) else lowered

    def _lower_leaf(self, leaf: Leaf) -> Modes | None:
        if leaf.extent == 1:
            return SINGLETON
        if len(self._outer) == 1:
            return (Leaf(leaf.extent, leaf.stride * self._outer[0].stride),)
        digits = self._digits(leaf)
        if digits is None:
            return None
        for position, (count, step) in enumerate(digits):
            self._reached[position] += (count - 1) * step
            if self._reached[position] >= self._outer[position].extent:
                self.failure = (
                    f"leaf {leaf.extent}:{leaf.stride} carries into the next mode together with "
                    f"the leaves before it, so the composition is no layout of this hierarchy"
                )
                return None
        return coalesce(
            [
                Leaf(count, step * outer.stride)
                for (count, step), outer in zip(digits, self._outer, strict=True)
            ]
        )

    def _digits(self, leaf: Leaf) -> list[Leaf] | None:
        """Per digit position of the outer layout, how many digits the leaf takes and their step."""
        units = [Leaf(outer.extent, 1) for outer in self._outer]
        chosen = choose(units, leaf.stride) if leaf.stride > 0 else None
        if chosen is None:
            self.failure = f"leaf {leaf.extent}:{leaf.stride}: {choose_message(leaf.stride)}"
            return None
        kept = modout(chosen, leaf.extent)
        if kept is None:
            self.failure = f"leaf {leaf.extent}:{leaf.stride}: {modout_message(leaf.extent)}"
        return kept


def lower(outer: Modes, tile: Modes) -> Modes:
    """The layout `outer(tile(q))`.

    Raises:
        ValueError: The tile reaches past `outer`, or the composition is not representable.
    """
    return lower_parts(outer, [tile])[0]


def lower_parts(outer: Modes, tiles: Sequence[Modes]) -> list[Modes]:
    """Lower several tiles that together form one composed layout.

    Raises:
        ValueError: The tiles together reach past `outer`, or a composition is not representable.
    """
    reach = 1 + sum(span(tile) - 1 for tile in tiles)
    if reach > size(outer):
        raise ValueError(
            f"tile cosize {reach} exceeds the {size(outer)} coordinates of the layout it tiles"
        )
    lowering = TileLowering(outer)
    lowered: list[Modes] = []
    for tile in tiles:
        part = lowering.lower(tile)
        if part is None:
            raise ValueError(f"tile cannot be lowered: {lowering.failure}")
        lowered.append(part)
    return lowered


def choose_message(step: int) -> str:
    """Why `choose` failed."""
    return f"cannot choose the {step}-th element: the extents do not divide {step}"


def modout_message(count: int) -> str:
    """Why `modout` failed."""
    return f"Shape divisibility condition not met for the first {count} elements"


def proportional_factor(leaf_modes: Sequence[Leaf]) -> int | None:
    """The `f` of `index == f * ordinal`, 0 for a single coordinate; None if there is none."""
    factor: int | None = None
    radix = 1
    for extent, stride in leaf_modes:
        if extent == 1:
            continue
        if factor is None:
            factor = stride
        elif stride != factor * radix:
            return None
        radix *= extent
    return factor or 0


def is_structurally_compact(leaf_modes: Sequence[Leaf]) -> bool:
    """Whether the leaves, sorted by stride, form one gapless chain from 1."""
    radix = 1
    for leaf in sorted(leaf_modes, key=lambda leaf: (leaf.stride, leaf.extent)):
        if leaf.extent == 1:
            continue
        if leaf.stride != radix:
            return False
        radix *= leaf.extent
    return True


def specialise(outer: Modes, inner: Modes) -> Modes | None:
    """The composed layout over the modes of `inner`, where leaf-wise lowering keeps them."""
    if not is_structurally_compact(leaves(inner)):
        return None
    if not all(isinstance(mode, Leaf) or _is_one_leaf(mode) for mode in outer):
        return None
    lowered = TileLowering(outer).lower(inner)
    return lowered if lowered is not None and _refines(lowered, inner) else None


def _is_one_leaf(mode: tuple[Mode, ...]) -> bool:
    return len(mode) == 1 and isinstance(mode[0], Leaf)


def _refines(fine: Modes, coarse: Modes) -> bool:
    if len(fine) != len(coarse):
        return False
    for found, wanted in zip(fine, coarse, strict=True):
        if isinstance(wanted, Leaf):
            if size((found,)) != wanted.extent:
                return False
        elif isinstance(found, Leaf) or not _refines(found, wanted):
            return False
    return True
