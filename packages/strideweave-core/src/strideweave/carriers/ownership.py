"""Exclusive ownership of a carrier, access of its owner, writes and the one release transition.

Every step is atomic under one lock, which is never held while foreign code runs.
"""

import itertools
from collections.abc import Callable
from threading import RLock, local
from typing import TYPE_CHECKING, final

from strideweave._fork import hold_across_fork, run_in_child
from strideweave.carriers.latch import Latch

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier

# Reentrant, because the collector may run under it and finalize a composite, which gives up its
# claims; each step changes one carrier only.
lock = RLock()
hold_across_fork(lock)
_tokens = itertools.count(1)


class _ThisThread(local):
    """One object per thread; unlike a thread's number it is never used again."""

    def __init__(self) -> None:
        self.key = object()


_this_thread = _ThisThread()


@final
class OwnershipClaim:
    """One owner's claim on a carrier, and the thread that is inside owner access."""

    __slots__ = ("depth", "thread", "token")

    def __init__(self, token: int) -> None:
        self.token = token
        self.thread: object = None
        self.depth = 0

    def is_accessed_here(self) -> bool:
        """Tell whether the calling thread is inside owner access."""
        return self.thread is _this_thread.key


@final
class _Release:
    """A release that is running: the thread that runs it, and its end."""

    __slots__ = ("finished", "thread")

    def __init__(self) -> None:
        self.finished = Latch()
        self.thread = _this_thread.key


# Keyed by id: the running call keeps its carrier alive, and a subclass's __hash__ is never used.
_releases: dict[int, _Release] = {}
run_in_child(_releases.clear)


def claim(carrier: "Carrier") -> int:
    """Take ownership of a live, unowned carrier.

    Returns:
        A token that is unique in this process.

    Raises:
        RuntimeError: The carrier is released, or somebody owns it already.
    """
    with lock:
        if carrier._released or id(carrier) in _releases:
            raise RuntimeError(f"this {_name(carrier)} is released and cannot be owned")
        if carrier._ownership is not None:
            raise RuntimeError(
                f"this {_name(carrier)} is already owned; it has one owner at a time"
            )
        token = next(_tokens)
        carrier._ownership = OwnershipClaim(token)
        return token


def relinquish(carrier: "Carrier", token: int) -> None:
    """Give ownership back.

    Raises:
        RuntimeError: The token is not the owner's, or owner access is still open.
    """
    with lock:
        owner = _owner(carrier, token)
        if owner.depth:
            raise RuntimeError(
                f"ownership of this {_name(carrier)} cannot be relinquished inside owner access; "
                "end the access first"
            )
        carrier._ownership = None


def begin_access(carrier: "Carrier", token: int) -> None:
    """Let the calling thread act as the owner; nested calls add up.

    Raises:
        RuntimeError: The token is not the owner's, or another thread is inside.
    """
    with lock:
        owner = _owner(carrier, token)
        if owner.depth and not owner.is_accessed_here():
            raise RuntimeError(f"another thread is inside owner access to this {_name(carrier)}")
        owner.thread = _this_thread.key
        owner.depth += 1


def end_access(carrier: "Carrier", token: int) -> None:
    """Undo one ``begin_access`` of the calling thread.

    Raises:
        RuntimeError: The token is not the owner's, or this thread is not inside.
    """
    with lock:
        owner = _owner(carrier, token)
        if not owner.is_accessed_here():
            raise RuntimeError(f"this thread is not inside owner access to this {_name(carrier)}")
        owner.depth -= 1
        if not owner.depth:
            owner.thread = None


def is_closed_here(carrier: "Carrier") -> bool:
    """Tell whether somebody owns the carrier and the calling thread does not act for the owner."""
    owner = carrier._ownership
    return owner is not None and not owner.is_accessed_here()


def increment_version(carrier: "Carrier") -> None:
    """Advance the public version by one.

    Raises:
        RuntimeError: The carrier is owned by somebody else.
    """
    with lock:
        _refuse_owned(carrier, "advancing the version")
        carrier._version += 1


def require_writable(carrier: "Carrier") -> None:
    """Refuse a write to a carrier that was claimed or released since it was checked.

    A caller that holds the lock until it has stored the value and advanced the version makes the
    write one step; it must run no foreign code meanwhile.

    Raises:
        RuntimeError: The carrier is owned by somebody else, or another thread releases it.
    """
    if carrier._released or id(carrier) in _releases:
        carrier._refuse_released("written")
    if is_closed_here(carrier):
        carrier._refuse_immutable()


def count_write(carrier: "Carrier") -> None:
    """Advance the version for a value that is stored, whoever claimed the carrier since.

    Raises:
        RuntimeError: The carrier was released since: the value is gone, or moved in time.
    """
    with lock:
        if carrier._released or id(carrier) in _releases:
            raise RuntimeError(
                f"this {_name(carrier)} was released while it was written; if it was moved, the "
                "new place may have the value or not"
            )
        carrier._version += 1


def release(carrier: "Carrier", relinquish_storage: Callable[[], None]) -> None:
    """Release a carrier once; a second release waits for a running one and then does nothing.

    Args:
        carrier: The carrier, live or already released.
        relinquish_storage: Drops the storage. When it raises, the carrier stays live.

    Raises:
        RuntimeError: The carrier is owned by somebody else.
    """
    transition = _begin_release(carrier)
    if transition is None:
        return
    try:
        relinquish_storage()
        carrier._released = True
    finally:
        with lock:
            _releases.pop(id(carrier), None)
        transition.finished.set()


def _begin_release(carrier: "Carrier") -> _Release | None:
    while True:
        with lock:
            _refuse_owned(carrier, "release()")
            if carrier._released:
                return None
            running = _releases.get(id(carrier))
            if running is None:
                _releases[id(carrier)] = transition = _Release()
                return transition
        if running.thread is _this_thread.key:
            return None  # the release callback itself called release()
        running.finished.wait()


def _owner(carrier: "Carrier", token: int) -> OwnershipClaim:
    owner = carrier._ownership
    if owner is None or owner.token != token:
        found = "is not owned" if owner is None else "is owned under another token"
        raise RuntimeError(f"token {token!r} does not own this {_name(carrier)}: it {found}")
    return owner


def _refuse_owned(carrier: "Carrier", action: str) -> None:
    if is_closed_here(carrier):
        raise RuntimeError(
            f"{action} refused: this {_name(carrier)} is owned by a composite carrier or a pending "
            "move; act through the owner, or wait for the move"
        )


def _name(carrier: "Carrier") -> str:
    return type(carrier).__qualname__
