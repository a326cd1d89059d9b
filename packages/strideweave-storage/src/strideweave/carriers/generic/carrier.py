"""Generic: plain Python values, executed by the references of the operations."""

from array import array
from collections.abc import Iterable
from typing import Any, Final, SupportsIndex, final

from strideweave.carriers import ownership
from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.closed import reject_carrier_subclass
from strideweave.carriers.construction import checked_extent
from strideweave.carriers.generic.capabilities import catalogue_capabilities
from strideweave.carriers.generic.kernels import reference_operation
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.dtype import DType
from strideweave.dtype.storage import accepts_storage_dtype, storage_zero, validate_storage_dtype
from strideweave.operation.operation import Operation

ACCEPTED_DTYPES: Final = (DType.Float32, DType.Int32, DType.Bool)


@final
class Generic(Carrier):
    """A carrier of plain Python values, and the semantic reference of all operations.

    It copies and normalizes the values it is given, needs no NumPy, and computes with the
    pure-Python references, so it is exact and slow.

    Args:
        values: One value per slot: real numbers for Float32 (rounded to binary32), integers for
            Int32, ``bool`` for Bool.
        mutable: Whether values can be written later.
        dtype: ``DType.Float32``, ``DType.Int32`` or ``DType.Bool``.

    Raises:
        TypeError: ``dtype`` is no DType, ``values`` is not iterable or holds another type.
        ValueError: The carrier does not store ``dtype``.
        OverflowError: An integer is out of the dtype's range.

    Examples:
        >>> from strideweave import DType, Generic
        >>> carrier = Generic([0.1, 2], dtype=DType.Float32)
        >>> carrier[0], carrier[1], carrier.size()
        (0.10000000149011612, 2.0, 2)
        >>> carrier[1] = 3.5
        >>> carrier[1], carrier.version
        (3.5, 1)
    """

    __slots__ = ("_dtype", "_mutable", "_values")

    def __init__(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType = DType.Float32
    ) -> None:
        self._dtype = validate_storage_dtype(dtype, carrier="Generic", accepted=ACCEPTED_DTYPES)
        self._values = _normalized(values, dtype)
        self._mutable = bool(mutable)
        super().__init__()

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    def size(self) -> int:
        """Count the live slots.

        Returns:
            The count; 0 after release.
        """
        return len(self._values)

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            The descriptor the carrier was constructed with.
        """
        return self._dtype

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
        return self._values[self._readable_slot(index)]

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
        if not 0 <= slot < len(self._values):
            self._refuse_range(slot)
        normalized = NORMALIZERS[self._dtype](value)
        with ownership.lock:
            ownership.require_writable(self)
            self._values[slot] = normalized
            self._version += 1

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Generic":
        """Build a fresh Generic that holds the values; works on a released one too.

        Args:
            values: One value per slot; iterated once. None is no value.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the dtype does not take.
            ValueError: Generic does not store ``dtype``.
            OverflowError: An integer is out of the dtype's range.
        """
        return Generic(values, mutable=mutable, dtype=self._dtype if dtype is None else dtype)

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "Generic":
        """Build a fresh Generic of zeros; works on a released one too.

        Args:
            size: Slot count, at least 0.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Accepted and ignored: the slots are zero either way.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, or ``dtype`` no DType.
            ValueError: ``size`` is negative, or Generic does not store ``dtype``.
            OverflowError: That many slots exceed the address space.
        """
        storage_dtype = validate_storage_dtype(
            self._dtype if dtype is None else dtype, carrier="Generic", accepted=ACCEPTED_DTYPES
        )
        count = checked_extent("Generic", size, storage_dtype)
        return Generic([storage_zero(storage_dtype)] * count, mutable=mutable, dtype=storage_dtype)

    def _is_mutable(self) -> bool:
        return self._mutable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return accepts_storage_dtype(dtype, ACCEPTED_DTYPES)

    def _release(self) -> None:
        self._released = True  # before, so that whoever meets no values knows why
        self._values = []

    def _dispatch_op(self, operation_name: str) -> Operation:
        return reference_operation("Generic", operation_name)

    def _read_span(self, start: int, out: memoryview) -> object:
        values = self._values[start : start + len(out)]
        if self._released:  # asked last: another thread may release meanwhile
            return NotImplemented
        if self._dtype is DType.Bool:
            out[:] = memoryview(bytes(values)).cast("?")
        else:
            out[:] = memoryview(array(_TYPECODES[self._dtype], values))
        return None

    def _write_span(self, start: int, values: memoryview) -> object:
        stored = self._values
        if self._released:
            return NotImplemented
        stored[start : start + len(values)] = values.tolist()
        return None


register_operation_capabilities(Generic, catalogue_capabilities())

_TYPECODES: Final[dict[DType, str]] = {DType.Float32: "f", DType.Int32: "i"}


def _normalized(values: Iterable[Any], dtype: DType) -> list[Any]:
    normalizer = NORMALIZERS[dtype]
    try:
        entries = iter(values)
    except TypeError as error:
        raise TypeError(
            f"Generic: values must be iterable, got {values!r} ({type(values).__qualname__})"
        ) from error
    return [normalizer(value) for value in entries]
