"""Metal: one MLX array, executed by MLX kernels."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext
from operator import index as as_index
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, SupportsIndex, final

import numpy

from strideweave._late import LateModule
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.class_record import class_record
from strideweave.carriers.closed import reject_carrier_subclass
from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, storage_array
from strideweave.carriers.metal import runtime
from strideweave.carriers.metal.capabilities import metal_capabilities
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.dtype import DType
from strideweave.dtype.storage import accepts_storage_dtype, validate_storage_dtype
from strideweave.operation.dispatch import bind_kernel, bind_view
from strideweave.operation.operation import VIEW_OPERATION_NAMES, Operation

if TYPE_CHECKING:
    import strideweave.carriers.metal.kernels as kernels
    import strideweave.carriers.metal.storage as storage
else:
    # Both need MLX, which a construction loads; the kernels also need this module.
    kernels = LateModule("strideweave.carriers.metal.kernels")
    storage = LateModule("strideweave.carriers.metal.storage")

_new = object.__new__

ACCEPTED_DTYPES: Final = (DType.Float32, DType.Int32, DType.Bool)


@final
class Metal(Carrier):
    """A carrier over one MLX array, in the memory of a Metal GPU that the host shares.

    Operations are submitted and run behind the caller; reading a value waits for it. Every write
    makes a new array, so bulk writes are far cheaper than one slot after the other.

    MLX is an optional dependency, ``pip install 'strideweave-compute[metal]'``, and is loaded by
    the first construction. The environment variable ``STRIDEWEAVE_METAL_DEVICE``, read then,
    chooses the device of the process: ``gpu`` (the default), or ``cpu`` for MLX's CPU device, which
    exists on every machine.

    Args:
        size: Slot count, at least 0; they start as zero.
        mutable: Whether values can be written.
        dtype: ``DType.Float32``, ``DType.Int32`` or ``DType.Bool``.
        empty: Accepted for symmetry with CPU; the slots are zero either way.

    Raises:
        TypeError: ``size`` is not an integer, or ``dtype`` no DType.
        ValueError: ``size`` is negative, or Metal does not store ``dtype``.
        RuntimeError: MLX or its device is not there, or cannot allocate that many slots.

    Examples:
        >>> from strideweave import DType, Metal
        >>> carrier = Metal(3, dtype=DType.Int32)
        >>> carrier[0] = 7
        >>> [carrier[slot] for slot in range(3)], carrier.version
        ([7, 0, 0], 1)
    """

    __slots__ = ("_dtype", "_lock", "_mutable", "_slots")

    _dtype: DType
    _lock: Lock  # held while one array is replaced by another
    _mutable: bool
    _slots: "storage.Slots | None"  # None after release

    def __init__(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType = DType.Float32,
        empty: bool = False,
    ) -> None:
        count = _slot_count(size)
        self._dtype = validate_storage_dtype(dtype, carrier="Metal", accepted=ACCEPTED_DTYPES)
        self._mutable = bool(mutable)
        self._lock = Lock()
        self._slots = _allocated(count, self._dtype)
        super().__init__()

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    def size(self) -> int:
        """Count the live slots.

        Returns:
            The count; 0 after release.
        """
        slots = self._slots
        return 0 if slots is None else slots.size

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            The descriptor the carrier was constructed with.
        """
        return self._dtype

    def get_value(self, index: SupportsIndex) -> Any:
        """Read one slot, once it is computed.

        Args:
            index: The slot, from 0; negative indices are out of range.

        Returns:
            The value as a Python ``float``, ``int`` or ``bool``.

        Raises:
            TypeError: The index is not an integer.
            RuntimeError: The carrier is released, or its pending work failed.
            IndexError: The index is out of range.
        """
        slot = self._readable_slot(index)
        return storage.to_host(self._live_slots()).item(slot)

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        """Write one slot, which advances the version by one and copies all others.

        Args:
            index: The slot, from 0; negative indices are out of range.
            value: A value the dtype takes.

        Raises:
            TypeError: The index is not an integer, or the dtype does not take the value.
            RuntimeError: The carrier is released, immutable, or owned by somebody else, or the
                device failed, which changes nothing.
            IndexError: The index is out of range.
            OverflowError: An integer is out of the dtype's range.
        """
        slot = self._writable_slot(index)
        if not 0 <= slot < self.size():
            self._refuse_range(slot)
        written = NORMALIZERS[self._dtype](value)
        self._replace(slot, storage.from_host(numpy.array([written], NUMPY_DTYPES[self._dtype])))
        self._count_write()

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Metal":
        """Build a fresh Metal carrier that holds the values; works on a released one too.

        Args:
            values: One value per slot, iterated once; None becomes zero. A one-dimensional NumPy
                array of the dtype's element type is copied as it is.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the dtype does not take.
            ValueError: Metal does not store ``dtype``.
            OverflowError: An integer is out of the dtype's range.
        """
        fresh_dtype = self._dtype
        if dtype is not None:
            fresh_dtype = validate_storage_dtype(dtype, carrier="Metal", accepted=ACCEPTED_DTYPES)
        slots = storage.from_host(storage_array(values, fresh_dtype, "Metal"))
        carrier = adopted(slots, fresh_dtype)
        carrier._mutable = bool(mutable)
        return carrier

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "Metal":
        """Build a fresh Metal carrier of zeros; works on a released one too.

        Args:
            size: Slot count, at least 0.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Accepted for symmetry with CPU; the slots are zero either way.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, or ``dtype`` no DType.
            ValueError: ``size`` is negative, or Metal does not store ``dtype``.
            OverflowError: That many slots exceed the address space.
            RuntimeError: MLX cannot allocate that many slots.
        """
        fresh_dtype = self._dtype if dtype is None else dtype
        count = _slot_count(size)
        element = NUMPY_DTYPES.get(fresh_dtype)
        if element is not None and count > sys.maxsize // element.itemsize:
            raise OverflowError(f"Metal: {count} slots of {element} exceed the address space")
        return Metal(count, mutable=mutable, dtype=fresh_dtype, empty=empty)

    def _is_mutable(self) -> bool:
        return self._mutable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return accepts_storage_dtype(dtype, ACCEPTED_DTYPES)

    def _release(self) -> None:
        # In a forked child somebody may hold the lock for ever, but nobody can replace anything.
        with nullcontext() if runtime.is_lost() else self._lock:
            self._slots = None

    def _dispatch_op(self, operation_name: str) -> Operation:
        kernel = kernels.KERNELS.get(operation_name)
        if kernel is not None:
            return bind_kernel(operation_name, kernel)
        if operation_name in VIEW_OPERATION_NAMES:
            return bind_view(operation_name)
        raise NotImplementedError(
            f"Metal does not execute {operation_name!r}: it is no operation that Metal has a "
            "kernel for, and no view"
        )

    def _copies_arrays(self) -> bool:
        return True

    def _read_span(self, start: int, out: memoryview) -> object:
        slots = self._slots
        if slots is None:
            return NotImplemented
        numpy.asarray(out)[:] = storage.to_host(slots)[start : start + len(out)]
        return None

    def _write_span(self, start: int, values: memoryview) -> object:
        if self._slots is None:
            return NotImplemented
        if len(values):
            self._replace(start, storage.from_host(numpy.asarray(values)))
        return None

    def _live_slots(self) -> "storage.Slots":
        """Give the storage.

        Raises:
            RuntimeError: Another thread has released the carrier.
        """
        slots = self._slots
        if slots is None:
            self._refuse_released("read")
        return slots

    def _replace(self, start: int, values: "storage.Slots") -> None:
        """Store values from ``start`` on, all of them or, where the device fails, none."""
        runtime.load()  # refuses in a forked child, before it could wait for the lock
        with self._lock:
            self._slots = storage.replaced(self._live_slots(), start, values)


def adopted(slots: "storage.Slots", dtype: DType) -> Metal:
    """Take over fresh storage as a mutable carrier; every kernel pays this."""
    carrier: Metal = _new(Metal)
    carrier._initialize_definition_free(_RECORD)
    carrier._slots = slots
    carrier._dtype = dtype
    carrier._lock = Lock()
    carrier._mutable = True
    return carrier


register_operation_capabilities(Metal, metal_capabilities())

_RECORD: Final = class_record(Metal)


def _slot_count(size: SupportsIndex) -> int:
    try:
        count = as_index(size)
    except TypeError as error:
        raise TypeError(
            f"Metal: size must be an integer, got {size!r} ({type(size).__qualname__})"
        ) from error
    if count < 0:
        raise ValueError(f"Metal: size must be non-negative, got {count}")
    return count


def _allocated(count: int, dtype: DType) -> "storage.Slots":
    """Make complete storage of zeros.

    Raises:
        RuntimeError: MLX or its device is not there, or refuses the allocation.
    """
    version = runtime.load().version
    try:
        slots = storage.zeros(count, dtype)
        runtime._complete(slots)
    except Exception as error:
        raise RuntimeError(
            f"Metal: MLX {version} could not allocate {count} slots of DType.{dtype.name}: {error}"
        ) from error
    return slots
