"""One open temporary file, read and written at byte positions."""

import errno
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, final

# Linux moves less in one call, and macOS refuses more.
MOST_BYTES_PER_CALL: Final = 2**31 - 4096

_synchronize: Final = os.fdatasync if hasattr(os, "fdatasync") else os.fsync
_NO_RESERVATION: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


@final
class StorageFile:
    """A new, empty, open file that disappears with this object at the latest.

    The descriptor is closed when the last reference goes, never while a transfer of another thread
    may still use it: its number could belong to another file by then.

    A process forked from the creator shares the file. It may read it, but neither change nor
    delete it.

    Args:
        path: Where to create it.

    Raises:
        FileExistsError: The path exists.
        OSError: The file cannot be created.
    """

    __slots__ = ("__weakref__", "_descriptor", "_process", "_removal", "path")

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._process = os.getpid()
        self.path = path
        self._removal = weakref.finalize(self, _remove, path, self._process)
        self._removal.atexit = False  # the whole directory is removed then
        weakref.finalize(self, os.close, self._descriptor).atexit = False

    def size(self) -> int:
        """Count the bytes."""
        return os.fstat(self._descriptor).st_size

    def resize(self, size: int) -> None:
        """Set the byte count; new bytes are zero and have their space reserved.

        Raises:
            OSError: There is no space for the new bytes; the file is as before.
        """
        self._require_creator()
        before = self.size()
        try:
            if size <= before:
                os.ftruncate(self._descriptor, size)
            else:
                _reserve(self._descriptor, before, size)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
            raise self._described(error) from None

    def read(self, position: int, out: "memoryview[Any]") -> None:
        """Fill a buffer with the bytes from a position.

        Raises:
            OSError: The file ends before, or cannot be read.
        """
        remaining = _byte_view(out)
        while remaining:
            try:
                count = _read_into(self._descriptor, remaining[:MOST_BYTES_PER_CALL], position)
            except OSError as error:
                raise self._described(error) from None
            if count == 0:
                raise OSError(
                    errno.EIO,
                    f"the file ends at byte {position}, {len(remaining)} bytes early; something "
                    "else truncated it",
                    str(self.path),
                )
            remaining = remaining[count:]
            position += count

    def write(self, position: int, values: "memoryview[Any]") -> None:
        """Store a buffer at a position; a failure midway leaves the rest as it was.

        Raises:
            OSError: The system did not take all bytes.
        """
        self._require_creator()
        remaining = _byte_view(values)
        while remaining:
            try:
                count = os.pwrite(self._descriptor, remaining[:MOST_BYTES_PER_CALL], position)
            except OSError as error:
                raise self._described(error) from None
            if count == 0:
                raise OSError(
                    errno.EIO,
                    f"the system took none of the last {len(remaining)} bytes",
                    str(self.path),
                )
            remaining = remaining[count:]
            position += count

    def synchronize(self) -> None:
        """Wait until the bytes are on the device.

        Raises:
            OSError: The device reported a failure.
        """
        try:
            _synchronize(self._descriptor)
        except OSError as error:
            raise self._described(error) from None

    def remove(self) -> None:
        """Delete the file; transfers that run on other threads complete first.

        Raises:
            OSError: It cannot be deleted, and stays.
        """
        _remove(self.path, self._process)
        self._removal.detach()

    def _described(self, error: OSError) -> OSError:
        """Name the file; the system's calls on descriptors do not."""
        return OSError(error.errno, error.strerror, str(self.path))

    def _require_creator(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self.path} belongs to the process {self._process}, from which this one was "
                "forked: it can only be read here; copy the values to a carrier of this process"
            )


def _remove(path: Path, process: int) -> None:
    if os.getpid() == process:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _read_into(descriptor: int, buffer: "memoryview[int]", position: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [buffer], position)
    found = os.pread(descriptor, len(buffer), position)
    buffer[: len(found)] = found
    return len(found)


def _reserve(descriptor: int, start: int, stop: int) -> None:
    """Extend a file from ``start`` to ``stop`` bytes, on the device where the system can."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, start, stop - start)
            return
        except OSError as error:
            if error.errno not in _NO_RESERVATION:
                raise
    os.ftruncate(descriptor, stop)


def _byte_view(buffer: "memoryview[Any]") -> "memoryview[int]":
    # An empty view refuses to be cast.
    return buffer.cast("B") if buffer.nbytes else memoryview(b"")
