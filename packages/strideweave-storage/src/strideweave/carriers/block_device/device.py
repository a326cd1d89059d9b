"""BlockDevice: a process-local arena over one block-special node."""

from collections.abc import Sequence
from operator import index as as_index
from os import PathLike
from types import TracebackType
from typing import Literal, NoReturn, SupportsIndex, final

from strideweave.carriers.block_device.arena import Arena
from strideweave.carriers.block_device.carrier import (
    SLOT_BYTES,
    BlockDeviceCarrier,
    check_flags,
)
from strideweave.carriers.block_device.extents import Lease
from strideweave.carriers.block_device.geometry import MOST_BYTES
from strideweave.carriers.block_device.opening import OpenNode, checked_path, open_node
from strideweave.carriers.block_device.transfers import Bytes, zeros
from strideweave.dtype import DType


@final
class BlockDevice:
    """An open block device whose extents are carriers.

    Opening writes nothing. The bytes of the device are overwritten where carriers are allocated,
    from position 0 on, whatever they held: give it a device that nothing else uses. Only the
    carriers of one BlockDevice object are kept apart from each other, so a process shares the
    object instead of opening the node twice.

    All calls may come from any thread; one lock orders those on one device. After a failed
    transfer the device is *faulted*: what the transfer left is unknown, so nothing is read,
    written or allocated any more, and only release, queries and ``close`` still work. In a process
    forked from the one that opened the device every operation is refused.

    Args:
        path: The block-special node, such as ``/dev/loop0``; kept verbatim.
        direct: Whether bulk transfers of whole blocks go around the page cache: None where the
            system allows it, True or an error, False never. The bytes are the same.

    Raises:
        TypeError: ``path`` is no path or one of bytes, or ``direct`` no bool.
        ValueError: ``path`` holds a NUL, names no block-special node, or one with senseless sizes.
        NotImplementedError: The system is neither Linux nor macOS.
        OSError: The node cannot be opened, examined or written, or not directly although required.
        OverflowError: The node holds more than 2**63 - 1 bytes.

    Examples:
        >>> import strideweave as sw
        >>> with sw.BlockDevice("/dev/loop0") as device, sw.no_grad():  # doctest: +SKIP
        ...     stored = sw.move(tensor, device.allocate(tensor.layout.cosize))
        ...     loaded = sw.move(stored, sw.CPU(tensor.layout.cosize))
        ...     del stored
    """

    __slots__ = ("__weakref__", "_arena")

    def __init__(self, path: "str | PathLike[str]", *, direct: bool | None = None) -> None:
        found = checked_path(path)
        if direct is not None and type(direct) is not bool:
            raise TypeError(
                f"BlockDevice: direct must be True, False or None, got {direct!r} "
                f"({type(direct).__qualname__})"
            )
        self._arena = Arena(open_node(found, direct))

    @classmethod
    def _adopt(cls, node: OpenNode) -> "BlockDevice":
        """Take over an open node, for tests also an ordinary file."""
        device: BlockDevice = object.__new__(cls)
        device._arena = Arena(node)
        return device

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            f"{self._arena.name} is an open device and cannot be copied or pickled; share the "
            "object inside this process, or open the device again in another one"
        )

    def __repr__(self) -> str:
        state = "closed" if self.is_closed() else "faulted" if self.is_faulted() else "open"
        return f"<BlockDevice {self.path!r} of {self.capacity_bytes} bytes, {state}>"

    @property
    def path(self) -> str:
        """The path, as it was given."""
        return self._arena.path

    @property
    def capacity_bytes(self) -> int:
        """How many bytes the device held when it was opened."""
        return self._arena.geometry.capacity_bytes

    @property
    def logical_block_size(self) -> int:
        """The unit in bytes in which direct transfers address the device."""
        return self._arena.geometry.logical_block_size

    @property
    def physical_block_size(self) -> int:
        """The unit in bytes in which the device stores."""
        return self._arena.geometry.physical_block_size

    @property
    def allocation_alignment(self) -> int:
        """What starts and lengths of extents are multiples of, in bytes."""
        return self._arena.alignment

    @property
    def direct_io(self) -> bool:
        """Whether bulk transfers go around the page cache."""
        return self._arena.is_direct

    def is_closed(self) -> bool:
        """Tell whether the device was closed.

        Returns:
            True after a ``close`` that found no carrier.
        """
        return self._arena.is_closed

    def is_faulted(self) -> bool:
        """Tell whether a transfer failed.

        Returns:
            True from then on, for good.
        """
        return self._arena.is_faulted

    def allocate(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType = DType.Float32,
        empty: bool = False,
    ) -> BlockDeviceCarrier:
        """Reserve the lowest free extent that is long enough.

        Args:
            size: Slot count, at least 0, and fixed from now on; 0 reserves nothing.
            mutable: Whether the carrier can be written.
            dtype: ``DType.Float32``.
            empty: Leave whatever bytes the device holds instead of writing zeros.

        Returns:
            A fresh carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, ``dtype`` no DType, or a flag no bool.
            ValueError: ``size`` is negative, or ``dtype`` not Float32.
            OverflowError: The extent is longer than positions can say.
            RuntimeError: The device is closed or faulted, the process forked, or the device took
                only a part of the zeros.
            MemoryError: No free extent is long enough; nothing was written.
            OSError: The device does not take the zeros; it is faulted now.
        """
        slots = _checked_slots(size)
        check_flags("BlockDevice.allocate", mutable, dtype)
        if type(empty) is not bool:
            raise TypeError(
                f"BlockDevice.allocate: empty must be True or False, got {empty!r} "
                f"({type(empty).__qualname__})"
            )
        extent_bytes = self._arena.padded(slots * SLOT_BYTES)
        # Room is looked for under the lock, but so many zeros need not be prepared.
        fits = extent_bytes <= self.capacity_bytes
        contents = [] if empty or not fits else zeros(slots * SLOT_BYTES)
        return self._carrier_of(slots, contents, mutable)

    def flush(self) -> None:
        """Wait until everything that was written is stored.

        Raises:
            RuntimeError: The device is closed or faulted, or the process forked.
            OSError: The device lost something; it is faulted now.
        """
        self._arena.flush()

    def close(self) -> None:
        """Close the device; values that were written one by one are stored first.

        No carrier of the device may exist: released ones still are factories, and those that
        Tensors and autograd graphs hold count too.
        Closing again does nothing.

        Raises:
            RuntimeError: A carrier exists, and the device stays open; or the process was forked.
            OSError: Values were lost, or the system reported a failure; the device is closed even
                so.
        """
        self._arena.close()

    def __enter__(self) -> "BlockDevice":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> Literal[False]:
        self.close()
        return False

    def _carrier_of(
        self, slots: int, contents: Sequence[Bytes], mutable: bool
    ) -> BlockDeviceCarrier:
        """Make a carrier whose payload begins with some bytes."""
        return self._arena.exclusively(self._reserve, slots, contents, mutable)

    def _reserve(self, slots: int, contents: Sequence[Bytes], mutable: bool) -> BlockDeviceCarrier:
        arena, lease = self._arena, Lease()
        carrier = BlockDeviceCarrier._adopt(self, lease, slots, mutable)
        arena.attach(lease, carrier)
        try:
            arena.reserve(lease, arena.padded(slots * SLOT_BYTES), contents)
        except BaseException:
            del carrier  # the traceback would keep it, and with it the extent
            raise
        return carrier


def _checked_slots(size: SupportsIndex) -> int:
    try:
        slots = as_index(size)
    except TypeError as error:
        raise TypeError(
            f"BlockDevice.allocate: size must be an integer, got {size!r} "
            f"({type(size).__qualname__})"
        ) from error
    if slots < 0:
        raise ValueError(f"BlockDevice.allocate: size must be at least 0, got {slots}")
    if slots * SLOT_BYTES > MOST_BYTES:
        raise OverflowError(
            f"BlockDevice.allocate: {slots} slots take more than the 2**63 - 1 bytes that "
            "positions can say"
        )
    return slots
