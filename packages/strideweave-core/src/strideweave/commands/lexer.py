"""Splitting a layout command into tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NoReturn, TypeAlias, final

from strideweave._record import record

TokenKind: TypeAlias = Literal["left_paren", "right_paren", "arrow", "comma", "one", "symbol"]

_SEPARATORS = " \t\n\r\f\v"
_PUNCTUATION: dict[str, TokenKind] = {"(": "left_paren", ")": "right_paren", ",": "comma"}
# Spelt out: importing the string module would compile a pattern that nothing here uses.
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = "0123456789"
_WORD = frozenset(_LETTERS + _DIGITS + "_")


@final
@record
class Token:
    """One word or mark of a command.

    Args:
        kind: What the token is.
        value: Its text.
        start: Offset of its first character.
        end: Offset one past its last character.

    Examples:
        >>> from strideweave.einops import lex
        >>> lex("a -> a")[1]
        Token(kind='arrow', value='->', start=2, end=4)
    """

    kind: TokenKind
    value: str
    start: int
    end: int


def lex(command: str) -> list[Token]:
    """Split a command into tokens.

    Args:
        command: The text; blanks separate tokens and vanish.

    Returns:
        The tokens in reading order.

    Raises:
        TypeError: `command` is not a string.
        ValueError: A character or word is not part of the language; the message ends with the
            offset.

    Examples:
        >>> from strideweave.einops import lex
        >>> [token.kind for token in lex("a (b 1)")]
        ['symbol', 'left_paren', 'symbol', 'one', 'right_paren']
    """
    require_command(command)
    tokens: list[Token] = []
    position = 0
    while position < len(command):
        if command[position] in _SEPARATORS:
            position += 1
            continue
        token = _token_at(command, position)
        tokens.append(token)
        position = token.end
    return tokens


def require_command(command: object) -> None:
    """Refuse anything but a string."""
    if not isinstance(command, str):
        raise TypeError(f"command must be a str, got {type(command).__qualname__}: {command!r}")


def refuse(problem: str, offset: int) -> NoReturn:
    """Refuse a command, pointing at an offset of it."""
    raise ValueError(f"{problem} at offset {offset}")


def _token_at(command: str, start: int) -> Token:
    character = command[start]
    if character in _PUNCTUATION:
        return Token(_PUNCTUATION[character], character, start, start + 1)
    return _READERS.get(character, _symbol)(command, start)


def _arrow(command: str, start: int) -> Token:
    if not command.startswith("->", start):
        refuse("Expected '->'", start)
    return Token("arrow", "->", start, start + 2)


def _lone_head(command: str, start: int) -> Token:
    refuse("Unexpected '>'", start)


def _one(command: str, start: int) -> Token:
    end = start + 1
    if end < len(command):
        _require_ascii(command, end)
        if command[end] in _WORD:
            refuse("Invalid singleton: '1' must stand alone", start)
    return Token("one", "1", start, end)


def _symbol(command: str, start: int) -> Token:
    _require_ascii(command, start)
    if command[start] in _DIGITS:
        refuse("Invalid dimension symbol: it must start with a letter", start)
    if command[start] not in _LETTERS:
        refuse(f"Unexpected character {command[start]!r}", start)
    end = start + 1
    while end < len(command):
        _require_ascii(command, end)
        if command[end] not in _WORD:
            break
        end += 1
    return Token("symbol", command[start:end], start, end)


def _require_ascii(command: str, position: int) -> None:
    if not command[position].isascii():
        refuse(f"Commands may contain only ASCII characters, got {command[position]!r}", position)


_READERS: dict[str, Callable[[str, int], Token]] = {"-": _arrow, ">": _lone_head, "1": _one}
