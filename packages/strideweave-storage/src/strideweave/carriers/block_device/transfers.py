"""Complete transfers between memory and an open node, made of system calls that may fall short."""

import errno
import mmap
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, final

import numpy

from strideweave.carriers.block_device import system
from strideweave.carriers.block_device.opening import OpenNode

Bytes: TypeAlias = memoryview
SystemCall: TypeAlias = Callable[[int, Bytes, int], int]

MOST_BYTES_PER_CALL: Final = 2**31 - 4096
# Shorter pieces wait for the device more often than they copy; longer ones leave the caches.
BOUNCE_BYTES: Final = 2**22
ZERO_PIECE_BYTES: Final = 2**26

_REFUSALS: Final = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


@final
class Channel:
    """Moves bytes between memory and one node, around the page cache where it can.

    Whoever calls holds the device's lock and has proven that the range lies on the device. Every
    method either does all it says or raises.

    Args:
        node: The open node, which this channel closes.
    """

    __slots__ = ("_block_bytes", "_bounce", "_node", "has_unsynced_writes", "is_direct")

    def __init__(self, node: OpenNode) -> None:
        self._node = node
        self._block_bytes = node.geometry.logical_block_size
        self._bounce: Bytes | None = None
        self.is_direct = node.direct_descriptor is not None
        self.has_unsynced_writes = False

    def read(self, position: int, out: Bytes) -> None:
        """Fill a buffer with the bytes from a position.

        Raises:
            OSError: The system does not give them.
            RuntimeError: The device ends before.
        """
        self._run(_Transfer(self._node.path, "read", position, len(out)), out)

    def write(self, position: int, pieces: Sequence[Bytes], kind: str = "write") -> None:
        """Store buffers one after the other, and wait until the device has taken them.

        Raises:
            OSError: The device does not take them.
            RuntimeError: The device ends before.
        """
        transfer = _Transfer(self._node.path, kind, position, sum(map(len, pieces)))
        for piece in pieces:
            self._run(transfer, piece)
        if transfer.has_buffered:
            self.has_unsynced_writes = True
            self._synchronize(system._fdatasync)

    def write_later(self, position: int, value: Bytes) -> None:
        """Store a buffer in the page cache; the device may refuse it at the next synchronization.

        Raises:
            OSError: The system does not take it.
            RuntimeError: The device ends before.
        """
        self.has_unsynced_writes = True
        transfer = _Transfer(self._node.path, "write", position, len(value))
        transfer.buffered(self._node.descriptor, value)

    def flush(self) -> None:
        """Wait until everything that was ever written is stored.

        Raises:
            OSError: The device reported a loss, which it does once.
        """
        self._synchronize(system._fsync)

    def close(self) -> None:
        """Close each descriptor once.

        Raises:
            OSError: The system reported a failure; the descriptors are closed even so.
        """
        try:
            if self._node.direct_descriptor is not None:
                system._close(self._node.direct_descriptor)
        except OSError as error:
            error.filename = self._node.path
            raise
        finally:
            self._close_buffered()

    def _close_buffered(self) -> None:
        try:
            system._close(self._node.descriptor)
        except OSError as error:
            error.filename = self._node.path
            raise

    def _synchronize(self, call: Callable[[int], None]) -> None:
        try:
            call(self._node.descriptor)
        except OSError as error:
            error.filename = self._node.path
            raise
        self.has_unsynced_writes = False

    def _run(self, transfer: "_Transfer", view: Bytes) -> None:
        """Transfer a buffer: the whole blocks directly, the rest through the page cache."""
        if self.is_direct:
            head_bytes = min(-transfer.position % self._block_bytes, len(view))
            middle_bytes = (len(view) - head_bytes) // self._block_bytes * self._block_bytes
            if middle_bytes:
                transfer.buffered(self._node.descriptor, view[:head_bytes])
                middle = view[head_bytes : head_bytes + middle_bytes]
                view = view[head_bytes + self._run_direct(transfer, middle) :]
        transfer.buffered(self._node.descriptor, view)

    def _run_direct(self, transfer: "_Transfer", middle: Bytes) -> int:
        """Transfer whole blocks until direct transfers do not go on, and count the bytes."""
        in_place_bytes = self._in_place_bytes(transfer, middle)
        done = 0
        while done < len(middle):
            try:
                if done < in_place_bytes:
                    count = self._step_in_place(transfer, middle[done:in_place_bytes])
                else:
                    count = self._step_bounced(transfer, middle[done:])
            except OSError as error:
                if error.errno not in _REFUSALS:
                    raise
                self.is_direct = False
                break
            done += count
            if count % self._block_bytes:
                break
        return done

    def _in_place_bytes(self, transfer: "_Transfer", middle: Bytes) -> int:
        """Count the bytes, from the first, that need not go through the bounce buffer."""
        address = _address(middle)
        if not transfer.is_read:
            return 0 if address % self._block_bytes else len(middle)
        # Whole pages only: during a fork the system may lose what it reads into a page that
        # another thread writes to.
        unit = max(self._block_bytes, mmap.PAGESIZE)
        return 0 if address % unit else len(middle) // unit * unit

    def _step_in_place(self, transfer: "_Transfer", rest: Bytes) -> int:
        most = MOST_BYTES_PER_CALL // self._block_bytes * self._block_bytes
        return transfer.step(self._node.direct_descriptor, rest[:most])

    def _step_bounced(self, transfer: "_Transfer", rest: Bytes) -> int:
        piece = self._bounce_buffer()[: len(rest)]
        if not transfer.is_read:
            piece[:] = rest[: len(piece)]
        count = transfer.step(self._node.direct_descriptor, piece)
        if transfer.is_read:
            rest[:count] = piece[:count]
        return count

    def _bounce_buffer(self) -> Bytes:
        if self._bounce is None:
            blocks = -(-BOUNCE_BYTES // self._block_bytes)
            self._bounce = memoryview(mmap.mmap(-1, blocks * self._block_bytes))
        return self._bounce


@final
class _Transfer:
    """The system calls over one byte range, in ascending order.

    Args:
        path: The node, for errors.
        kind: ``"read"``, ``"write"`` or ``"initialization"``.
        start: The first byte.
        total: How many bytes in all.
    """

    __slots__ = ("_call", "_kind", "_path", "_start", "_total", "completed", "has_buffered")

    def __init__(self, path: str, kind: str, start: int, total: int) -> None:
        self._call: SystemCall = system._pread_into if kind == "read" else system._pwrite_from
        self._kind = kind
        self._path = path
        self._start = start
        self._total = total
        self.completed = 0
        self.has_buffered = False

    @property
    def is_read(self) -> bool:
        return self._kind == "read"

    @property
    def position(self) -> int:
        """Where the next byte is."""
        return self._start + self.completed

    def buffered(self, descriptor: int, view: Bytes) -> None:
        """Transfer all of a buffer."""
        while view:
            self.has_buffered = True
            view = view[self.step(descriptor, view[:MOST_BYTES_PER_CALL]) :]

    def step(self, descriptor: int | None, view: Bytes) -> int:
        """Make one call, and count what it moved: at least one byte."""
        assert descriptor is not None  # direct calls are made on direct channels only
        while True:
            try:
                count = self._call(descriptor, view, self.position)
                break
            except InterruptedError:
                continue
            except OSError as error:
                error.filename = self._path
                raise
        if count == 0:
            raise RuntimeError(
                f"incomplete block-device {self._kind}: completed {self.completed} of "
                f"{self._total} bytes"
            )
        self.completed += count
        return count


def zeros(length: int) -> list[Bytes]:
    """Give as many zeros as wanted, in pieces that share untouched memory."""
    if not length:
        return []
    private = mmap.MAP_PRIVATE | mmap.MAP_ANON
    piece_bytes = min(length, ZERO_PIECE_BYTES)
    piece = memoryview(mmap.mmap(-1, piece_bytes, flags=private, prot=mmap.PROT_READ))
    whole, rest = divmod(length, piece_bytes)
    return [piece] * whole + ([piece[:rest]] if rest else [])


def byte_view(buffer: "memoryview[Any]") -> Bytes:
    """View any contiguous buffer as bytes."""
    # An empty view refuses to be cast.
    return buffer.cast("B") if buffer.nbytes else memoryview(b"")


def _address(view: Bytes) -> int:
    address: int = numpy.frombuffer(view, numpy.uint8).__array_interface__["data"][0]
    return address
