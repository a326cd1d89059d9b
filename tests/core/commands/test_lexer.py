"""Tokens of the layout command language."""

import copy
import pickle
from typing import Any, get_args

import pytest

from strideweave.einops import Token, TokenKind, lex


@pytest.mark.rule("N-5", "Z-1")
def test_kinds_and_spans() -> None:
    tokens = lex("a (b c) -> c a")
    assert [token.kind for token in tokens] == [
        "symbol",
        "left_paren",
        "symbol",
        "symbol",
        "right_paren",
        "arrow",
        "symbol",
        "symbol",
    ]
    assert tokens[5] == Token("arrow", "->", 8, 10)
    assert tokens[0] == Token("symbol", "a", 0, 1)


@pytest.mark.rule("N-5")
def test_blanks_separate_and_vanish() -> None:
    assert lex("") == lex(" \t\n\r\f\v") == []
    assert [token.value for token in lex("a\tb\nc\rd\fe\vf1_G,1")] == [
        "a",
        "b",
        "c",
        "d",
        "e",
        "f1_G",
        ",",
        "1",
    ]
    assert [token.value for token in lex("(a->b)")] == ["(", "a", "->", "b", ")"]


@pytest.mark.rule("N-5", "Z-2")
@pytest.mark.parametrize(
    ("command", "message", "offset"),
    [
        ("aé", "only ASCII", 1),
        ("1é", "only ASCII", 1),
        ("é", "only ASCII", 0),
        ("a é", "only ASCII", 2),
        ("11", "Invalid singleton", 0),
        ("1_", "Invalid singleton", 0),
        ("a 1b", "Invalid singleton", 2),
        ("2", "Invalid dimension symbol", 0),
        ("a 0", "Invalid dimension symbol", 2),
        ("a-b", "Expected '->'", 1),
        ("a -", "Expected '->'", 2),
        ("a>", "Unexpected '>'", 1),
        ("_a", "Unexpected character", 0),
        ("a\x00b", "Unexpected character", 1),
        ("a.b", "Unexpected character", 1),
        ("a + é", "Unexpected character", 2),
    ],
)
def test_scanning_stops_at_the_first_failure(command: str, message: str, offset: int) -> None:
    with pytest.raises(ValueError, match=f"{message}.* at offset {offset}$"):
        lex(command)


@pytest.mark.rule("N-5", "S-19")
def test_tokens_are_frozen_values() -> None:
    token = Token("symbol", "a", 0, 1)
    assert {token: 1}[Token("symbol", "a", 0, 1)] == 1
    assert token != Token("symbol", "a", 1, 2)
    assert not hasattr(token, "__dict__")
    for name in ("kind", "other"):
        with pytest.raises(AttributeError):
            setattr(token, name, "one")
    assert pickle.loads(pickle.dumps(token)) == copy.copy(token) == token


@pytest.mark.rule("N-5")
def test_token_kinds_are_literals() -> None:
    assert set(get_args(TokenKind)) == {
        "left_paren",
        "right_paren",
        "arrow",
        "comma",
        "one",
        "symbol",
    }


@pytest.mark.rule("N-3")
@pytest.mark.parametrize("command", [None, b"a", 3, ["a"]])
def test_a_command_is_a_string(command: Any) -> None:
    with pytest.raises(TypeError, match="command must be a str, got"):
        lex(command)
