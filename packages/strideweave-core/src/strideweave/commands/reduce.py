"""Reduction commands such as `a b -> a`."""

from __future__ import annotations

from typing import final

from strideweave._record import record
from strideweave.commands.compiling import CompiledCommands, split_at_arrow
from strideweave.commands.lexer import lex
from strideweave.commands.references import SymbolIds, parse_layout_ref, parse_output_ref
from strideweave.layout.tree import LeafId, Node, Tree, tree_leaves


@final
@record
class ReduceSpec:
    """A compiled reduction.

    Args:
        selection: What the left side selects.
        output: Where the right side places the kept leaves.
        reduced: The leaves missing from the right side, ascending.
        rearrange_output: `Tree(output, reduced)`, the view that a reduction consumes.
        symbol_ids: The number of every named leaf of the left side.
    """

    selection: Tree
    output: Tree
    reduced: Tree
    rearrange_output: Tree
    symbol_ids: SymbolIds


def parse_reduce(command: str) -> ReduceSpec:
    """Compile a reduction command.

    Args:
        command: Two references with an arrow between them. What the right one omits is reduced; a
            `1` on the left is always reduced, whatever its extent.

    Returns:
        The spec; equal commands give the identical object.

    Raises:
        TypeError: `command` is not a string.
        ValueError: The command is malformed or omits nothing.

    Examples:
        >>> from strideweave.einops import parse_reduce
        >>> parse_reduce("a (b c) -> b").reduced
        Tree(Node.id(0), Node.id(2))
    """
    return _compiled(command)


def _compile(command: str) -> ReduceSpec:
    left, right = split_at_arrow(lex(command), "Reduce")
    reference = parse_layout_ref(left)
    output = parse_output_ref(right, dict(reference.symbol_ids))
    kept = {leaf.id for leaf in tree_leaves(output) if isinstance(leaf, LeafId)}
    missing = [number for number in range(reference.tree.size) if number not in kept]
    if not missing:
        raise ValueError(
            "Reduce command must omit at least one dimension of the left side on the right side"
        )
    reduced = Tree(*map(Node.id, missing))
    return ReduceSpec(reference.tree, output, reduced, Tree(output, reduced), reference.symbol_ids)


_compiled = CompiledCommands(_compile)
