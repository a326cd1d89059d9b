"""What a subcommand is, and how it refuses."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import Final, final

from strideweave._record import record

DONE: Final = 0
NO: Final = 1
MISUSED: Final = 2


@final
class CommandError(Exception):
    """What the user asked for is impossible; the message says why and what to do."""


@final
@record
class Command:
    """One subcommand.

    Attributes:
        name: Word after ``strideweave``.
        summary: One line for the list of subcommands.
        details: What it does and what its exit status says.
        examples: Command lines that work.
        configure: Declares the arguments.
        run: Prints the answer and gives the exit status. It raises CommandError before it
            changes or prints anything.
    """

    name: str
    summary: str
    details: str
    examples: tuple[str, ...]
    configure: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]

    def epilog(self) -> str:
        """Write what ``--help`` says after the arguments."""
        return "\n".join(["examples:", *(f"  {example}" for example in self.examples)])


def show(lines: Iterable[str]) -> None:
    """Print an answer."""
    print("\n".join(lines))


def aligned(rows: Iterable[Iterable[str]], indent: str = "") -> list[str]:
    """Write rows as lines with columns two blanks apart.

    Args:
        rows: Cells; all rows have as many.
        indent: What each line begins with.
    """
    cells = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        indent
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
