"""The session directory of the running process: made on first use, removed at exit."""

import atexit
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import RLock
from typing import final

from strideweave._fork import run_in_child
from strideweave.carriers.file_backed.session_directory import SessionDirectory, remove_leftovers
from strideweave.carriers.file_backed.storage_file import StorageFile


@final
class _Session:
    """What this process has open; a forked child starts over."""

    __slots__ = ("directory", "guard")

    def __init__(self) -> None:
        self.directory: SessionDirectory | None = None
        self.guard = RLock()  # a finalizer that uses files may run under it


_session = _Session()


def create_file(name: str) -> StorageFile:
    """Create an empty temporary file of this process.

    Args:
        name: A bare file name.

    Returns:
        The open file.

    Raises:
        FileExistsError: This process has a file of that name.
        OSError: The system does not create it.
        NotImplementedError: The system has no advisory locks.
    """
    if os.name != "posix":
        raise NotImplementedError(
            f"FileBacked needs Linux or macOS, and this system is {os.name!r}; use Generic or CPU"
        )
    directory = _current_directory()
    try:
        return StorageFile(directory.path / name)
    except FileNotFoundError:
        # Somebody cleaned the temporary directory up; open files do not need their names.
        return StorageFile(_replacement(directory).path / name)


def _current_directory() -> SessionDirectory:
    with _session.guard:
        if _session.directory is None:
            parent = Path(tempfile.gettempdir())
            remove_leftovers(parent)
            return _adopted(SessionDirectory(parent))
        return _session.directory


def _adopted(fresh: SessionDirectory) -> SessionDirectory:
    """Take a directory for this process, unless a finalizer has made another one meanwhile."""
    if _session.directory is not None:
        fresh.remove()
        return _session.directory
    _session.directory = fresh
    return fresh


def _replacement(missing: SessionDirectory) -> SessionDirectory:
    with _session.guard:
        if _session.directory is missing:
            _session.directory = None
            missing.abandon()
    return _current_directory()


@atexit.register
def _remove_at_exit() -> None:
    directory, _session.directory = _session.directory, None
    if directory is not None:
        with suppress(OSError):  # a later start removes what stays
            directory.remove()


def _start_over() -> None:
    """Leave the directory to the parent; its lock may have been held by another thread."""
    global _session
    inherited = _session.directory
    _session = _Session()
    if inherited is not None:
        inherited.abandon()


run_in_child(_start_over)
