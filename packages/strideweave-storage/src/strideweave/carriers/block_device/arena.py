"""The state of one open device behind its lock: health, extents, and the carriers that exist."""

import os
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock
from typing import ParamSpec, TypeVar, final

from strideweave.carriers.block_device.extents import FreeRanges, Lease
from strideweave.carriers.block_device.geometry import MOST_BYTES, Geometry
from strideweave.carriers.block_device.opening import OpenNode
from strideweave.carriers.block_device.transfers import Bytes, Channel

P = ParamSpec("P")
T = TypeVar("T")


@final
class Arena:
    """One device's extents and transfers; one lock orders everything.

    Caller code never runs under the lock, except in finalizers and signal handlers, which Python
    may run anywhere. Ours only append to a queue that the next locked section empties. A foreign
    one that uses the device while its own thread is inside is refused, as it would see, or
    change, a half-done step; only a release is let through, to take effect later.

    A process forked from the one that opened the device can use nothing here.

    Args:
        node: The open node, which belongs to the arena from now on.
    """

    __slots__ = (
        "__weakref__",
        "_channel",
        "_closer",
        "_free",
        "_is_entered",
        "_leases",
        "_lock",
        "_process",
        "_retired",
        "geometry",
        "is_closed",
        "is_faulted",
        "path",
    )

    def __init__(self, node: OpenNode) -> None:
        self.path = node.path
        self.geometry: Geometry = node.geometry
        self.is_closed = False
        self.is_faulted = False
        self._channel = Channel(node)
        usable_bytes = node.geometry.capacity_bytes // self.alignment * self.alignment
        self._free = FreeRanges(usable_bytes)
        self._leases: set[Lease] = set()  # of the carrier objects that exist
        self._retired: deque[Lease] = deque()
        self._lock = RLock()
        self._is_entered = False
        self._process = os.getpid()
        self._closer = weakref.finalize(self, _close_forgotten, self._channel, self._process)
        self._closer.atexit = False

    @property
    def alignment(self) -> int:
        """What starts and lengths of extents are multiples of."""
        return self.geometry.alignment

    @property
    def is_direct(self) -> bool:
        """Whether whole blocks go around the page cache."""
        return self._channel.is_direct

    def exclusively(self, action: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Call something under the lock, after the extents of collected carriers are freed.

        Raises:
            RuntimeError: The process was forked, or the thread is inside already.

        What the action raises propagates after the lock is left.
        """
        self.require_own_process()
        with self._lock:
            if self._is_entered:
                raise RuntimeError(
                    f"{self.name} is in use by this very thread: a finalizer or signal handler "
                    "interrupted a call and cannot use the device meanwhile"
                )
            try:
                self._is_entered = True
                self._free_retired()
                return action(*arguments, **keywords)
            finally:
                self._is_entered = False

    @property
    def name(self) -> str:
        """The device, for messages."""
        return f"BlockDevice({self.path!r})"

    def require_own_process(self) -> None:
        """Refuse a forked child.

        Raises:
            RuntimeError: Another process opened the device.
        """
        if os.getpid() != self._process:
            raise RuntimeError(
                f"{self.name} belongs to the process {self._process}, from which this one was "
                "forked; open the device again here"
            )

    def require_usable(self) -> None:
        """Refuse a device that transfers nothing any more.

        Raises:
            RuntimeError: The process was forked, or the device is closed or faulted.
        """
        self.require_own_process()
        if self.is_closed:
            raise RuntimeError(f"{self.name} is closed; open another one")
        if self.is_faulted:
            raise RuntimeError(
                f"{self.name} is faulted: a transfer failed and what it left behind is unknown; "
                "release its carriers, close it and open the device again"
            )

    def padded(self, payload_bytes: int) -> int:
        """Give the length of the extent for a payload.

        Raises:
            OverflowError: Positions cannot say it.
        """
        extent_bytes = -(-payload_bytes // self.alignment) * self.alignment
        if extent_bytes > MOST_BYTES:
            raise OverflowError(
                f"an extent of {extent_bytes} bytes is too long: positions end at 2**63 - 1"
            )
        return extent_bytes

    # Under the lock

    def attach(self, lease: Lease, carrier: object) -> None:
        """Bind a lease to the life of its carrier object."""
        self._leases.add(lease)
        finalizer = weakref.finalize(carrier, _forget_carrier, lease, self._retired)
        finalizer.atexit = False

    def reserve(self, lease: Lease, extent_bytes: int, contents: Sequence[Bytes]) -> None:
        """Reserve an extent and write what it holds at first.

        After a failure the extent is free again as soon as the carrier object has gone.

        Args:
            lease: An attached one, without extent so far.
            extent_bytes: A padded length.
            contents: What to write from the start of the extent; may be empty.

        Raises:
            RuntimeError: The device is closed or faulted, or took only a part of the contents.
            MemoryError: No free range is long enough; nothing was written.
            OSError: The device does not take the contents.
        """
        self.require_usable()
        if extent_bytes:
            start = self._free.take(extent_bytes)
            if start is None:
                raise MemoryError(
                    f"{self.name} has no aligned extent of {extent_bytes} bytes left; release "
                    "carriers, or use a larger device"
                )
            lease.hold(start, extent_bytes)
        if contents:
            self._faulting(self._channel.write, lease.start, contents, "initialization")

    def read(self, position: int, out: Bytes) -> None:
        """Fill a buffer from a range that lies in one live extent; a failure faults the device."""
        if out:
            self._faulting(self._channel.read, position, out)

    def write(self, position: int, values: Bytes) -> None:
        """Store a buffer and wait for the device; a failure faults the device."""
        if values:
            self._faulting(self._channel.write, position, [values])

    def write_later(self, position: int, value: Bytes) -> None:
        """Store a buffer without waiting for the device; a failure faults the device."""
        self._faulting(self._channel.write_later, position, value)

    def _faulting(
        self, transfer: Callable[P, None], *arguments: P.args, **keywords: P.kwargs
    ) -> None:
        try:
            transfer(*arguments, **keywords)
        except BaseException:
            self.is_faulted = True
            raise

    def _free_retired(self) -> None:
        while self._retired:
            lease = self._retired.popleft()
            self._free_range(lease)
            if not lease.has_carrier:
                self._leases.discard(lease)

    def _free_range(self, lease: Lease) -> None:
        lease.is_live = False
        if lease.is_reserved:
            lease.is_reserved = False
            self._free.give_back(lease.start, lease.extent_bytes)

    # Whole operations

    def retire(self, lease: Lease) -> None:
        """Free a carrier's extent, once, after the transfer that may be running.

        Raises:
            RuntimeError: The process was forked.
        """
        self.require_own_process()
        with self._lock:
            lease.is_live = False
            self._retired.append(lease)
            if self._is_entered:
                return  # called from a finalizer inside a locked section: the next one frees it
            self.exclusively(_nothing)

    def flush(self) -> None:
        """Wait until everything that was written is stored.

        Raises:
            RuntimeError: The device is closed or faulted.
            OSError: The device lost something, and is faulted now.
        """
        self.exclusively(self._flush)

    def _flush(self) -> None:
        self.require_usable()
        self._faulting(self._channel.flush)

    def close(self) -> None:
        """Close the device, unless it is closed.

        Raises:
            RuntimeError: A carrier object exists.
            OSError: Scalar writes were lost, or the system reported a failure; the device is
                closed even so.
        """
        self.exclusively(self._close)

    def _close(self) -> None:
        if self.is_closed:
            return
        if self._leases:
            raise RuntimeError(
                f"{self.name} cannot be closed: a Carrier object exists ({len(self._leases)} of "
                "them, released ones included); drop every reference to its carriers and Tensors, "
                "also those of autograd graphs, then close it again"
            )
        try:
            self.is_closed = True
            self._closer.detach()
            if self._channel.has_unsynced_writes and not self.is_faulted:
                self._faulting(self._channel.flush)
        finally:
            self._channel.close()


def _forget_carrier(lease: Lease, retired: "deque[Lease]") -> None:
    lease.has_carrier = False
    retired.append(lease)


def _close_forgotten(channel: Channel, process: int) -> None:
    if os.getpid() == process:
        with suppress(OSError):
            channel.close()


def _nothing() -> None: ...
