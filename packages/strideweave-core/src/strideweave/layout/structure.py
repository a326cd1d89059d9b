"""Selecting, rearranging, permuting and widening the modes of a layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from strideweave.layout.modes import SINGLETON, Leaf, Mode, Modes, append, leaves, size, sublayout
from strideweave.layout.tree import LeafId, Node, Tree, TreeEntry, tree_leaves


def select(modes: Modes, profile: Tree) -> list[Modes]:
    """The sublayouts that the leaf markers of `profile` select, depth first."""
    if len(profile) != len(modes):
        raise ValueError(
            f"layout and tree profile do not match: the profile has {len(profile)} items "
            f"where the layout has {len(modes)} modes"
        )
    selected: list[Modes] = []
    for item, mode in zip(profile, modes, strict=True):
        if not isinstance(item, Tree):
            selected.append(sublayout(mode))
        elif isinstance(mode, Leaf) and len(item) != 1:
            raise ValueError(
                f"layout and tree profile do not match: a group of {len(item)} items stands where "
                f"the layout has a leaf of extent {mode.extent}; a group names a nested mode, "
                "which reshape or as_strided makes of a leaf"
            )
        else:
            selected.extend(select(sublayout(mode), item))
    return selected


def rearrange(modes: Modes, output: object, selection: object) -> Modes:
    """Place the selected sublayouts where the ids of `output` say."""
    target = require_tree(output, "output")
    if selection is None:
        sources: list[Modes] = [(leaf,) for leaf in leaves(modes)]
    else:
        sources = select(modes, require_tree(selection, "selection"))
    used: set[int] = set()
    result = _build(target, sources, used)
    missing = [
        number for number, source in enumerate(sources) if number not in used and size(source) > 1
    ]
    if missing:
        raise ValueError(
            f"output must include every extracted layout whose size exceeds 1; "
            f"missing ids: {', '.join(map(str, missing))}"
        )
    return result


def _build(output: Tree, sources: list[Modes], used: set[int]) -> Modes:
    result: Modes = ()
    for item in output:
        if isinstance(item, Tree):
            part = _build(item, sources, used)
        elif isinstance(item, LeafId):
            part = sources[_claim(item, len(sources), used)]
        else:
            part = SINGLETON
        result = append(result, part)
    return result


def _claim(marker: LeafId, count: int, used: set[int]) -> int:
    if marker.id >= count:
        raise ValueError(
            f"rearrange id is out of range: {marker!r} where there are {count} sources"
        )
    if marker.id in used:
        raise ValueError(f"rearrange ids must not be duplicated: {marker!r} occurs twice")
    used.add(marker.id)
    return marker.id


def reverse_rearrange(output: object, selection: object) -> tuple[Tree, Tree]:
    """The output and selection trees that undo a rearrangement."""
    target = require_tree(output, "output")
    chosen = require_tree(selection, "selection")
    used: set[int] = set()
    positions: dict[int, int] = {}
    for position, marker in enumerate(tree_leaves(target)):
        if isinstance(marker, LeafId):
            positions[_claim(marker, chosen.size, used)] = position
    return _restored(chosen, count(), positions), _plain_profile(target)


def _restored(tree: Tree, numbers: Iterator[int], positions: dict[int, int]) -> Tree:
    items: list[TreeEntry] = []
    for item in tree:
        if isinstance(item, Tree):
            items.append(_restored(item, numbers, positions))
        else:
            number = next(numbers)
            items.append(Node.id(positions[number]) if number in positions else Node.Leaf)
    return Tree(*items)


def _plain_profile(tree: Tree) -> Tree:
    """The tree with plain leaves; levels without any leaf leave no mode to select."""
    return Tree(
        *(
            _plain_profile(item) if isinstance(item, Tree) else Node.Leaf
            for item in tree
            if not isinstance(item, Tree) or item.size
        )
    )


def permute(modes: Modes, order: tuple[object, ...]) -> Modes:
    """Reorder whole top-level modes."""
    positions = order
    if len(order) == 1 and isinstance(order[0], Iterable):
        positions = tuple(order[0])
    checked: list[int] = []
    for position in positions:
        if type(position) is not int:
            raise TypeError(
                f"Permutation dimensions must be integers, "
                f"got {type(position).__qualname__}: {position!r}"
            )
        checked.append(position)
    if sorted(checked) != list(range(len(modes))):
        raise ValueError(
            f"Permutation must reorder every layout mode exactly once: got {tuple(checked)} "
            f"for {len(modes)} modes"
        )
    return tuple(modes[position] for position in checked)


def widen(modes: Modes, target: tuple[int, ...]) -> Modes:
    """Widen extent-one leaves to the extents of `target`, given depth first, with stride 0."""
    remaining = iter(target)
    return tuple(_widened(mode, remaining) for mode in modes)


def _widened(mode: Mode, extents: Iterator[int]) -> Mode:
    if not isinstance(mode, Leaf):
        return tuple(_widened(part, extents) for part in mode)
    extent = next(extents)
    if extent == mode.extent:
        return mode
    if mode.extent != 1:
        raise ValueError(
            f"Layout broadcast can only widen an extent-1 leaf: "
            f"extent {mode.extent} cannot become {extent}"
        )
    return Leaf(extent, 0)


def require_tree(value: object, name: str) -> Tree:
    """The value, if it is a Tree; ValueError otherwise."""
    if not isinstance(value, Tree):
        raise ValueError(f"{name} must be a Tree, got {type(value).__qualname__}: {value!r}")
    return value
