"""What the three commands share: splitting at the arrow, and remembering compiled commands."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import Generic, TypeVar, final

from strideweave._fork import hold_across_fork
from strideweave.commands.lexer import Token, require_command

Spec = TypeVar("Spec")

REMEMBERED = 1024


@final
class CompiledCommands(Generic[Spec]):
    """Compiles commands and remembers the most recently used successes.

    Equal strings give the identical spec, from every thread, as long as it is remembered. There is
    one for each kind of command, as long as the process lives.
    """

    def __init__(self, compile_command: Callable[[str], Spec]) -> None:
        self._compile = compile_command
        self._lock = RLock()
        hold_across_fork(self._lock)
        self._specs: OrderedDict[str, Spec] = OrderedDict()

    def __call__(self, command: str) -> Spec:
        """The spec of a command.

        Raises:
            TypeError: `command` is not a string.
            ValueError: The command is malformed.
        """
        require_command(command)
        with self._lock:
            if command in self._specs:
                self._specs.move_to_end(command)
                return self._specs[command]
        compiled = self._compile(command)
        with self._lock:
            # Another thread may have compiled the same command meanwhile; its spec was first.
            spec = self._specs.setdefault(command, compiled)
            if len(self._specs) > REMEMBERED:
                self._specs.popitem(last=False)
        return spec


def split_at_arrow(tokens: list[Token], name: str) -> tuple[list[Token], list[Token]]:
    """The tokens before and after the only arrow.

    Raises:
        ValueError: There is no arrow, or more than one.
    """
    arrows = [position for position, token in enumerate(tokens) if token.kind == "arrow"]
    if not arrows:
        raise ValueError(f"{name} command must contain one '->'")
    if len(arrows) > 1:
        raise ValueError(f"{name} command must contain only one '->', got {len(arrows)}")
    return tokens[: arrows[0]], tokens[arrows[0] + 1 :]
