"""Rearrangement commands such as `a (b c) -> (c a) 1 b`."""

from __future__ import annotations

from typing import final

from strideweave._record import record
from strideweave.commands.compiling import CompiledCommands, split_at_arrow
from strideweave.commands.lexer import lex
from strideweave.commands.references import SymbolIds, parse_layout_ref, parse_output_ref
from strideweave.layout.tree import Tree


@final
@record
class RearrangeSpec:
    """A compiled rearrangement.

    Args:
        selection: What the left side selects.
        output: Where the right side places it.
        symbol_ids: The number of every named leaf of the left side.
    """

    selection: Tree
    output: Tree
    symbol_ids: SymbolIds


def parse_rearrange(command: str) -> RearrangeSpec:
    """Compile a rearrangement command.

    Args:
        command: Two references with an arrow between them. The right one may omit leaves; that
            they have size 1 is checked when the command is applied.

    Returns:
        The spec; equal commands give the identical object.

    Raises:
        TypeError: `command` is not a string.
        ValueError: The command is malformed.

    Examples:
        >>> from strideweave.einops import parse_rearrange
        >>> parse_rearrange("a (b c) -> b 1 a").output
        Tree(Node.id(1), Node.Leaf, Node.id(0))
    """
    return _compiled(command)


def _compile(command: str) -> RearrangeSpec:
    left, right = split_at_arrow(lex(command), "Rearrange")
    reference = parse_layout_ref(left)
    output = parse_output_ref(right, dict(reference.symbol_ids))
    return RearrangeSpec(reference.tree, output, reference.symbol_ids)


_compiled = CompiledCommands(_compile)
