"""CPU: one contiguous NumPy buffer, executed by NumPy kernels."""

import sys
from collections.abc import Iterable
from ctypes import c_char
from operator import index as as_index
from typing import Any, Final, SupportsIndex, cast, final

import numpy

import strideweave.carriers.cpu.kernels as kernels
from strideweave.carriers import ownership
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.class_record import class_record
from strideweave.carriers.closed import reject_carrier_subclass
from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, Array, storage_array, zero_or_one
from strideweave.carriers.cpu.memory import new_storage
from strideweave.carriers.generic.capabilities import catalogue_capabilities
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.dtype import DType
from strideweave.dtype.storage import accepts_storage_dtype, validate_storage_dtype
from strideweave.operation.definition import operation_definition
from strideweave.operation.dispatch import bind_view
from strideweave.operation.operation import VIEW_OPERATION_NAMES, Operation
from strideweave.operation.pipeline import BoundOperation

_new = object.__new__

ACCEPTED_DTYPES: Final = (DType.Float32, DType.Int32, DType.Bool)


@final
class CPU(Carrier):
    """A carrier over one contiguous NumPy buffer in host memory.

    Float32 and Int32 slots take four bytes in host byte order, Bool slots one. The buffer is the
    storage: ``tensor.numpy()`` and DLPack view it without a copy, and such a view keeps an owned
    buffer alive after ``release()``.

    Args:
        size: Slot count, at least 0.
        pointer: Address of ``size`` items to view instead of owning storage. Nothing is copied,
            initialized or owned; the caller keeps the memory valid and suitably aligned.
        mutable: Whether values can be written.
        dtype: ``DType.Float32``, ``DType.Int32`` or ``DType.Bool``.
        empty: Leave owned storage uninitialized instead of zero.

    Raises:
        TypeError: ``size`` is not an integer, ``dtype`` no DType, or ``pointer`` no int.
        ValueError: ``size`` is negative, ``pointer`` not positive, or CPU does not store ``dtype``.
        OverflowError: That many slots exceed the address space.

    Examples:
        >>> from strideweave import CPU, DType
        >>> carrier = CPU(3, dtype=DType.Int32)
        >>> carrier[0] = 7
        >>> [carrier[slot] for slot in range(3)], carrier.version
        ([7, 0, 0], 1)
    """

    __slots__ = ("_buffer", "_dtype", "_is_foreign", "_mutable", "_pointer", "_size")

    _buffer: Array
    _dtype: DType
    _is_foreign: bool
    _mutable: bool
    _pointer: int | None
    _size: int  # of the buffer; reading it from there costs more

    def __init__(
        self,
        size: SupportsIndex,
        pointer: int | None = None,
        *,
        mutable: bool = True,
        dtype: DType = DType.Float32,
        empty: bool = False,
    ) -> None:
        slots = _integer(size)
        self._dtype = validate_storage_dtype(dtype, carrier="CPU", accepted=ACCEPTED_DTYPES)
        self._mutable = bool(mutable)
        self._is_foreign = pointer is not None
        self._pointer = pointer
        element = NUMPY_DTYPES[dtype]
        _check_extent(slots, element)
        if pointer is not None:
            self._buffer = _wrapped(pointer, slots, element)
        else:
            self._buffer = new_storage(slots, element, empty=empty)
        self._size = slots
        super().__init__()

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    @classmethod
    def _adopt(
        cls, buffer: Array, dtype: DType, *, mutable: bool = True, is_foreign: bool = False
    ) -> "CPU":
        """Take over a one-dimensional contiguous array as the storage of a new carrier.

        Args:
            buffer: The storage, of the NumPy type of ``dtype``.
            dtype: A dtype that CPU stores.
            mutable: Whether values can be written.
            is_foreign: Whether others write to the array too, so that bytes of Bool may be
                anything.
        """
        carrier = adopted(buffer, dtype)
        carrier._is_foreign = is_foreign
        carrier._mutable = mutable
        return carrier

    def size(self) -> int:
        """Count the live slots.

        Returns:
            The count; 0 after release.
        """
        return self._size

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            The descriptor the carrier was constructed with.
        """
        return self._dtype

    def pointer(self) -> int:
        """Give the base address.

        Returns:
            A positive address, also for size 0; 0 after release.
        """
        if self._released:
            return 0
        if self._pointer is not None:
            return self._pointer
        return cast("int", self._buffer.__array_interface__["data"][0])

    def dlpack_info(self) -> dict[str, int]:
        """Describe the storage for DLPack export.

        Returns:
            ``pointer``, and the device type and id of host memory.
        """
        return {"pointer": self.pointer(), "device_type": 1, "device_id": 0}

    def get_value(self, index: SupportsIndex) -> Any:
        """Read one slot.

        Args:
            index: The slot, from 0; negative indices are out of range.

        Returns:
            The value as a Python ``float``, ``int`` or ``bool``.

        Raises:
            TypeError: The index is not an integer.
            RuntimeError: The carrier is released.
            IndexError: The index is out of range.
        """
        return self._buffer.item(self._readable_slot(index))

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        """Write one slot, which advances the version by one.

        Args:
            index: The slot, from 0; negative indices are out of range.
            value: A value the dtype takes.

        Raises:
            TypeError: The index is not an integer, or the dtype does not take the value.
            RuntimeError: The carrier is released, immutable, or owned by somebody else.
            IndexError: The index is out of range.
            OverflowError: An integer is out of the dtype's range.
        """
        slot = self._writable_slot(index)
        if not 0 <= slot < self._size:
            self._refuse_range(slot)
        normalized = NORMALIZERS[self._dtype](value)
        with ownership.lock:
            ownership.require_writable(self)
            self._buffer[slot] = normalized
            self._version += 1

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "CPU":
        """Build a fresh CPU carrier that holds the values; works on a released one too.

        Args:
            values: One value per slot, iterated once; None becomes zero. A one-dimensional NumPy
                array of the dtype's element type is copied as it is.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the dtype does not take.
            ValueError: CPU does not store ``dtype``.
            OverflowError: An integer is out of the dtype's range.
        """
        storage_dtype = self._dtype
        if dtype is not None:
            storage_dtype = validate_storage_dtype(dtype, carrier="CPU", accepted=ACCEPTED_DTYPES)
        buffer = storage_array(values, storage_dtype)
        return CPU._adopt(buffer, storage_dtype, mutable=bool(mutable))

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "CPU":
        """Build a fresh CPU carrier with storage only; works on a released one too.

        Args:
            size: Slot count, at least 0.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Leave the storage uninitialized instead of zero.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, or ``dtype`` no DType.
            ValueError: ``size`` is negative, or CPU does not store ``dtype``.
            OverflowError: That many slots exceed the address space.
        """
        storage_dtype = self._dtype if dtype is None else dtype
        return CPU(size, mutable=mutable, dtype=storage_dtype, empty=empty)

    def _is_mutable(self) -> bool:
        return self._mutable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return accepts_storage_dtype(dtype, ACCEPTED_DTYPES)

    def _release(self) -> None:
        self._released = True  # before, so that whoever meets no values knows why
        # Views taken earlier hold the array themselves, so they never dangle.
        self._buffer = _NOTHING
        self._size = 0

    def _dispatch_op(self, operation_name: str) -> Operation:
        bound = _EXECUTED.get(operation_name)
        if bound is not None:
            return BoundOperation(*bound)
        if operation_name in VIEW_OPERATION_NAMES:
            return bind_view(operation_name)
        raise NotImplementedError(
            f"CPU does not execute {operation_name!r}: it is no operation that CPU has a kernel "
            "for, and no view"
        )

    def _copies_arrays(self) -> bool:
        return True

    def _host_array(self) -> Array | None:
        buffer = self._buffer
        return None if self._released else buffer

    def _read_span(self, start: int, out: memoryview) -> object:
        values = self._buffer[start : start + len(out)]
        if self._released:  # asked last: another thread may release meanwhile
            return NotImplemented
        numpy.asarray(out)[:] = zero_or_one(values) if self._is_foreign else values
        return None

    def _write_span(self, start: int, values: memoryview) -> object:
        buffer = self._buffer
        if self._released:
            return NotImplemented
        buffer[start : start + len(values)] = zero_or_one(numpy.asarray(values))
        return None


def adopted(buffer: Array, dtype: DType) -> CPU:
    """Take over the fresh storage of a result as a mutable carrier; every kernel pays this."""
    carrier: CPU = _new(CPU)
    carrier._initialize_definition_free(_RECORD)
    carrier._buffer = buffer
    carrier._size = len(buffer)
    carrier._dtype = dtype
    carrier._is_foreign = False
    carrier._mutable = True
    carrier._pointer = None
    return carrier


register_operation_capabilities(CPU, catalogue_capabilities())

_RECORD: Final = class_record(CPU)
# What bind_kernel would look up, for every operation with a kernel.
_EXECUTED: Final = {
    name: (operation_definition(name), kernel) for name, kernel in kernels.KERNELS.items()
}
_NOTHING: Final[Array] = numpy.empty(0, numpy.bool_)


def _integer(size: SupportsIndex) -> int:
    try:
        return as_index(size)
    except TypeError as error:
        raise TypeError(
            f"CPU: size must be an integer, got {size!r} ({type(size).__qualname__})"
        ) from error


def _check_extent(slots: int, element: numpy.dtype[Any]) -> None:
    if slots < 0:
        raise ValueError(f"CPU: size must be at least 0, got {slots}")
    if slots > sys.maxsize // element.itemsize:
        raise OverflowError(f"CPU: {slots} slots of {element} exceed the address space")


def _wrapped(pointer: object, slots: int, element: numpy.dtype[Any]) -> Array:
    """View memory that somebody else owns.

    Raises:
        TypeError: ``pointer`` is not an int.
        ValueError: It is not positive.
    """
    if isinstance(pointer, bool) or not isinstance(pointer, int):
        raise TypeError(
            f"CPU: pointer must be an int address or None, got {pointer!r} "
            f"({type(pointer).__qualname__})"
        )
    if pointer <= 0:
        raise ValueError(f"CPU: pointer must be a positive address, got {pointer}")
    memory: Any = (c_char * (slots * element.itemsize)).from_address(pointer)
    return numpy.ndarray(slots, element, memory)
