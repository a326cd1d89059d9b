"""Fewest flat leaves with the same ordinal-to-index function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strideweave.layout.modes import SINGLETON, Leaf, Modes, append, leaves
from strideweave.layout.structure import select
from strideweave.layout.tree import Tree


def coalesce(leaf_modes: Sequence[Leaf]) -> tuple[Leaf, ...]:
    """Drop extent-one leaves and merge each leaf that continues its predecessor."""
    merged: list[Leaf] = []
    for leaf in leaf_modes:
        if leaf.extent == 1:
            continue
        if merged and leaf.stride == merged[-1].extent * merged[-1].stride:
            merged[-1] = Leaf(merged[-1].extent * leaf.extent, merged[-1].stride)
        else:
            merged.append(leaf)
    if merged:
        return tuple(merged)
    return tuple(leaf_modes[:1]) or leaves(SINGLETON)


def coalesce_by_mode(modes: Modes, profile: Tree) -> Modes:
    """Coalesce each sublayout the profile selects and nest the results along it."""
    return _coalesce_each(iter(select(modes, profile)), profile)


def _coalesce_each(selected: Iterator[Modes], profile: Tree) -> Modes:
    result: Modes = ()
    for item in profile:
        if isinstance(item, Tree):
            part = _coalesce_each(selected, item)
        else:
            part = coalesce(leaves(next(selected)))
        result = append(result, part)
    return result
