"""Metadata-only views that bring operands into an operation's form.

``PointwiseAlignment`` widens extent-1 leaves, ``ReduceAlignment`` turns a description or an axis
into the two modes (kept, reduced) that reductions consume. Nothing is dispatched or read.
"""

from functools import lru_cache
from typing import ClassVar, final

from strideweave._record import record
from strideweave.commands.reduce import parse_reduce
from strideweave.layout.layout import Layout
from strideweave.layout.shape import Hierarchy, Shape, congruent
from strideweave.layout.tree import Node, Tree
from strideweave.ops.nesting import nest


def _profile(modes: Hierarchy) -> str:
    entries = ("leaf" if isinstance(mode, int) else _profile(mode) for mode in modes)
    return f"({', '.join(entries)})"


def _leaf_paths(modes: Hierarchy, prefix: str = "") -> list[str]:
    """Name every leaf by the dotted positions of its modes, outermost first."""
    paths: list[str] = []
    for position, mode in enumerate(modes):
        path = f"{prefix}{position}"
        if isinstance(mode, int):
            paths.append(path)
        else:
            paths.extend(_leaf_paths(mode, f"{path}."))
    return paths


@final
@record
class PointwiseAlignment:
    """Structural broadcast: equal nesting, and at every leaf equal extents or 1.

    Attributes:
        names: Names of the operands when all of them are Tensors, for messages.
        partial_names: Names to use when only two of three are Tensors.
    """

    names: tuple[str, ...]
    partial_names: tuple[str, ...] = ("lhs", "rhs")

    result_view: ClassVar[None] = None
    # Hashed per call: definitions share one object per meaning.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def align(self, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
        """Widen every layout to the common shape.

        Args:
            layouts: One layout per Tensor operand.

        Returns:
            The layouts with stride 0 where an extent-1 leaf was widened.

        Raises:
            ValueError: The nestings differ, or extents at a leaf are unequal and none is 1.
        """
        first = layouts[0].shape
        if all(layout.shape == first for layout in layouts):
            return layouts
        names = self.names if len(layouts) == len(self.names) else self.partial_names
        common = _common_shape(names, layouts)
        return tuple(
            layout if layout.shape == common else layout.broadcast_to(common) for layout in layouts
        )


def _common_shape(names: tuple[str, ...], layouts: tuple[Layout, ...]) -> Shape:
    first: Hierarchy = layouts[0].shape.top_level
    for name, layout in zip(names[1:], layouts[1:], strict=True):
        modes: Hierarchy = layout.shape.top_level
        if not congruent(first, modes):
            raise ValueError(
                f"Tensor shape profiles are not congruent: {names[0]}={_profile(first)}, "
                f"{name}={_profile(modes)}; bring both to one nesting with rearrange, reshape or "
                "unsqueeze"
            )
    extents: list[int] = []
    columns = zip(*(layout.leaf_extents for layout in layouts), strict=True)
    for leaf, column in enumerate(columns):
        extent = max(column)
        if any(entry not in (1, extent) for entry in column):
            path = _leaf_paths(first)[leaf]
            sizes = ", ".join(f"{name}={size}" for name, size in zip(names, column, strict=True))
            raise ValueError(
                f"Tensor extents are not broadcast-compatible at leaf {path} within profile "
                f"{_profile(first)}: {sizes}"
            )
        extents.append(extent)
    return Shape(nest(first, extents))


BINARY = PointwiseAlignment(("lhs", "rhs"))


@final
@record
class ReduceAlignment:
    """Rearrangement of one operand into exactly two modes: kept and reduced.

    Attributes:
        output: Tree of the two modes over the selected sources.
        selection: Tree that selects the sources.
    """

    output: Tree
    selection: Tree

    result_view: ClassVar[None] = None
    # Hashed per call: both makers below give one object per meaning.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def align(self, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
        """Rearrange the operand.

        Args:
            layouts: The layout of the one Tensor operand.

        Returns:
            A layout with the top-level modes (kept, reduced).

        Raises:
            ValueError: The operand's nesting is not the selection's.
        """
        (layout,) = layouts
        return (Layout.rearrange(layout, self.output, self.selection),)


@lru_cache(maxsize=1024)
def _compiled(description: str) -> ReduceAlignment:
    spec = parse_reduce(description)
    return ReduceAlignment(spec.rearrange_output, spec.selection)


def check_description(description: object, example: str = "'a b -> a'") -> None:
    """Refuse a description that is no str.

    Args:
        description: What was given.
        example: What could have been.

    Raises:
        TypeError: It has another type.
    """
    if not isinstance(description, str):
        raise TypeError(
            f"description must be a str such as {example}, got {type(description).__qualname__}"
        )


def reduce_alignment(description: str) -> ReduceAlignment:
    """Compile a reduce command such as ``"a b -> a"``.

    Args:
        description: Names of the operand's modes, an arrow, the modes to keep.

    Returns:
        The alignment of that command; equal strings give the same object.

    Raises:
        TypeError: ``description`` is not a str.
        ValueError: The command is malformed.
    """
    check_description(description)
    return _compiled(description)


@lru_cache(maxsize=256)
def axis_alignment(rank: int, axis: int) -> ReduceAlignment:
    """Reduce one top-level mode and keep the others, or an extent-1 leaf if none is left.

    Args:
        rank: Top-level modes of the operand.
        axis: The mode to reduce, from 0.
    """
    kept: list[object] = [Node.id(mode) for mode in range(rank) if mode != axis]
    if not kept:
        kept = [Node.Leaf]
    return ReduceAlignment(Tree(Tree(*kept), Tree(Node.id(axis))), Tree(*[Node.Leaf] * rank))
