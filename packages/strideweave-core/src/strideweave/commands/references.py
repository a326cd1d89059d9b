"""Reading one side of a command as a tree of modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, final

from strideweave._record import record
from strideweave.commands.lexer import Token, refuse
from strideweave.layout.tree import LeafId, Node, Tree

SymbolIds: TypeAlias = tuple[tuple[str, int], ...]

_DEEPEST = 64
"""Groups inside each other: trees are walked by recursion, which Python bounds."""


@final
@record
class LayoutReference:
    """The structure and the names that an input reference gives to a layout.

    Args:
        tree: The modes: leaves for symbols and ones, subtrees for groups.
        symbol_ids: The number of every named leaf, in reading order; a `1` takes a number too.
    """

    tree: Tree
    symbol_ids: SymbolIds


def parse_layout_ref(tokens: Iterable[Token]) -> LayoutReference:
    """Read an input reference.

    Args:
        tokens: The tokens of one reference, without arrow and comma.

    Returns:
        The tree of modes and the numbers of its symbols.

    Raises:
        TypeError: `tokens` is not an iterable of Token objects.
        ValueError: The reference is empty, its groups are not balanced, or a symbol is repeated.

    Examples:
        >>> from strideweave.einops import lex, parse_layout_ref
        >>> reference = parse_layout_ref(lex("a (1 b)"))
        >>> reference.tree, reference.symbol_ids
        (Tree(Node.Leaf, Tree(Node.Leaf, Node.Leaf)), (('a', 0), ('b', 2)))
    """
    numbers: dict[str, int] = {}
    count = 0

    def leaf(token: Token) -> Node:
        nonlocal count
        if token.kind == "symbol":
            if token.value in numbers:
                refuse(f"Duplicate dimension symbol {token.value!r}", token.start)
            numbers[token.value] = count
        count += 1
        return Node.Leaf

    tree = _read(_require_tokens(tokens), leaf)
    return LayoutReference(tree, tuple(numbers.items()))


def parse_output_ref(tokens: Sequence[Token], numbers: Mapping[str, int]) -> Tree:
    """Read an output reference, whose symbols name numbered input leaves.

    Raises:
        ValueError: The reference is empty, its groups are not balanced, or a symbol is unknown or
            used twice.
    """
    if not tokens:
        raise ValueError("Layout reference must not be empty; to keep no mode, write '-> 1'")
    used: set[str] = set()

    def leaf(token: Token) -> Node | LeafId:
        if token.kind == "one":
            return Node.Leaf
        if token.value not in numbers:
            refuse(f"Unknown dimension symbol {token.value!r}", token.start)
        if token.value in used:
            refuse(f"Duplicate output dimension symbol {token.value!r}", token.start)
        used.add(token.value)
        return Node.id(numbers[token.value])

    return _read(tokens, leaf)


def _read(tokens: Sequence[Token], leaf: Callable[[Token], Node | LeafId]) -> Tree:
    """Build the tree of a reference; failures are found from left to right."""
    levels: list[list[Node | LeafId | Tree]] = [[]]
    opened: list[Token] = []
    for token in tokens:
        match token.kind:
            case "symbol" | "one":
                levels[-1].append(leaf(token))
            case "left_paren":
                if len(opened) == _DEEPEST:
                    refuse(f"Groups are nested more than {_DEEPEST} deep", token.start)
                opened.append(token)
                levels.append([])
            case "right_paren":
                if not opened:
                    refuse("Unmatched right parenthesis", token.start)
                if not levels[-1]:
                    refuse("Empty parenthesized group", token.start)
                opened.pop()
                group = Tree(*levels.pop())
                levels[-1].append(group)
            case "comma":
                refuse("Commas are not valid in a layout reference", token.start)
            case "arrow":
                refuse("Arrows are not valid in a layout reference", token.start)
    if not levels[-1]:
        raise ValueError("Layout reference must not be empty; name at least one mode")
    if opened:
        refuse("Unclosed left parenthesis", opened[-1].start)
    return Tree(*levels[0])


def _require_tokens(tokens: object) -> list[Token]:
    if not isinstance(tokens, Iterable):
        raise TypeError(
            f"tokens must be an iterable of Token objects, got {type(tokens).__qualname__}"
        )
    listed = list(tokens)
    for token in listed:
        if not isinstance(token, Token):
            raise TypeError(
                f"tokens must be Token objects, got {type(token).__qualname__}: {token!r}; "
                f"use lex() on a command"
            )
    return listed
