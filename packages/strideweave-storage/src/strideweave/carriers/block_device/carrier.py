"""BlockDeviceCarrier: Float32 slots in one extent of a BlockDevice, for storage only."""

from collections.abc import Callable, Iterable
from operator import index as as_index
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, final

from strideweave.carriers.base import Carrier
from strideweave.carriers.block_device.extents import Lease
from strideweave.carriers.block_device.transfers import Bytes, byte_view
from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.class_record import class_record
from strideweave.carriers.closed import reject_carrier_subclass
from strideweave.carriers.move.registry import close_pairs
from strideweave.carriers.normalization import normalize_float32
from strideweave.carriers.packing import packed
from strideweave.dtype import DType
from strideweave.dtype.storage import accepts_storage_dtype, validate_storage_dtype
from strideweave.operation.operation import Operation

if TYPE_CHECKING:
    from strideweave.carriers.block_device.device import BlockDevice

ACCEPTED_DTYPES: Final = (DType.Float32,)
SLOT_BYTES: Final = 4


@final
class BlockDeviceCarrier(Carrier):
    """A carrier whose slots lie in one extent of an open block device.

    ``BlockDevice.allocate`` makes it, as do the factories of another one. It stores Float32 in
    host byte order and computes nothing; Tensors move and copy between it and CPU, and nowhere
    else. It keeps its device alive and open.

    A write advances the version when the transfer starts. A transfer that fails leaves unknown
    bytes behind, so it faults the whole device: from then on nothing is read or written.

    Raises:
        TypeError: Always, when it is called.

    Examples:
        >>> from strideweave import BlockDevice
        >>> with BlockDevice("/dev/loop0") as device:  # doctest: +SKIP
        ...     carrier = device.allocate(1024)
        ...     carrier[3] = 1.5
        ...     print(carrier[3], carrier.device_offset_bytes, carrier.extent_bytes)
        ...     del carrier
        1.5 0 4096
    """

    __slots__ = ("_device", "_lease", "_mutable", "_slots")

    _device: "BlockDevice"
    _lease: Lease
    _mutable: bool
    _slots: int

    def __init__(self, *arguments: object, **keywords: object) -> None:
        raise TypeError(
            "BlockDeviceCarrier is not called: BlockDevice.allocate(size) makes one inside an open "
            "device"
        )

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    @classmethod
    def _adopt(
        cls, device: "BlockDevice", lease: Lease, slots: int, mutable: bool
    ) -> "BlockDeviceCarrier":
        """Make the carrier of an extent."""
        carrier: BlockDeviceCarrier = object.__new__(cls)
        carrier._initialize_definition_free(_RECORD)
        carrier._device = device
        carrier._lease = lease
        carrier._slots = slots
        carrier._mutable = mutable
        return carrier

    @property
    def device(self) -> "BlockDevice":
        """The device; also after release."""
        return self._device

    @property
    def device_offset_bytes(self) -> int:
        """Where the extent starts on the device; 0 without slots and after release."""
        return self._lease.start if self._lease.is_live else 0

    @property
    def extent_bytes(self) -> int:
        """The padded length of the extent; 0 without slots and after release."""
        return self._lease.extent_bytes if self._lease.is_live else 0

    def size(self) -> int:
        """Count the live slots.

        Returns:
            The count; 0 after release.
        """
        return self._slots if self._lease.is_live else 0

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            ``DType.Float32``.
        """
        return DType.Float32

    def get_value(self, index: SupportsIndex) -> float:
        """Read one slot.

        Args:
            index: The slot, from 0; negative indices are out of range.

        Returns:
            The stored value as a Python ``float``.

        Raises:
            TypeError: The index is not an integer.
            RuntimeError: The carrier is released, the device closed or faulted, the process
                forked, or the device ends early.
            IndexError: The index is out of range.
            OSError: The device cannot be read; it is faulted now.
        """
        slot = _slot(index)
        image: Bytes = memoryview(bytearray(SLOT_BYTES))
        self._device._arena.exclusively(self._read_bytes, slot, image, None)
        value: float = image.cast("f")[0]
        return value

    def __getitem__(self, index: SupportsIndex) -> float:
        return self.get_value(index)

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        """Write one slot, which advances the version by one before the transfer starts.

        The system may keep the value for a while; a device that refuses it then is reported by
        the next bulk write, ``BlockDevice.flush`` or ``BlockDevice.close``.

        Args:
            index: The slot, from 0; negative indices are out of range.
            value: A real number, rounded to binary32.

        Raises:
            TypeError: The index is not an integer, or the value no real number.
            RuntimeError: The carrier is released, immutable or owned by somebody else, the device
                closed or faulted, the process forked, or the device ends early.
            IndexError: The index is out of range.
            OverflowError: The value is an integer beyond the range of binary64.
            OSError: The device cannot be written; it is faulted now.
        """
        slot = _slot(index)
        self._check_writable(slot, 1)
        image = memoryview(bytearray(SLOT_BYTES))
        image.cast("f")[0] = normalize_float32(value)
        arena = self._device._arena
        arena.exclusively(self._write_bytes, slot, image, arena.write_later)

    def __setitem__(self, index: SupportsIndex, value: Any) -> None:
        self.set_value(index, value)

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "BlockDeviceCarrier":
        """Store values in a fresh carrier on the same device; works on a released one too.

        Args:
            values: One value per slot, iterated once; None becomes zero. A one-dimensional array
                of binary32 is written as it is.
            mutable: Whether the new carrier can be written.
            dtype: ``DType.Float32`` or None.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``mutable`` is no bool, ``dtype`` no DType, or ``values`` not iterable, or
                it holds something else than real numbers.
            ValueError: ``dtype`` is not Float32.
            OverflowError: An integer is beyond the range of binary64.
            RuntimeError: The device is closed or faulted, or the process forked.
            MemoryError: The device has no room.
            OSError: The device cannot be written; it is faulted now.
        """
        check_flags("new_like", mutable, DType.Float32 if dtype is None else dtype)
        image = byte_view(packed(values, DType.Float32, carrier="BlockDeviceCarrier"))
        return self._device._carrier_of(len(image) // SLOT_BYTES, [image], mutable)

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "BlockDeviceCarrier":
        """Reserve a fresh carrier on the same device; works on a released one too.

        Args:
            size: Slot count, at least 0.
            mutable: Whether the new carrier can be written.
            dtype: ``DType.Float32`` or None.
            empty: Leave whatever bytes the device holds instead of writing zeros.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, ``dtype`` no DType, or a flag no bool.
            ValueError: ``size`` is negative, or ``dtype`` not Float32.
            OverflowError: The extent is longer than positions can say.
            RuntimeError: The device is closed or faulted, or the process forked.
            MemoryError: The device has no room.
            OSError: The device cannot be written; it is faulted now.
        """
        storage_dtype = DType.Float32 if dtype is None else dtype
        return self._device.allocate(size, mutable=mutable, dtype=storage_dtype, empty=empty)

    def _is_mutable(self) -> bool:
        return self._mutable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return accepts_storage_dtype(dtype, ACCEPTED_DTYPES)

    def _release(self) -> None:
        self._device._arena.retire(self._lease)

    def _dispatch_op(self, operation_name: str) -> Operation:
        raise NotImplementedError(
            f"BlockDeviceCarrier only stores values and does not execute {operation_name!r}: move "
            "or copy the Tensor to a CPU carrier first"
        )

    def _copies_arrays(self) -> bool:
        return True

    def _read_span(self, start: int, out: "memoryview[Any]") -> object:
        if not self._lease.is_live:
            return NotImplemented
        self._read_announced(start, out, None)
        return None

    def _read_announced(
        self, start: int, out: "memoryview[Any]", announce: Callable[[], None] | None
    ) -> None:
        """Fill a buffer with the slots from ``start``, in one bulk transfer.

        Args:
            start: The first slot.
            out: One item per slot.
            announce: Called when all checks have passed, immediately before the first byte.
        """
        self._device._arena.exclusively(self._read_bytes, start, byte_view(out), announce)

    def _write_span(self, start: int, values: "memoryview[Any]") -> object:
        """Store values in one bulk transfer, which advances the version when it starts."""
        if not self._lease.is_live:
            return NotImplemented
        arena = self._device._arena
        arena.exclusively(self._write_bytes, start, byte_view(values), arena.write)
        return None

    def _read_bytes(self, start: int, out: Bytes, announce: Callable[[], None] | None) -> None:
        """Read under the device's lock."""
        self._check_usable("read")
        self._check_range(start, len(out) // SLOT_BYTES)
        if announce is not None:
            announce()
        self._device._arena.read(self._position(start), out)

    def _write_bytes(
        self, start: int, values: Bytes, transfer: Callable[[int, Bytes], None]
    ) -> None:
        """Write under the device's lock."""
        self._check_writable(start, len(values) // SLOT_BYTES)
        self._increment_version()
        transfer(self._position(start), values)

    def _check_writable(self, start: int, count: int) -> None:
        self._check_usable("written")
        if not self.is_mutable():
            self._refuse_immutable()
        self._check_range(start, count)

    def _check_usable(self, action: str) -> None:
        if not self._lease.is_live:
            self._refuse_released(action)
        self._device._arena.require_usable()

    def _check_range(self, start: int, count: int) -> None:
        if start < 0 or start + count > self._slots:
            self._refuse_range(start)

    def _position(self, slot: int) -> int:
        return self._lease.start + slot * SLOT_BYTES


register_operation_capabilities(BlockDeviceCarrier, ())
close_pairs(BlockDeviceCarrier)

_RECORD: Final = class_record(BlockDeviceCarrier)


def check_flags(function: str, mutable: object, dtype: DType) -> None:
    """Check what an allocation is told about its result.

    Raises:
        TypeError: ``mutable`` is not exactly a bool, or ``dtype`` no DType.
        ValueError: ``dtype`` is not Float32.
    """
    if type(mutable) is not bool:
        raise TypeError(
            f"{function}: mutable must be True or False, got {mutable!r} "
            f"({type(mutable).__qualname__})"
        )
    validate_storage_dtype(dtype, carrier="BlockDeviceCarrier", accepted=ACCEPTED_DTYPES)


def _slot(index: SupportsIndex) -> int:
    try:
        return as_index(index)
    except TypeError as error:
        raise TypeError(
            f"a slot index must be an integer, got {index!r} ({type(index).__qualname__})"
        ) from error
