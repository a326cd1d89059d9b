"""FileBacked: slots in a temporary file, for storage only."""

from collections.abc import Iterable
from operator import index as as_index
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, SupportsIndex, final

from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.closed import reject_carrier_subclass
from strideweave.carriers.construction import checked_extent
from strideweave.carriers.file_backed.session import create_file
from strideweave.carriers.file_backed.storage_file import StorageFile
from strideweave.carriers.normalization import NORMALIZERS
from strideweave.carriers.packing import packed
from strideweave.dtype import DType
from strideweave.dtype.storage import accepts_storage_dtype, validate_storage_dtype
from strideweave.host import SPAN_FORMATS, new_image
from strideweave.operation.operation import Operation

ACCEPTED_DTYPES: Final = (DType.Float32, DType.Int32, DType.Bool)


@final
class FileBacked(Carrier):
    """A carrier whose slots lie in a temporary file of this process.

    It stores and computes nothing: move or copy a Tensor to a carrier that computes. Float32 and
    Int32 slots take four bytes in host byte order, Bool slots one, without a header. A new carrier
    is empty; a move or copy into it gives it the size it needs, and so do the factories.

    The file lies in a directory that belongs to this process alone. It disappears on
    ``release()``, when the carrier is collected, and when the interpreter exits; what a killed
    process leaves behind is removed by the next one that uses FileBacked. A forked child can read
    the carriers of its parent, but not write them.

    Args:
        filename: A bare file name that this process does not use; None generates one.
        mutable: Whether values can be written.
        dtype: ``DType.Float32``, ``DType.Int32`` or ``DType.Bool``.

    Raises:
        TypeError: ``dtype`` is no DType, or ``filename`` no str.
        ValueError: FileBacked does not store ``dtype``, or ``filename`` is no bare file name.
        FileExistsError: A file of that name exists; it is left alone.
        OSError: The file cannot be created.
        NotImplementedError: The system is neither Linux nor macOS.

    Examples:
        >>> from strideweave import FileBacked
        >>> carrier = FileBacked().new_like([1.0, 2.0, 3.0])
        >>> carrier[1], carrier.size(), carrier.path.stat().st_size
        (2.0, 3, 12)
        >>> carrier.release()
        >>> carrier.path.exists()
        False
    """

    __slots__ = ("_dtype", "_file", "_mutable", "_path", "_slot_bytes", "_span_format")

    _file: StorageFile | None

    def __init__(
        self,
        filename: str | None = None,
        *,
        mutable: bool = True,
        dtype: DType = DType.Float32,
    ) -> None:
        self._dtype = validate_storage_dtype(dtype, carrier="FileBacked", accepted=ACCEPTED_DTYPES)
        self._span_format = SPAN_FORMATS[dtype]
        self._slot_bytes = new_image(1, self._span_format).nbytes
        self._mutable = bool(mutable)
        self._file = create_file(_checked_name(filename))
        self._path = self._file.path
        super().__init__()

    def __init_subclass__(cls) -> None:
        reject_carrier_subclass(cls.__name__)

    @property
    def path(self) -> Path:
        """The file; after release the place where it was."""
        return self._path

    def size(self) -> int:
        """Count the live slots.

        Returns:
            The count of whole slots in the file; 0 after release.
        """
        file = self._file
        return 0 if file is None else file.size() // self._slot_bytes

    def dtype(self) -> DType:
        """Give the one dtype of all slots; also after release.

        Returns:
            The descriptor the carrier was constructed with.
        """
        return self._dtype

    def flush(self) -> None:
        """Wait until all values are on the device, which nothing else does.

        Raises:
            RuntimeError: The carrier is released.
            OSError: The device reported a failure.
        """
        self._open_file("flushed").synchronize()

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
            OSError: The file cannot be read.
        """
        slot = self._readable_slot(index)
        image = new_image(1, self._span_format)
        self._open_file("read").read(slot * self._slot_bytes, image)
        return image[0]

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        """Write one slot, which advances the version by one.

        Args:
            index: The slot, from 0; negative indices are out of range.
            value: A value the dtype takes.

        Raises:
            TypeError: The index is not an integer, or the dtype does not take the value.
            RuntimeError: The carrier is released, immutable, owned by somebody else, or made by
                another process.
            IndexError: The index is out of range.
            OverflowError: An integer is out of the dtype's range.
            OSError: The file cannot be written.
        """
        slot = self._writable_slot(index)
        if not 0 <= slot < self.size():
            self._refuse_range(slot)
        image = new_image(1, self._span_format)
        image[0] = NORMALIZERS[self._dtype](value)
        self._open_file("written").write(slot * self._slot_bytes, image)
        self._count_write()

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "FileBacked":
        """Build a fresh FileBacked that holds the values; works on a released one too.

        Args:
            values: One value per slot, iterated once; None becomes zero. A one-dimensional NumPy
                array of the dtype's element type is written as it is.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``values`` is not iterable, or holds what the dtype does not take.
            ValueError: FileBacked does not store ``dtype``.
            OverflowError: An integer is out of the dtype's range.
            OSError: There is no space for the file.
        """
        storage_dtype = self._new_dtype(dtype)
        image = packed(values, storage_dtype, carrier="FileBacked")
        return _filled(len(image), image, mutable, storage_dtype)

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "FileBacked":
        """Build a fresh FileBacked of zeros; works on a released one too.

        Args:
            size: Slot count, at least 0.
            mutable: Whether the new carrier can be written.
            dtype: Its dtype; by default this carrier's.
            empty: Accepted and ignored: the slots are zero either way.

        Returns:
            The new carrier, at version 0.

        Raises:
            TypeError: ``size`` is not an integer, or ``dtype`` no DType.
            ValueError: ``size`` is negative, or FileBacked does not store ``dtype``.
            OverflowError: That many slots exceed the address space.
            OSError: There is no space for the file.
        """
        storage_dtype = self._new_dtype(dtype)
        count = checked_extent("FileBacked", size, storage_dtype)
        return _filled(count, None, mutable, storage_dtype)

    def _new_dtype(self, dtype: DType | None) -> DType:
        if dtype is None:
            return self._dtype
        return validate_storage_dtype(dtype, carrier="FileBacked", accepted=ACCEPTED_DTYPES)

    def _allocate(self, size: SupportsIndex) -> None:
        """Set the slot count; new slots hold zero and have their space reserved.

        Raises:
            TypeError: ``size`` is not an integer.
            ValueError: It is negative.
            RuntimeError: The carrier is released.
            OSError: There is no space; the file is as before.
        """
        slots = as_index(size)
        if slots < 0:
            raise ValueError(f"FileBacked: size must be at least 0, got {slots}")
        self._open_file("resized").resize(slots * self._slot_bytes)

    def _is_mutable(self) -> bool:
        return self._mutable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return accepts_storage_dtype(dtype, ACCEPTED_DTYPES)

    def _release(self) -> None:
        if self._file is not None:
            self._file.remove()
            self._released = True  # before, so that whoever meets no file knows why
            self._file = None

    def _dispatch_op(self, operation_name: str) -> Operation:
        raise NotImplementedError(
            f"FileBacked only stores values and does not execute {operation_name!r}: move or copy "
            "the Tensor to a carrier that computes"
        )

    def _copies_arrays(self) -> bool:
        return True

    def _read_span(self, start: int, out: "memoryview[Any]") -> object:
        file = self._file
        if file is None:
            return NotImplemented
        file.read(start * self._slot_bytes, out)
        return None

    def _write_span(self, start: int, values: "memoryview[Any]") -> object:
        file = self._file
        if file is None:
            return NotImplemented
        file.write(start * self._slot_bytes, values)
        return None

    def _open_file(self, action: str) -> StorageFile:
        file = self._file
        if file is None:
            self._refuse_released(action)
        return file


register_operation_capabilities(FileBacked, ())


def _filled(slots: int, image: "memoryview[Any] | None", mutable: bool, dtype: DType) -> FileBacked:
    fresh = FileBacked(mutable=mutable, dtype=dtype)
    try:
        fresh._allocate(slots)
        if image is not None:
            fresh._write_span(0, image)
    except BaseException:
        fresh.release()
        raise
    return fresh


def _checked_name(filename: object) -> str:
    """Check a file name, or generate one."""
    if filename is None:
        return token_hex(16)
    if not isinstance(filename, str):
        raise TypeError(
            f"FileBacked: filename must be a str or None, got {filename!r} "
            f"({type(filename).__qualname__})"
        )
    if filename in ("", ".", "..") or any(character in filename for character in "/\\\0"):
        raise ValueError(
            f"FileBacked: filename must be a bare file name without separators, got {filename!r}; "
            "the directory is the process's own"
        )
    return filename
