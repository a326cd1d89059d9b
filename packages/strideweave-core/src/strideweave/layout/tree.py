"""Trees of leaf markers: the profiles and output descriptions of structural operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NoReturn, TypeAlias, final

from strideweave._record import record
from strideweave.layout.immutable import Immutable


@final
@record
class LeafId:
    """A leaf marker that names one source by number; made by `Node.id`."""

    id: int

    def __repr__(self) -> str:
        return f"Node.id({self.id})"


class Node(Enum):
    """What a recipe consists of: a leaf, or the begin and end of a nested level.

    Examples:
        >>> from strideweave import Node
        >>> Node.Leaf, Node.id(2)
        (<Node.Leaf: 1>, Node.id(2))
    """

    Leaf = 1
    Push = 2
    Pop = 3

    @staticmethod
    def id(number: int) -> LeafId:
        """A leaf marker that names source `number`.

        Args:
            number: The number of the source, at least 0.

        Returns:
            A frozen marker, equal to every other marker of the same number.

        Raises:
            TypeError: `number` is not an integer, or is a `bool`.
            ValueError: `number` is negative.
        """
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError(
                f"Node leaf id must be an integer, got {type(number).__qualname__}: {number!r}"
            )
        if number < 0:
            raise ValueError(f"Node leaf id must be non-negative, got {number}")
        return LeafId(int(number))


TreeEntry: TypeAlias = "Node | LeafId | Tree"


@final
class Tree(Immutable, tuple["TreeEntry", ...]):
    """An immutable tree of leaf markers.

    Args:
        *items: An integer of any value becomes `Node.Leaf`; `Node.Leaf`, `Node.id(n)` and trees
            are kept.

    Raises:
        ValueError: An item is anything else, a list, `Node.Push` and `Node.Pop` included.

    Examples:
        >>> from strideweave import Node, Tree
        >>> Tree(1, Tree(1, 1)).reshape("ABC")
        ['A', ['B', 'C']]
        >>> Tree(Node.id(1), Node.Leaf).size
        2
    """

    __slots__ = ()

    def __new__(cls, *items: object) -> Tree:
        return super().__new__(cls, map(_entry, items))

    def __getnewargs__(self) -> tuple[TreeEntry, ...]:
        return tuple(self)

    @property
    def size(self) -> int:
        """The number of leaves."""
        return sum(item.size if isinstance(item, Tree) else 1 for item in self)

    @property
    def depth(self) -> int:
        """One more than the deepest nesting."""
        return 1 + max((item.depth for item in self if isinstance(item, Tree)), default=0)

    @property
    def recipe(self) -> list[Node]:
        """The tree as a flat list; every subtree is bracketed by `Push` and `Pop`."""
        steps: list[Node] = []
        for item in self:
            if isinstance(item, Tree):
                steps += [Node.Push, *item.recipe, Node.Pop]
            else:
                steps.append(Node.Leaf)
        return steps

    @staticmethod
    def get_recipe(tree: Tree) -> list[Node]:
        """The recipe of `tree`."""
        if not isinstance(tree, Tree):
            raise TypeError(f"tree must be a Tree, got {type(tree).__qualname__}")
        return tree.recipe

    def reshape(self, items: Iterable[object]) -> list[object]:
        """Arrange items in nested lists that mirror this tree.

        Args:
            items: At least as many items as the tree has leaves; surplus ones are ignored.

        Returns:
            Nested lists.

        Raises:
            ValueError: There are too few items.
        """
        return Tree.bake(items, self.recipe)

    @staticmethod
    def bake(items: Iterable[object], recipe: Iterable[Node]) -> list[object]:
        """Arrange items in nested lists that follow an explicit recipe.

        Args:
            items: At least as many items as the recipe has leaves; surplus ones are ignored.
            recipe: Leaves and balanced `Push` and `Pop` marks.

        Returns:
            Nested lists.

        Raises:
            ValueError: There are too few items, or the recipe is not a balanced one.
        """
        source = iter(items)
        levels: list[list[object]] = [[]]
        for step in recipe:
            if step is Node.Leaf:
                levels[-1].append(_take(source))
            elif step is Node.Push:
                levels.append([])
            elif step is Node.Pop and len(levels) > 1:
                finished = levels.pop()
                levels[-1].append(finished)
            else:
                _refuse_step(step)
        if len(levels) > 1:
            raise ValueError("recipe is not balanced: a Push has no Pop")
        return levels[0]

    @staticmethod
    def bake_tree(recipe: Iterable[Node]) -> Tree:
        """The tree of plain leaves that a recipe describes.

        Args:
            recipe: Leaves and balanced `Push` and `Pop` marks.

        Returns:
            The tree.

        Raises:
            ValueError: The recipe is not a balanced one.
        """
        steps = list(recipe)
        return _tree_of(Tree.bake(steps.count(Node.Leaf) * (1,), steps))

    def __repr__(self) -> str:
        items = ("Node.Leaf" if item is Node.Leaf else repr(item) for item in self)
        return f"Tree({', '.join(items)})"


def tree_leaves(tree: Tree) -> Iterator[Node | LeafId]:
    """All leaf markers depth first."""
    for item in tree:
        if isinstance(item, Tree):
            yield from tree_leaves(item)
        else:
            yield item


def _entry(item: object) -> TreeEntry:
    if isinstance(item, (Tree, LeafId)) or item is Node.Leaf:
        return item
    if isinstance(item, int):
        return Node.Leaf
    raise ValueError(
        f"Tree items must be integers, Node.Leaf, Node.id(n) or a Tree, "
        f"got {type(item).__qualname__}: {item!r}"
    )


def _tree_of(nested: list[object]) -> Tree:
    return Tree(*(_tree_of(item) if isinstance(item, list) else item for item in nested))


def _take(source: Iterator[object]) -> object:
    for item in source:
        return item
    raise ValueError("iterable does not match recipe length: it has fewer items than leaves")


def _refuse_step(step: object) -> NoReturn:
    if step is Node.Pop:
        raise ValueError("recipe is not balanced: a Pop has no Push")
    raise ValueError(
        f"recipe steps must be Node.Leaf, Node.Push or Node.Pop, "
        f"got {type(step).__qualname__}: {step!r}"
    )
