"""Reading CuTe notation such as `(2,(3,4)):(1,(2,6))`."""

from __future__ import annotations

from typing import NoReturn, final

from strideweave.layout.shape import Hierarchy, congruent


def parse(text: str) -> tuple[Hierarchy, Hierarchy]:
    """The extents and strides of a layout in CuTe notation.

    Raises:
        TypeError: `text` is not a string.
        ValueError: The notation is malformed; the message points at the column.
    """
    if not isinstance(text, str):
        raise TypeError(f"text must be a str, got {type(text).__qualname__}: {text!r}")
    reader = _Reader(text)
    extents = reader.hierarchy(smallest=1)
    reader.expect(":")
    start = reader.position
    strides = reader.hierarchy(smallest=0)
    reader.expect_end()
    if not congruent(extents, strides):
        reader.fail("shape and stride do not match in Structure", start)
    return extents, strides


@final
class _Reader:
    """Reads one notation from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.position = 0

    def hierarchy(self, smallest: int) -> Hierarchy:
        """A bracketed hierarchy, or a lone integer for a single leaf."""
        if self._peek() != "(":
            return (self._integer(smallest),)
        self.position += 1
        return self._entries(smallest)

    def expect(self, character: str) -> None:
        """Step over one required character."""
        if self._peek() != character:
            self.fail(f"expected {character!r}", self.position)
        self.position += 1

    def expect_end(self) -> None:
        """Refuse anything that follows."""
        if self._peek():
            self.fail("expected the end", self.position)

    def fail(self, problem: str, position: int) -> NoReturn:
        """Refuse the text, pointing at a position of it."""
        raise ValueError(f"malformed layout {self._text!r}: {problem} at column {position + 1}")

    def _entries(self, smallest: int) -> Hierarchy:
        entries: list[int | Hierarchy] = []
        if self._peek() == ")":
            self.position += 1
            return ()
        while True:
            if self._peek() == "(":
                self.position += 1
                entries.append(self._entries(smallest))
            else:
                entries.append(self._integer(smallest))
            if self._peek() != ",":
                self.expect(")")
                return tuple(entries)
            self.position += 1

    def _integer(self, smallest: int) -> int:
        self._peek()
        start = self.position
        while self.position < len(self._text) and self._text[self.position] in "0123456789":
            self.position += 1
        if start == self.position:
            self.fail("expected an integer or '('", start)
        value = int(self._text[start : self.position])
        if value < smallest:
            self.fail(f"extent must not be less than 1, got {value}", start)
        return value

    def _peek(self) -> str:
        """The next character after blanks, empty at the end."""
        while self.position < len(self._text) and self._text[self.position].isspace():
            self.position += 1
        return self._text[self.position : self.position + 1]
