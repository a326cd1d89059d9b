"""The hierarchical layout: a Shape with a congruent Stride."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, TypeAlias, final, overload

from strideweave.layout import (
    coalescing,
    composition,
    division,
    injectivity,
    modes,
    notation,
    structure,
)
from strideweave.layout.coordinates import expand
from strideweave.layout.immutable import seal
from strideweave.layout.index_map import IndexMap, compose_maps
from strideweave.layout.modes import Leaf, Modes
from strideweave.layout.shape import Hierarchy, Shape, Stride, congruent
from strideweave.layout.tree import Node, Tree

_MISSING: Any = object()


@final
class Layout(IndexMap):
    """A map from hierarchical coordinates to indices: the sum of component times stride.

    Args:
        shape: The extents; kept as given.
        stride: The strides, of the same hierarchy; kept as given.

    Attributes:
        shape: The Shape.
        stride: The Stride.
        size: The number of coordinates.
        cosize: One more than the largest index.
        leaf_extents: The extents depth first.
        leaf_strides: The strides depth first.

    Raises:
        ValueError: `shape` is not a Shape, `stride` not a Stride, or their hierarchies differ.

    Examples:
        >>> from strideweave import Layout, Shape, Stride
        >>> layout = Layout(Shape(2, (3, 4)), Stride(1, (10, 100)))
        >>> layout((1, (2, 3))), layout(23), layout.size, layout.cosize
        (321, 321, 24, 322)
        >>> print(layout)
        (2,(3,4)):(1,(10,100))
    """

    __slots__ = (
        "_broadcast_aliasing",
        "_hash",
        "_injective",
        "_known_modes",
        "cosize",
        "leaf_extents",
        "leaf_strides",
        "shape",
        "size",
        "stride",
    )

    shape: Shape
    stride: Stride
    size: int
    cosize: int
    leaf_extents: tuple[int, ...]
    leaf_strides: tuple[int, ...]
    _hash: int
    _injective: bool | None
    _known_modes: Modes | None
    _broadcast_aliasing: bool | None

    def __new__(cls, shape: Shape, stride: Stride) -> Layout:
        if not isinstance(shape, Shape):
            raise ValueError(
                f"shape input must be a Shape object, got {type(shape).__qualname__}: {shape!r}"
            )
        if not isinstance(stride, Stride):
            raise ValueError(
                f"stride input must be a Stride object, got {type(stride).__qualname__}: {stride!r}"
            )
        if not congruent(shape.top_level, stride.top_level):
            raise ValueError(
                f"shape and stride do not match in Structure: {shape!r} against {stride!r}"
            )
        return cls._of(shape, stride)

    @classmethod
    def _of(cls, shape: Shape, stride: Stride) -> Layout:
        """Build from parts that are known to be congruent."""
        layout = object.__new__(cls)
        extents, strides = shape.leaves, stride.leaves
        span = 1
        for extent, step in zip(extents, strides, strict=True):
            span += (extent - 1) * step
        seal(layout, "shape", shape)
        seal(layout, "stride", stride)
        seal(layout, "size", shape.size)
        seal(layout, "cosize", span)
        seal(layout, "leaf_extents", extents)
        seal(layout, "leaf_strides", strides)
        seal(layout, "_hash", hash((shape._hash, stride._hash)))
        seal(layout, "_injective", None)
        seal(layout, "_known_modes", None)
        seal(layout, "_broadcast_aliasing", None)
        return layout

    @staticmethod
    @lru_cache(maxsize=4096)
    def _from_modes(parts: Modes) -> Layout:
        """Build from modes; equal modes give the identical layout while it is remembered."""
        layout = Layout._of(
            Shape._from_hierarchy(modes.extents(parts)),
            Stride._from_hierarchy(modes.strides(parts)),
        )
        seal(layout, "_known_modes", parts)
        return layout

    @property
    def _modes(self) -> Modes:
        known = self._known_modes
        if known is None:
            known = modes.pair(self.shape.top_level, self.stride.top_level)
            seal(self, "_known_modes", known)
        return known

    @property
    def _leaves(self) -> list[Leaf]:
        return [
            Leaf(extent, stride)
            for extent, stride in zip(self.leaf_extents, self.leaf_strides, strict=True)
        ]

    @staticmethod
    def empty() -> Layout:
        """The rank-zero layout: one coordinate, index 0."""
        return Layout._from_modes(())

    @staticmethod
    def leaf(extent: int, stride: int) -> Layout:
        """A layout of one leaf.

        Raises:
            ValueError: `extent` is below 1 or `stride` is negative.
        """
        return Layout(Shape(extent), Stride(stride))

    @staticmethod
    def make_layout(*layouts: Layout) -> Layout:
        """Append all arguments left to right: leaves are spliced, others become nested modes.

        Raises:
            ValueError: An argument is not a Layout.
        """
        for position, layout in enumerate(layouts):
            if not isinstance(layout, Layout):
                raise ValueError(
                    f"make_layout argument {position} must be a Layout object, "
                    f"got {type(layout).__qualname__}: {layout!r}"
                )
        return Layout._from_modes(modes.gather(layout._modes for layout in layouts))

    @staticmethod
    def parse(text: str) -> Layout:
        """Read CuTe notation, the inverse of `str`.

        Args:
            text: Extents and strides such as `(2,(3,4)):(1,(2,6))`; blanks are allowed.

        Returns:
            The layout.

        Raises:
            TypeError: `text` is not a string.
            ValueError: The notation is malformed; the message points at the column.

        Examples:
            >>> from strideweave import Layout
            >>> Layout.parse("(2, 3):(1, 2)")
            Layout(Shape(2, 3), Stride(1, 2))
        """
        extents, strides = notation.parse(text)
        return Layout._of(Shape._from_hierarchy(extents), Stride._from_hierarchy(strides))

    @staticmethod
    def concat(a: Layout, b: Layout) -> Layout:
        """Splice the modes of `b` after those of `a`.

        Raises:
            TypeError: An operand is not a Layout.
        """
        return Layout._from_modes(_modes_of(a, "a") + _modes_of(b, "b"))

    @staticmethod
    def append(a: Layout, b: Layout) -> Layout:
        """Add `b` to `a` as one nested mode, or splice it when it is a leaf or empty.

        Raises:
            TypeError: An operand is not a Layout.
        """
        return Layout._from_modes(modes.append(_modes_of(a, "a"), _modes_of(b, "b")))

    def __add__(self, other: Layout) -> Layout:
        if not isinstance(other, Layout):
            return NotImplemented
        return Layout.concat(self, other)

    @property
    def codomain_size(self) -> int:
        """The same as `cosize`."""
        return self.cosize

    @property
    def depth(self) -> int:
        """One more than the deepest nesting."""
        return self.shape.depth

    @property
    def is_leaf(self) -> bool:
        """Whether there is at most one mode and no nesting."""
        return self.shape.is_int

    @property
    def profile(self) -> list[Node]:
        """The hierarchy of the modes as a fresh recipe.

        Syntax:
            `layout.profile`

        Semantics:
            The recipe of the tree of leaves; extents and strides play no part.

        Mode assumptions:
            None; rank zero gives an empty list.

        Returns:
            A new list of `Node.Leaf`, `Node.Push` and `Node.Pop`.

        Examples:
            >>> from strideweave import Layout
            >>> Layout.parse("(2,(3)):(1,(2))").profile
            [<Node.Leaf: 1>, <Node.Push: 2>, <Node.Leaf: 1>, <Node.Pop: 3>]
        """
        return _recipe(self.shape.top_level)

    def infix(self) -> list[tuple[int, int]]:
        """All `(extent, stride)` leaves depth first."""
        return list(zip(self.leaf_extents, self.leaf_strides, strict=True))

    @property
    def is_injective(self) -> bool:
        """Whether no two coordinates share an index.

        Syntax:
            `layout.is_injective`

        Semantics:
            Decided exactly from the leaves; unreached indices between reached ones are fine.

        Mode assumptions:
            None; extent-one leaves are irrelevant and the hierarchy plays no part.

        Returns:
            Always a `bool`, computed once.

        Examples:
            >>> from strideweave import Layout
            >>> Layout.parse("(3,2):(2,3)").is_injective, Layout.parse("(4,2):(1,1)").is_injective
            (True, False)
        """
        known = self._injective
        if known is None:
            known = injectivity.is_injective(self._leaves)
            seal(self, "_injective", known)
        return known

    @property
    def is_compact(self) -> bool:
        """Whether every index below `cosize` is reached exactly once."""
        return self.size == self.cosize and self.is_injective

    @property
    def has_broadcast_aliasing_only(self) -> bool:
        """Whether the layout is not injective, but would be without its stride-zero leaves."""
        known = self._broadcast_aliasing
        if known is None:
            distinct = [leaf for leaf in self._leaves if leaf.stride]
            known = not self.is_injective and injectivity.is_injective(distinct)
            seal(self, "_broadcast_aliasing", known)
        return known

    def uniform_preimage_extent(self, target_shape: Shape) -> int | None:
        """How many coordinates share each index of `[0, target_shape.size)`, if all alike.

        Args:
            target_shape: The Shape whose size the indices must cover; its hierarchy plays no part.

        Returns:
            The number of coordinates per index where the leaves prove it, otherwise `None`.

        Raises:
            TypeError: `target_shape` is not a Shape.

        Examples:
            >>> from strideweave import Layout, Shape
            >>> Layout.parse("(4,3):(0,1)").uniform_preimage_extent(Shape(3))
            4
        """
        if not isinstance(target_shape, Shape):
            raise TypeError(f"target_shape must be a Shape, got {type(target_shape).__qualname__}")
        distinct = [leaf for leaf in self._leaves if leaf.stride]
        if not composition.is_structurally_compact(distinct):
            return None
        if prod(leaf.extent for leaf in distinct) != target_shape.size:
            return None
        return prod(leaf.extent for leaf in self._leaves if not leaf.stride)

    def index(self, key: object) -> int:
        """The index of one coordinate.

        Args:
            key: An ordinal, or a tuple or list that mirrors the hierarchy, any subtree replaceable
                by its ordinal.

        Returns:
            The sum of component times stride, in `[0, cosize)`.

        Raises:
            TypeError: A component of the key is of the wrong kind.
            ValueError: The key does not match the hierarchy or leaves the domain.

        Examples:
            >>> from strideweave import Layout
            >>> layout = Layout.parse("(3,4):(2,10)")
            >>> layout.index(5), layout.index((2, 1))
            (14, 14)
        """
        try:
            ordinal = self.shape.encode(key)
        except ValueError as failure:
            raise ValueError(f"Key is not in domain of shape {self.shape}: {failure}") from None
        return self._map_ordinal(ordinal)

    def _map_ordinal(self, ordinal: int) -> int:
        index = 0
        for extent, stride in zip(self.leaf_extents, self.leaf_strides, strict=True):
            ordinal, component = divmod(ordinal, extent)
            index += component * stride
        return index

    @staticmethod
    def get_index(layout: Layout, key: object) -> int:
        """The same as `layout.index(key)`.

        Raises:
            ValueError: `layout` is not a Layout, or the key does not fit it.
            TypeError: A component of the key is of the wrong kind.
        """
        if not isinstance(layout, Layout):
            raise ValueError(
                f"layout input must be a Layout object, got {type(layout).__qualname__}: {layout!r}"
            )
        return layout.index(key)

    def __len__(self) -> int:
        return len(self.shape.top_level)

    def __getitem__(self, key: int | slice) -> Layout:
        parts = self._modes
        if isinstance(key, slice):
            return Layout._from_modes(parts[key])
        return Layout._from_modes(modes.sublayout(parts[key]))

    def __iter__(self) -> Iterator[Layout]:
        for position in range(len(self)):
            yield self[position]

    @staticmethod
    def extract_profile(layout: Layout, profile: Tree | None = None) -> list[Layout]:
        """The sublayouts a tree selects, depth first; every leaf without a tree.

        Args:
            layout: The layout to take apart.
            profile: At each level one item per mode: a leaf marker selects the whole mode, a
                subtree descends into it.

        Returns:
            The selected sublayouts.

        Raises:
            ValueError: The tree does not match the layout, or is not a Tree.
        """
        parts = _modes_of(layout, "layout")
        if profile is None:
            return [Layout._from_modes((leaf,)) for leaf in modes.leaves(parts)]
        chosen = structure.select(parts, structure.require_tree(profile, "profile"))
        return [Layout._from_modes(part) for part in chosen]

    @staticmethod
    def rearrange(layout: Layout, output: Tree, selection: Tree | None = None) -> Layout:
        """Place the selected sublayouts where the ids of `output` say.

        Args:
            layout: The layout to rearrange.
            output: `Node.id(n)` places source `n`, `Node.Leaf` inserts an extent-one mode of
                stride 0, a subtree builds a nested mode.
            selection: What `extract_profile` selects as sources; all leaves by default.

        Returns:
            The rearranged layout.

        Raises:
            ValueError: A tree is not a Tree or does not match, an id is out of range or used
                twice, or a source of size above 1 is left out.

        Examples:
            >>> from strideweave import Layout, Node, Tree
            >>> matrix = Layout.parse("(2,3):(1,2)")
            >>> print(Layout.rearrange(matrix, Tree(Node.id(1), Node.Leaf, Node.id(0))))
            (3,1,2):(2,0,1)
        """
        return Layout._from_modes(
            structure.rearrange(_modes_of(layout, "layout"), output, selection)
        )

    @staticmethod
    def reverse_rearrange(output: Tree, selection: Tree) -> tuple[Tree, Tree]:
        """The output and selection trees that undo `rearrange(layout, output, selection)`.

        Raises:
            ValueError: A tree is not a Tree, or an id is out of range or used twice.
        """
        return structure.reverse_rearrange(output, selection)

    @staticmethod
    def permute(layout: Layout, *order: int | Iterable[int]) -> Layout:
        """Reorder whole top-level modes.

        Args:
            layout: The layout to permute.
            *order: `order[j]` is the mode that becomes mode `j`; integers, or one iterable of them.

        Returns:
            The permuted layout.

        Raises:
            TypeError: An entry is not exactly an `int`.
            ValueError: The order is not a permutation of all modes.

        Examples:
            >>> from strideweave import Layout
            >>> print(Layout.permute(Layout.parse("(2,(3,4)):(1,(2,6))"), 1, 0))
            ((3,4),2):((2,6),1)
        """
        return Layout._from_modes(structure.permute(_modes_of(layout, "layout"), order))

    def broadcast_to(self, target: Shape) -> Layout:
        """Widen extent-one leaves to the extents of `target`.

        Syntax:
            `layout.broadcast_to(target)`

        Semantics:
            Leaf by leaf: equal extents keep their stride, an extent of 1 becomes the target's
            extent with stride 0. Modes are never aligned, inserted, removed or reordered.

        Mode assumptions:
            `target` has the same hierarchy as this layout.

        Returns:
            A layout whose shape equals `target`.

        Raises:
            TypeError: `target` is not a Shape.
            ValueError: The hierarchies differ, or an extent above 1 would have to change.

        Examples:
            >>> from strideweave import Layout, Shape
            >>> print(Layout.parse("(2,(1,3)):(1,(2,2))").broadcast_to(Shape(2, (4, 3))))
            (2,(4,3)):(1,(0,2))
        """
        if not isinstance(target, Shape):
            raise TypeError(
                f"Layout broadcast target must be a Shape, got {type(target).__qualname__}"
            )
        if not congruent(self.shape.top_level, target.top_level):
            raise ValueError(
                f"Layout broadcast needs the same shape profile: {self.shape!r} against {target!r}"
            )
        return Layout._from_modes(structure.widen(self._modes, target.leaves))

    @staticmethod
    def coalesce(layout: Layout) -> Layout:
        """The fewest flat leaves, found by merging neighbours, with the same index per ordinal.

        Examples:
            >>> from strideweave import Layout
            >>> print(Layout.coalesce(Layout.parse("(2,1,3):(1,9,2)")))
            6:1
        """
        return Layout._from_modes(coalescing.coalesce(modes.leaves(_modes_of(layout, "layout"))))

    @staticmethod
    def coalesce_by_mode(layout: Layout, profile: Tree) -> Layout:
        """Coalesce each sublayout that `profile` selects and nest the results along it.

        Raises:
            ValueError: The tree does not match the layout, or is not a Tree.
        """
        tree = structure.require_tree(profile, "profile")
        return Layout._from_modes(coalescing.coalesce_by_mode(_modes_of(layout, "layout"), tree))

    @staticmethod
    def flatten_layout(layout: Layout) -> tuple[Layout, list[Node]]:
        """The layout of all leaves, and the recipe of the hierarchy they came from."""
        flat = modes.leaves(_modes_of(layout, "layout"))
        return Layout._from_modes(flat), layout.profile

    @staticmethod
    def choose(A: Layout, d: int) -> Layout:
        """Keep every `d`-th ordinal.

        Args:
            A: The layout; its leaves are visited depth first.
            d: A positive divisor of the size that divides along the leaves.

        Returns:
            A flat layout.

        Raises:
            TypeError: `d` is not an integer.
            ValueError: `d` is not positive or does not divide.
        """
        parts = modes.leaves(_modes_of(A, "A"))
        chosen = composition.choose(parts, _positive(d, "d"))
        if chosen is None:
            raise ValueError(f"{composition.choose_message(d)} of {A}")
        return Layout._from_modes(tuple(chosen))

    @staticmethod
    def modout(A: Layout, n: int) -> Layout:
        """Keep the first `n` ordinals.

        Args:
            A: The layout; its leaves are visited depth first.
            n: At least 1, at most the size, cutting one leaf at most.

        Returns:
            A flat layout of size `n`.

        Raises:
            TypeError: `n` is not an integer.
            ValueError: `n` is not positive or does not divide.
        """
        parts = modes.leaves(_modes_of(A, "A"))
        kept = composition.modout(parts, _positive(n, "n"))
        if kept is None:
            raise ValueError(f"{composition.modout_message(n)} of {A}")
        return Layout._from_modes(tuple(kept))

    @staticmethod
    def expand_int(key: int, level: Hierarchy) -> tuple[int, ...]:
        """Split an ordinal into one integer per entry of a `top_level` tuple.

        Raises:
            TypeError: `key` is not an integer.
            ValueError: `key` is not in the domain of the level.
        """
        return expand(level, key)

    @staticmethod
    def compose_layouts(A: Layout, B: Layout) -> Layout:
        """The layout `A(B(q))`, lowered leaf by leaf.

        Args:
            A: The layout evaluated last.
            B: The layout evaluated first; its cosize must not exceed the size of `A`.

        Returns:
            A layout over the modes of `B`, where each leaf may become several leaves.

        Raises:
            TypeError: An argument is not a Layout.
            ValueError: The tile reaches too far or the result is not representable as a layout.
        """
        return Layout._from_modes(composition.lower(_modes_of(A, "A"), _modes_of(B, "B")))

    @overload
    def compose(self, B: Shape | Sequence[Layout]) -> Layout: ...
    @overload
    def compose(self, *, inner: Shape | Sequence[Layout]) -> Layout: ...
    @overload
    def compose(self, B: IndexMap) -> IndexMap: ...
    @overload
    def compose(self, *, inner: IndexMap) -> IndexMap: ...
    def compose(
        self,
        B: IndexMap | Shape | Tiler = _MISSING,
        *,
        inner: IndexMap | Shape | Tiler = _MISSING,
    ) -> IndexMap:
        """Evaluate another index map first, or tile the modes of this layout.

        Args:
            B: An IndexMap gives `result(q) == self(B(q))`. A Tiler is lowered mode by mode: tile
                `i` against mode `i`, trailing modes unchanged. A flat Shape is the Tiler of the
                tiles `extent:1`.
            inner: The same operand by its other name.

        Returns:
            A Layout for a Shape or Tiler; for an IndexMap a Layout where one is found by
            structure, else another IndexMap.

        Raises:
            TypeError: The operand is missing, given twice or of another kind.
            ValueError: The codomain of the operand exceeds this layout, there are more tiles than
                modes, or a tile cannot be lowered.

        Examples:
            >>> from strideweave import Layout, Shape
            >>> print(Layout.parse("(6,2):(8,2)").compose(Layout.parse("(4,3):(3,1)")))
            ((2,2),3):((24,2),8)
            >>> print(Layout.parse("(20,50):(1,20)").compose(Shape(5, 2)))
            (5,2):(1,20)
        """
        if not isinstance(self, Layout):
            raise TypeError(f"A must be a Layout, got {type(self).__qualname__}: {self!r}")
        if B is not _MISSING and inner is not _MISSING:
            raise TypeError("compose takes one operand, got both B and inner")
        operand = inner if B is _MISSING else B
        if operand is _MISSING:
            raise TypeError("compose takes one operand, an IndexMap, Shape, or Tiler; got none")
        if isinstance(operand, IndexMap):
            return compose_maps(self, operand)
        return Layout._from_modes(division.compose_tiler(self._modes, _tiles_of_any(operand)))

    @staticmethod
    def complement(layout: Layout, cotarget: int) -> Layout:
        """The layout that, appended to `layout`, hits each index of `[0, cotarget)` exactly once.

        Args:
            layout: An injective tile whose leaves, sorted by stride, do not interleave.
            cotarget: The number of indices to cover, at least 1.

        Returns:
            The remaining modes, rank zero when nothing remains.

        Raises:
            TypeError: `layout` is not a Layout or `cotarget` not an integer.
            ValueError: The tile overlaps with itself, is incongruent or larger than `cotarget`.

        Examples:
            >>> from strideweave import Layout
            >>> print(Layout.complement(Layout.parse("(2,2):(1,6)"), 24))
            (3,2):(2,12)
        """
        parts = _modes_of(layout, "layout")
        return Layout._from_modes(division.complement(parts, _positive(cotarget, "cotarget")))

    @staticmethod
    def divide(A: Layout, B: Layout) -> Layout:
        """The layout `A` divided by the tile `B`, as `(tile, remainder)` modes.

        Raises:
            TypeError: An argument is not a Layout.
            ValueError: The tile does not divide the layout.

        Examples:
            >>> from strideweave import Layout
            >>> print(Layout.divide(Layout.parse("(4,2,3):(2,1,8)"), Layout.leaf(4, 2)))
            ((2,2),(2,3)):((4,1),(2,8))
        """
        return Layout._from_modes(division.divide(_modes_of(A, "A"), _modes_of(B, "B")))

    @staticmethod
    def divide_tiler(A: Layout, B: Tiler) -> Layout:
        """Divide mode `i` of `A` by tile `i` of `B`; trailing modes stay as they are.

        Raises:
            TypeError: `A` is not a Layout, or `B` not a sequence of Layouts.
            ValueError: There are more tiles than modes, or a tile does not divide its mode.
        """
        return Layout._from_modes(division.divide_tiler(_modes_of(A, "A"), _tiles_of(B, "B")))

    @staticmethod
    def zipped_divide(A: Layout, B: Tiler) -> Layout:
        """Divide by mode, with all tile parts in mode 0 and all remainders in mode 1.

        Raises:
            TypeError: `A` is not a Layout, or `B` not a sequence of Layouts.
            ValueError: There are more tiles than modes, or a tile does not divide its mode.
        """
        return Layout._from_modes(division.zipped_divide(_modes_of(A, "A"), _tiles_of(B, "B")))

    def _is_identity(self) -> bool:
        if self.cosize != self.size:
            return False
        return self.size == 1 or composition.proportional_factor(self._leaves) == 1

    def _compose_same_kind(self, inner: IndexMap) -> Layout | None:
        if not isinstance(inner, Layout):
            return None
        factor = composition.proportional_factor(self._leaves)
        if factor is not None:
            scaled = modes.scale(inner.stride.top_level, factor)
            return Layout._of(inner.shape, Stride._from_hierarchy(scaled))
        specialised = composition.specialise(self._modes, inner._modes)
        return None if specialised is None else Layout._from_modes(specialised)

    def _structural_injectivity(self) -> bool | None:
        return injectivity.structural_injectivity(self._leaves)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Layout)
            and self._hash == other._hash
            and self.shape.top_level == other.shape.top_level
            and self.stride.top_level == other.stride.top_level
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Callable[[Shape, Stride], Layout], tuple[Shape, Stride]]:
        return Layout, (self.shape, self.stride)

    def __repr__(self) -> str:
        return f"Layout({self.shape!r}, {self.stride!r})"

    def __str__(self) -> str:
        return f"{self.shape}:{self.stride}"


Tiler: TypeAlias = Sequence[Layout]


def _modes_of(layout: object, name: str) -> Modes:
    if not isinstance(layout, Layout):
        raise TypeError(f"{name} must be a Layout, got {type(layout).__qualname__}: {layout!r}")
    return layout._modes


def _tiles_of(tiler: object, name: str) -> list[Modes]:
    if not isinstance(tiler, Sequence) or isinstance(tiler, (str, bytes)):
        raise TypeError(
            f"{name} must be an IndexMap, Shape, or Tiler (a sequence of Layouts), "
            f"got {type(tiler).__qualname__}: {tiler!r}"
        )
    for position, tile in enumerate(tiler):
        if not isinstance(tile, Layout):
            raise TypeError(
                f"{name} must contain only Layout objects, got {type(tile).__qualname__} "
                f"at position {position}: {tile!r}"
            )
    return [tile._modes for tile in tiler]


def _tiles_of_any(operand: object) -> list[Modes]:
    if not isinstance(operand, Shape):
        return _tiles_of(operand, "operand")
    tiles: list[Modes] = []
    for entry in operand.top_level:
        if not isinstance(entry, int):
            raise ValueError(
                f"a Shape operand must be flat, got {operand!r}; pass a Tiler of Layouts instead"
            )
        tiles.append((Leaf(entry, 1),))
    return tiles


def _positive(value: object, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {type(value).__qualname__}: {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be positive, got {value}")
    return int(value)


def _recipe(level: Hierarchy) -> list[Node]:
    steps: list[Node] = []
    for entry in level:
        steps += [Node.Leaf] if isinstance(entry, int) else [Node.Push, *_recipe(entry), Node.Pop]
    return steps
