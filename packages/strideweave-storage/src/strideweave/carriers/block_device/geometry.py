"""What an open block-special node says about itself."""

import errno
import os
import platform
import stat
import sys
from typing import Final, final

from strideweave._record import record

try:
    import fcntl
except ModuleNotFoundError:  # BlockDevice refuses to be opened there
    fcntl = None  # type: ignore[assignment]

MOST_BYTES: Final = 2**63 - 1
"""The largest position that system calls take."""

# linux/fs.h
_BLKROGET: Final = 0x125E
_BLKGETSIZE64: Final = 0x80081272
_BLKSSZGET: Final = 0x1268
_BLKPBSZGET: Final = 0x127B
# sys/disk.h of macOS
_DKIOCGETBLOCKSIZE: Final = 0x40046418
_DKIOCGETBLOCKCOUNT: Final = 0x40086419
_DKIOCGETPHYSICALBLOCKSIZE: Final = 0x4004644D


@final
@record
class Geometry:
    """The sizes of one device, frozen when it was opened.

    Attributes:
        capacity_bytes: How many bytes it holds.
        logical_block_size: The unit in which direct transfers address it.
        physical_block_size: The unit in which it stores.
    """

    capacity_bytes: int
    logical_block_size: int
    physical_block_size: int

    @property
    def alignment(self) -> int:
        """What starts and lengths of extents are multiples of."""
        return max(self.logical_block_size, self.physical_block_size)


def require_supported_system() -> None:
    """Refuse a system whose geometry calls are unknown.

    Raises:
        NotImplementedError: It is neither Linux nor macOS.
    """
    if platform.system() not in ("Linux", "Darwin"):
        raise NotImplementedError(
            f"BlockDevice needs Linux or macOS, and this system is {platform.system()!r}; use "
            "FileBacked or CPU"
        )


def block_geometry(descriptor: int, path: str) -> Geometry:
    """Examine what a descriptor is open on.

    Args:
        descriptor: Open for reading and writing.
        path: The node's path, for messages.

    Returns:
        The sizes, checked.

    Raises:
        ValueError: It is no block-special node, or its sizes make no sense.
        OSError: It does not tell its sizes, or cannot be written.
        OverflowError: It is larger than positions can say.
    """
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISBLK(mode):
        raise not_block_special(path, f"it is {_KINDS.get(stat.S_IFMT(mode), 'something else')}")
    try:
        geometry = _macos(descriptor) if platform.system() == "Darwin" else _linux(descriptor)
    except OSError as error:
        error.filename = path
        raise
    _check(geometry, path)
    return geometry


_KINDS: Final = {
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a character node",
    stat.S_IFIFO: "a FIFO",
}


def not_block_special(path: str, finding: str) -> ValueError:
    """Word the refusal of another kind of node."""
    return ValueError(
        f"BlockDevice needs a block-special node, such as /dev/loop0 or /dev/disk4, and {path!r} "
        f"is none: {finding}"
    )


def _linux(descriptor: int) -> Geometry:
    capacity = _unsigned(descriptor, _BLKGETSIZE64, 8)
    # An int in the kernel's interface: 0 and negative values are refused later.
    logical = _signed(descriptor, _BLKSSZGET)
    physical = _unsigned(descriptor, _BLKPBSZGET, 4)
    # Opening it for writing succeeds even so, and only the writes would fail.
    if _signed(descriptor, _BLKROGET):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))
    return Geometry(capacity, logical, physical)


def _macos(descriptor: int) -> Geometry:
    logical = _unsigned(descriptor, _DKIOCGETBLOCKSIZE, 4)
    count = _unsigned(descriptor, _DKIOCGETBLOCKCOUNT, 8)
    physical = _unsigned(descriptor, _DKIOCGETPHYSICALBLOCKSIZE, 4)
    return Geometry(count * logical, logical, physical)


def _unsigned(descriptor: int, request: int, width: int) -> int:
    return int.from_bytes(fcntl.ioctl(descriptor, request, bytes(width)), sys.byteorder)


def _signed(descriptor: int, request: int) -> int:
    answer = fcntl.ioctl(descriptor, request, bytes(4))
    return int.from_bytes(answer, sys.byteorder, signed=True)


def _check(geometry: Geometry, path: str) -> None:
    capacity, logical = geometry.capacity_bytes, geometry.logical_block_size
    physical = geometry.physical_block_size
    if min(capacity, logical, physical) <= 0 or capacity % logical or physical % logical:
        raise ValueError(
            f"{path!r} reports {capacity} bytes in logical blocks of {logical} and physical blocks "
            f"of {physical} bytes; all must be positive, and the other two multiples of the "
            "logical size"
        )
    if capacity > MOST_BYTES:
        raise OverflowError(f"{path!r} reports {capacity} bytes, and positions end at 2**63 - 1")
