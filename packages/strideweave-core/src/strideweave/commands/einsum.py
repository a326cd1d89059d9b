"""Contraction commands such as `b i k, b j k -> b i j`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import final

from strideweave._record import record
from strideweave.commands.compiling import CompiledCommands, split_at_arrow
from strideweave.commands.lexer import Token, lex
from strideweave.commands.references import (
    LayoutReference,
    SymbolIds,
    parse_layout_ref,
    parse_output_ref,
)
from strideweave.layout.tree import Node, Tree


@final
@record
class EinsumSpec:
    """A compiled contraction of two operands.

    Args:
        lhs_selection: What the first reference selects.
        rhs_selection: What the second reference selects.
        lhs_rearrange_output: The first operand as (outer, inner) or (batch, outer, inner) groups.
        rhs_rearrange_output: The second operand in the same form.
        matmul_output_selection: The groups of the product: (lhs, rhs) or (batch, lhs, rhs).
        output: Where the right side places the leaves of those groups.
        lhs_symbol_ids: The number of every named leaf of the first reference.
        rhs_symbol_ids: The number of every named leaf of the second reference.
        common_symbols: The symbols of both references, in the order of the first.
        union_symbols: The symbols of the first reference, then the new ones of the second.
        contraction_symbols: The common symbols that the output omits.
        batch_symbols: The common symbols that the output keeps.
    """

    lhs_selection: Tree
    rhs_selection: Tree
    lhs_rearrange_output: Tree
    rhs_rearrange_output: Tree
    matmul_output_selection: Tree
    output: Tree
    lhs_symbol_ids: SymbolIds
    rhs_symbol_ids: SymbolIds
    common_symbols: tuple[str, ...]
    union_symbols: tuple[str, ...]
    contraction_symbols: tuple[str, ...]
    batch_symbols: tuple[str, ...]


def parse_einsum(command: str) -> EinsumSpec:
    """Compile a contraction command.

    Args:
        command: Two references separated by a comma, an arrow, and the output reference. Shared
            symbols that the output omits are contracted, those it keeps are batch dimensions.

    Returns:
        The spec; equal commands give the identical object.

    Raises:
        TypeError: `command` is not a string.
        ValueError: The command is malformed, shares no symbol, or loses a symbol of one side.

    Examples:
        >>> from strideweave.einops import parse_einsum
        >>> spec = parse_einsum("b i k, b j k -> b i j")
        >>> spec.batch_symbols, spec.contraction_symbols
        (('b',), ('k',))
    """
    return _compiled(command)


def _compile(command: str) -> EinsumSpec:
    inputs, right = split_at_arrow(lex(command), "Einsum")
    left_tokens, right_tokens = _split_at_comma(inputs)
    lhs, rhs = parse_layout_ref(left_tokens), parse_layout_ref(right_tokens)
    lhs_numbers, rhs_numbers = dict(lhs.symbol_ids), dict(rhs.symbol_ids)
    common = tuple(symbol for symbol in lhs_numbers if symbol in rhs_numbers)
    if not common:
        raise ValueError(
            "Einsum operands must have at least one shared dimension; blanks separate symbols, so "
            "'ij' is a single one"
        )
    named = {token.value for token in right if token.kind == "symbol"}
    batch = tuple(symbol for symbol in common if symbol in named)
    contraction = tuple(symbol for symbol in common if symbol not in named)
    lhs_free = tuple(symbol for symbol in lhs_numbers if symbol not in rhs_numbers)
    rhs_free = tuple(symbol for symbol in rhs_numbers if symbol not in lhs_numbers)
    groups = [batch, lhs_free, rhs_free] if batch else [lhs_free, rhs_free]
    output = parse_output_ref(right, _leaf_numbers(groups))
    lost = sorted({*lhs_free, *rhs_free} - named)
    if lost:
        raise ValueError(
            f"Einsum output must contain every non-shared input symbol: {', '.join(lost)}"
        )
    return EinsumSpec(
        lhs.tree,
        rhs.tree,
        _operand_view(lhs, batch, lhs_free, contraction),
        _operand_view(rhs, batch, rhs_free, contraction),
        Tree(*(Tree(*(Node.Leaf for _ in group or ("",))) for group in groups)),
        output,
        lhs.symbol_ids,
        rhs.symbol_ids,
        common,
        (*lhs_numbers, *rhs_free),
        contraction,
        batch,
    )


def _split_at_comma(tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    commas = [position for position, token in enumerate(tokens) if token.kind == "comma"]
    if not commas:
        raise ValueError("Contraction command must contain one comma before the '->'")
    if len(commas) > 1:
        raise ValueError(
            f"Contraction command must contain only one comma before the '->', got {len(commas)}"
        )
    return tokens[: commas[0]], tokens[commas[0] + 1 :]


def _leaf_numbers(groups: Iterable[Sequence[str]]) -> dict[str, int]:
    """Number the leaves of the product; the singleton of an empty group takes a number too."""
    numbers = count()
    return {symbol: next(numbers) for group in groups for symbol in group or ("",)}


def _operand_view(
    reference: LayoutReference,
    batch: Sequence[str],
    free: Sequence[str],
    contraction: Sequence[str],
) -> Tree:
    numbers = dict(reference.symbol_ids)

    def group(symbols: Sequence[str]) -> Tree:
        return Tree(*(Node.id(numbers[symbol]) for symbol in symbols)) or Tree(Node.Leaf)

    outer_and_inner = (group(free), group(contraction))
    return Tree(group(batch), *outer_and_inner) if batch else Tree(*outer_and_inner)


_compiled = CompiledCommands(_compile)
