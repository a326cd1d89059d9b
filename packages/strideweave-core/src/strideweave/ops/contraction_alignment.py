"""Metadata-only views that bring contractions into their canonical form, and results out of it."""

from functools import lru_cache
from typing import final

from strideweave._record import record
from strideweave.commands.einsum import EinsumSpec, parse_einsum
from strideweave.layout.layout import Layout
from strideweave.layout.tree import Tree
from strideweave.ops.alignment import check_description


@final
@record
class Rearrangement:
    """View of a result whose leaves the caller sees in other places.

    Attributes:
        output: Tree that places the selected leaves.
        selection: Tree that selects them in the operation's result.
    """

    output: Tree
    selection: Tree

    def publish(self, layout: Layout) -> Layout:
        """Rearrange the operation's result.

        Args:
            layout: Layout of the result.
        """
        return Layout.rearrange(layout, self.output, self.selection)

    def restore(self, layout: Layout) -> Layout:
        """Undo ``publish``.

        Args:
            layout: Any layout in the published shape.
        """
        return Layout.rearrange(layout, *Layout.reverse_rearrange(self.output, self.selection))


@final
@record
class EinsumAlignment:
    """Rearrangement of two operands into (outer, inner) or (batch, outer, inner) modes.

    Attributes:
        spec: The compiled command.
        result_view: Where the command places the modes of the product.
    """

    spec: EinsumSpec
    result_view: Rearrangement

    # Hashed per call: the maker below gives one object per command.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def align(self, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
        """Rearrange both operands.

        Args:
            layouts: Layouts of the two operands.

        Returns:
            Layouts with the top-level modes that the product takes.

        Raises:
            ValueError: An operand's nesting is not its reference's, a shared symbol has two sizes,
                or an unnamed mode has more than one element.
        """
        lhs, rhs = layouts
        spec = self.spec
        lhs_modes = Layout.extract_profile(lhs, spec.lhs_selection)
        rhs_modes = Layout.extract_profile(rhs, spec.rhs_selection)
        lhs_ids, rhs_ids = dict(spec.lhs_symbol_ids), dict(spec.rhs_symbol_ids)
        for symbol in spec.common_symbols:
            lhs_size, rhs_size = lhs_modes[lhs_ids[symbol]].size, rhs_modes[rhs_ids[symbol]].size
            if lhs_size != rhs_size:
                raise ValueError(
                    f"Einsum shared dimension {symbol!r} has mismatched logical size: "
                    f"{lhs_size} in lhs {lhs}, {rhs_size} in rhs {rhs}"
                )
        return (
            Layout.rearrange(lhs, spec.lhs_rearrange_output, spec.lhs_selection),
            Layout.rearrange(rhs, spec.rhs_rearrange_output, spec.rhs_selection),
        )


@lru_cache(maxsize=1024)
def _compiled(description: str) -> EinsumAlignment:
    spec = parse_einsum(description)
    return EinsumAlignment(spec, Rearrangement(spec.output, spec.matmul_output_selection))


def einsum_alignment(description: str) -> EinsumAlignment:
    """Compile a contraction command such as ``"a b, c b -> a c"``.

    Args:
        description: References of both operands, an arrow, the reference of the result.

    Returns:
        The alignment of that command; equal strings give the same object.

    Raises:
        TypeError: ``description`` is not a str.
        ValueError: The command is malformed.
    """
    check_description(description, "'i k, k j -> i j' in einsum(lhs, rhs, description)")
    return _compiled(description)


@final
@record
class PermutedView:
    """View of a result whose top-level modes the caller sees in another order.

    Attributes:
        order: For each mode that the caller sees, the mode of the result.
    """

    order: tuple[int, ...]

    def publish(self, layout: Layout) -> Layout:
        """Permute the operation's result.

        Args:
            layout: Layout of the result.
        """
        return Layout.permute(layout, *self.order)

    def restore(self, layout: Layout) -> Layout:
        """Undo ``publish``.

        Args:
            layout: Any layout in the published shape.
        """
        return Layout.permute(layout, *map(self.order.index, range(len(self.order))))


@final
@record
class PermutedAlignment:
    """Another order of the top-level modes of each operand and of the result.

    Attributes:
        orders: For each operand and each mode of its canonical form, the mode of the operand.
        result_view: The order of the result, None for the canonical one.
    """

    orders: tuple[tuple[int, ...], ...]
    result_view: PermutedView | None

    # Hashed per call: the maker below gives one object per meaning.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def align(self, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
        """Permute every operand.

        Args:
            layouts: One layout per operand, of the rank of its order.

        Returns:
            The layouts in canonical order.
        """
        return tuple(
            Layout.permute(layout, *order)
            for layout, order in zip(layouts, self.orders, strict=True)
        )


@lru_cache(maxsize=256)
def permuted_alignment(
    orders: tuple[tuple[int, ...], ...], result_order: tuple[int, ...]
) -> PermutedAlignment:
    """Give the alignment of those orders; equal ones give the same object.

    Args:
        orders: For each operand and each mode of its canonical form, the mode of the operand.
        result_order: For each mode that the caller sees, the mode of the canonical result.
    """
    is_canonical = result_order == tuple(range(len(result_order)))
    return PermutedAlignment(orders, None if is_canonical else PermutedView(result_order))
