"""Input and output references of commands."""

from typing import Any

import pytest

from strideweave.einops import LayoutReference, lex, parse_layout_ref, parse_rearrange
from strideweave.layout import Node, Tree

Leaf = Node.Leaf
identified = Node.id


@pytest.mark.rule("N-6", "Z-3")
@pytest.mark.parametrize(
    ("text", "tree", "symbol_ids"),
    [
        ("a (b c)", Tree(Leaf, Tree(Leaf, Leaf)), (("a", 0), ("b", 1), ("c", 2))),
        ("1 a", Tree(Leaf, Leaf), (("a", 1),)),
        ("((a 1) b)", Tree(Tree(Tree(Leaf, Leaf), Leaf)), (("a", 0), ("b", 2))),
    ],
)
def test_input_references(text: str, tree: Tree, symbol_ids: tuple[tuple[str, int], ...]) -> None:
    assert parse_layout_ref(lex(text)) == LayoutReference(tree, symbol_ids)
    assert parse_layout_ref(iter(lex(text))).tree == tree


@pytest.mark.rule("N-6")
def test_references_take_tokens() -> None:
    wrong: Any
    for wrong in (None, 3):
        with pytest.raises(TypeError, match="tokens must be an iterable of Token objects"):
            parse_layout_ref(wrong)
    for wrong in ("a b", [*lex("a"), "b"]):
        with pytest.raises(TypeError, match="must be Token objects, got str"):
            parse_layout_ref(wrong)


@pytest.mark.rule("N-7", "Z-4")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must not be empty"),
        ("(", "must not be empty"),
        ("a (", "must not be empty"),
        ("(a (", "must not be empty"),
        ("a ()", "Empty parenthesized group at offset 3$"),
        ("a )", "Unmatched right parenthesis at offset 2$"),
        ("(a", "Unclosed left parenthesis at offset 0$"),
        ("((a", "Unclosed left parenthesis at offset 1$"),
        ("((a)", "Unclosed left parenthesis at offset 0$"),
        ("a , b", "Commas are not valid.* at offset 2$"),
        ("a -> b", "Arrows are not valid.* at offset 2$"),
        ("a a", "Duplicate dimension symbol 'a' at offset 2$"),
        ("a a )", "Duplicate dimension symbol 'a' at offset 2$"),
        ("a ) a", "Unmatched right parenthesis at offset 2$"),
    ],
)
def test_refused_references(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_layout_ref(lex(text))


@pytest.mark.rule("N-8")
def test_output_references() -> None:
    spec = parse_rearrange("a (b c) -> (c 1) (b) a")
    assert spec.output == Tree(Tree(identified(2), Leaf), Tree(identified(1)), identified(0))


@pytest.mark.rule("N-8", "Z-5")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("a -> b", "Unknown dimension symbol 'b' at offset 5$"),
        ("a b -> a a", "Duplicate output dimension symbol 'a' at offset 9$"),
        ("a ->", "must not be empty"),
        ("a -> a (", "must not be empty"),
        ("a -> ()", "Empty parenthesized group at offset 6$"),
        ("a -> a)", "Unmatched right parenthesis at offset 6$"),
        ("a -> (a", "Unclosed left parenthesis at offset 5$"),
        ("a -> a, a", "Commas are not valid.* at offset 6$"),
    ],
)
def test_refused_output_references(command: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rearrange(command)
