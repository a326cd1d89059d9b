"""From the arguments of ``BlockDevice`` to open, examined descriptors."""

import errno
import mmap
import os
import platform
import stat
from contextlib import suppress
from os import PathLike
from typing import Final, final

from strideweave._record import record
from strideweave.carriers.block_device import system
from strideweave.carriers.block_device.geometry import (
    Geometry,
    block_geometry,
    not_block_special,
    require_supported_system,
)

try:
    import fcntl
except ModuleNotFoundError:  # BlockDevice refuses to be opened there
    fcntl = None  # type: ignore[assignment]

_F_NOCACHE: Final = 48


@final
@record
class OpenNode:
    """One block-special node, open once or twice.

    Attributes:
        path: As the caller gave it.
        descriptor: Goes through the page cache.
        direct_descriptor: Goes around it; None where that is not wanted or not possible.
        geometry: What the node said.
    """

    path: str
    descriptor: int
    direct_descriptor: int | None
    geometry: Geometry


def checked_path(path: "str | PathLike[str]") -> str:
    """Obtain the path, once and verbatim.

    Raises:
        TypeError: It is no path, or one of bytes.
        ValueError: It holds a NUL.
    """
    found = os.fspath(path)
    if not isinstance(found, str):
        raise TypeError(
            f"BlockDevice needs a string filesystem representation of the path, got {found!r}"
        )
    if "\0" in found:
        raise ValueError(f"BlockDevice: the path {found!r} has an embedded NUL")
    return found


def open_node(path: str, direct: bool | None) -> OpenNode:
    """Open a node and examine it; what fails leaves no descriptor open, and nothing is written.

    Args:
        path: The node.
        direct: Whether to open it a second time around the page cache: True requires that, None
            tries it.

    Returns:
        The open node.

    Raises:
        NotImplementedError: The system is neither Linux nor macOS.
        ValueError: The path names no block-special node, or one with senseless sizes.
        OSError: It cannot be opened, examined or written, or not directly although required.
        OverflowError: It is larger than positions can say.
    """
    require_supported_system()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except IsADirectoryError:
        raise not_block_special(path, "it is a directory") from None
    try:
        geometry = block_geometry(descriptor, path)
        direct_descriptor = None
        if direct is not False:
            direct_descriptor = _open_direct(path, descriptor, geometry, is_required=direct is True)
    except BaseException:
        system._close(descriptor)
        raise
    return OpenNode(path, descriptor, direct_descriptor, geometry)


def _open_direct(
    path: str, descriptor: int, geometry: Geometry, *, is_required: bool
) -> int | None:
    try:
        return _direct_descriptor(path, descriptor, geometry.logical_block_size)
    except OSError as error:
        if is_required:
            error.filename = path
            raise
        return None


def _direct_descriptor(path: str, descriptor: int, block_bytes: int) -> int:
    is_macos = platform.system() == "Darwin"
    flags = 0 if is_macos else os.O_DIRECT
    direct = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags)
    try:
        if is_macos:
            fcntl.fcntl(direct, _F_NOCACHE, 1)
        _require_same_node(descriptor, direct)
        _probe(direct, block_bytes)
    except BaseException:
        with suppress(OSError):
            system._close(direct)
        raise
    return direct


def _require_same_node(descriptor: int, direct: int) -> None:
    first, second = os.fstat(descriptor), os.fstat(direct)
    if not stat.S_ISBLK(second.st_mode) or first.st_rdev != second.st_rdev:
        raise OSError(errno.ESTALE, "the path has come to name another node while it was opened")


def _probe(direct: int, block_bytes: int) -> None:
    with mmap.mmap(-1, block_bytes) as page, memoryview(page) as view:
        count = system._pread_into(direct, view, 0)
    if count != block_bytes:
        raise OSError(errno.EIO, f"a direct read of {block_bytes} bytes gave {count}")
