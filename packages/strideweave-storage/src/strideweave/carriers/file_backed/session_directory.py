"""A directory of temporary files that a lock marks as in use.

The owner holds an advisory lock on a file inside the directory for as long as it lives; the system
drops the lock with the process, however that ends. So whoever can take the lock knows that the
directory is a leftover, and nobody has to judge by age or by process numbers.
"""

import os
import re
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final, final

try:
    import fcntl
except ModuleNotFoundError:  # FileBacked refuses to be constructed there
    fcntl = None  # type: ignore[assignment]

LOCK_NAME: Final = ".owner-lock"

_PREFIX: Final = ".strideweave-filebacked-"
_NAME: Final = re.compile(rf"{re.escape(_PREFIX)}[0-9a-f]+")


@final
class SessionDirectory:
    """A fresh directory that belongs to the calling process while it holds the lock.

    Args:
        parent: Where to create it.

    Raises:
        OSError: The directory or its lock file cannot be created.
    """

    __slots__ = ("_lock", "path")

    def __init__(self, parent: Path) -> None:
        while True:
            path = parent / f"{_PREFIX}{token_hex(16)}"
            os.mkdir(path, 0o700)
            try:
                lock = _locked(path)
            except FileNotFoundError:  # somebody took it for an empty leftover
                continue
            except BaseException:
                with suppress(OSError):
                    _remove_contents(path)
                raise
            if lock is not None:
                break
        self._lock = lock
        self.path = path

    def abandon(self) -> None:
        """Leave the directory to the process that this one was forked from."""
        os.close(self._lock)  # the lock stays with the other process, which shares the open file

    def remove(self) -> None:
        """Delete the directory with all that is in it.

        Raises:
            OSError: Something could not be deleted; a later start tries again.
        """
        try:
            _remove_contents(self.path)
        finally:
            os.close(self._lock)


def remove_leftovers(parent: Path) -> None:
    """Delete the directories of this user whose owners have died, and never one of a live owner.

    What cannot be examined or deleted stays.

    Args:
        parent: Where session directories are created.
    """
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_unless_alive(entry)


def _remove_unless_alive(entry: "os.DirEntry[str]") -> None:
    # Anybody may create entries of that name in a shared temporary directory.
    if not entry.is_dir(follow_symlinks=False):
        return
    if entry.stat(follow_symlinks=False).st_uid != os.getuid():
        return
    path = Path(entry.path)
    try:
        lock = os.open(path / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        os.rmdir(path)  # its owner died before it made the lock, or after it deleted all
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_contents(path)
    finally:
        os.close(lock)


def _locked(directory: Path) -> int | None:
    """Create and lock the lock file; None when somebody took the directory for a leftover.

    That can happen between the creation and the lock: then the file is locked, or deleted.
    """
    lock = os.open(directory / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except BaseException:
        os.close(lock)
        raise
    if os.fstat(lock).st_nlink == 0:
        os.close(lock)
        return None
    return lock


def _remove_contents(directory: Path) -> None:
    """Delete a directory, its lock file last, so that an interrupted removal can be resumed."""
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name != LOCK_NAME:
                os.unlink(entry.path)
    with suppress(FileNotFoundError):
        os.unlink(directory / LOCK_NAME)
    os.rmdir(directory)
