"""State of the package at the moment of a fork."""

import os
import sys
from collections.abc import Callable
from threading import Lock, RLock, local
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    AnyLock: TypeAlias = Lock | RLock

_locks: "Final[list[AnyLock]]" = []


class _Here(local):
    def __init__(self) -> None:
        self.held: list[AnyLock] = []


_here: Final = _Here()


def hold_across_fork(lock: "AnyLock") -> None:
    """Let every fork wait for a lock.

    Otherwise a forked child could find it held, for ever, by a thread that the child does not have.

    Args:
        lock: A lock that lives as long as the process, under which nothing waits for other work.
            The thread that holds it may fork only if it is reentrant.
    """
    _locks.append(lock)


def run_in_child(callback: Callable[[], object]) -> None:
    """Call something in every forked child, before anything else runs there.

    Args:
        callback: Forgets what only the parent's other threads could end.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
        os.register_at_fork(after_in_child=callback)


_imported_before: Final[set[str]] = set()


def was_imported_before_fork(module: str) -> bool:
    """Tell whether this process was forked from one that had imported a module, by then.

    Args:
        module: The module's full name.
    """
    return module in _imported_before


def _note_imports() -> None:
    _imported_before.update(sys.modules)


run_in_child(_note_imports)


def _take() -> None:
    """Take every lock, waiting for one only while no other is held.

    A thread under one of them may want another one, as Python may run finalizers there.
    """
    while True:
        for lock in tuple(_locks):
            if not lock.acquire(blocking=False):
                break
            _here.held.append(lock)
        else:
            return
        _give_back()
        with lock:
            pass


def _give_back() -> None:
    while _here.held:
        _here.held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)
