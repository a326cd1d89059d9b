"""State of the package at the moment of a fork."""

import os
from collections.abc import Callable
from threading import Lock, RLock


def hold_across_fork(lock: "Lock | RLock") -> None:
    """Let every fork wait for a lock.

    Otherwise a forked child could find it held, for ever, by a thread that the child does not have.

    Args:
        lock: A lock under which no foreign code runs and no other lock is taken.
    """
    if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


def run_in_child(callback: Callable[[], object]) -> None:
    """Call something in every forked child, before anything else runs there.

    Args:
        callback: Forgets what only the parent's other threads could end.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=callback)
