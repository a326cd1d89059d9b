"""The system calls of the data path, and nothing else: one place to count them or to script them.

Callers use the attributes of this module at call time, so a replaced function takes effect at once.
"""

import errno
import os
import platform
from typing import Final

try:
    import fcntl
except ModuleNotFoundError:  # BlockDevice refuses to be opened there
    fcntl = None  # type: ignore[assignment]

_F_FULLFSYNC: Final = 51
_NO_FULL_SYNC: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOTTY})
_HAS_VECTORS: Final = hasattr(os, "preadv")
_synchronize_data: Final = os.fdatasync if hasattr(os, "fdatasync") else os.fsync


def _pread_into(descriptor: int, view: "memoryview[int]", offset: int) -> int:
    """Read bytes from an offset into a buffer, and give their count."""
    if _HAS_VECTORS:
        return os.preadv(descriptor, [view], offset)
    found = os.pread(descriptor, len(view), offset)
    view[: len(found)] = found
    return len(found)


def _pwrite_from(descriptor: int, view: "memoryview[int]", offset: int) -> int:
    """Write the bytes of a buffer at an offset, and give the count of those taken."""
    if _HAS_VECTORS:
        return os.pwritev(descriptor, [view], offset)
    return os.pwrite(descriptor, view, offset)


def _fdatasync(descriptor: int) -> None:
    """Wait until the device has taken the bytes written through a descriptor."""
    _synchronize_data(descriptor)


def _fsync(descriptor: int) -> None:
    """Wait until the device has stored everything, its own cache included where it can tell."""
    if platform.system() == "Darwin":
        try:
            fcntl.fcntl(descriptor, _F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in _NO_FULL_SYNC:
                raise
    os.fsync(descriptor)


def _close(descriptor: int) -> None:
    os.close(descriptor)
