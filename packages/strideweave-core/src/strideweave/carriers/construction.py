"""Construction of definition-backed carriers, and their two factories."""

import sys
from array import array
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, Final, NoReturn, SupportsIndex

from strideweave.carriers.normalization import normalize
from strideweave.carriers.spans import span_view
from strideweave.dtype import DType, SimpleDType

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.carriers.storage_calls import StorageCalls

SPAN_TYPECODES: Final[dict[DType, str]] = {DType.Float32: "f", DType.Int32: "i", DType.Bool: "b"}
"""The ``array`` typecode that holds a span of each dtype with spans."""


def initialize(
    carrier: "Carrier", storage: "StorageCalls", slots: object, dtype: object, mutable: object
) -> None:
    """Check the constructor arguments and let the provider establish storage.

    Args:
        carrier: The instance under construction; its class record is set.
        storage: The calls of its class's provider.
        slots: The requested physical slot count.
        dtype: The storage dtype.
        mutable: Whether values can be written later.

    Raises:
        TypeError: An argument has the wrong type, the provider does not store the dtype, or one of
            its callbacks returned another type.
        ValueError: ``slots`` is negative, or the provider established another extent.
    """
    if (
        type(slots) is not int
        or slots < 0
        or not isinstance(dtype, DType)
        or type(mutable) is not bool
    ):
        _refuse_arguments(type(carrier).__qualname__, slots, dtype, mutable)
    carrier._storage_dtype = dtype
    carrier._storage_mutable = True  # the provider sees a mutable carrier until construction ends
    carrier._released = False
    try:
        answer = storage.establish(carrier, slots, dtype)
    except BaseException:
        carrier._released = True
        raise
    try:
        size = storage.size(carrier) if answer is None else None
        if size != slots:
            storage.refuse_allocation(slots, answer, size)
    except BaseException as error:
        abandon(carrier, error)
        raise
    carrier._storage_mutable = mutable


def _refuse_arguments(name: str, slots: object, dtype: object, mutable: object) -> NoReturn:
    """Report the first wrong argument, in the order of the signature."""
    missing = [label for label, value in (("slots", slots), ("dtype", dtype)) if value is None]
    if missing:
        raise TypeError(
            f"{name} is definition-backed and needs {' and '.join(missing)}: "
            "super().__init__(slots, dtype=..., mutable=...)"
        )
    if type(slots) is not int:
        raise TypeError(f"{name}: slots must be an int, got {slots!r} ({type(slots).__qualname__})")
    if slots < 0:
        raise ValueError(f"{name}: slots must be at least 0, got {slots}")
    if not isinstance(dtype, DType):
        raise TypeError(f"{name}: dtype must be a DType, got {dtype!r}")
    raise TypeError(f"{name}: mutable must be a bool, got {mutable!r}")


def abandon(carrier: "Carrier", error: BaseException) -> None:
    """Release the storage of an instance whose construction failed after it was allocated.

    Args:
        carrier: The unfinished instance; it counts as released afterwards.
        error: What failed. An error of the release is noted on it.
    """
    if carrier._released:
        return  # also when the base initializer never ran
    storage = carrier._class_record.storage
    if storage is None:
        return
    carrier._released = True
    try:
        storage.release(carrier)
    except Exception as failure:
        note = f"releasing the unfinished {type(carrier).__qualname__} failed too: {failure!r}"
        error.add_note(note)


def new_like(
    carrier: "Carrier", values: Iterable[Any], *, mutable: bool, dtype: DType | None
) -> "Carrier":
    """Build another instance of a definition-backed carrier's class that holds the values."""
    storage_dtype = carrier._storage_dtype if dtype is None else dtype
    normalized = [_normalized(storage_dtype, value) for value in _iterated(carrier, values)]
    fresh = type(carrier)(len(normalized), dtype=storage_dtype, mutable=mutable)
    try:
        fresh._storage_mutable = True  # the provider sees a mutable carrier until this returns
        _fill(fresh, normalized)
        fresh._storage_mutable = mutable
    except BaseException as error:
        abandon(fresh, error)
        raise
    return fresh


def _iterated(carrier: "Carrier", values: Iterable[Any]) -> Iterable[Any]:
    try:
        return iter(values)
    except TypeError as error:
        raise TypeError(
            f"{type(carrier).__qualname__}.new_like: values must be iterable, got {values!r}"
        ) from error


def _normalized(dtype: DType, value: object) -> Any:
    if value is None:
        raise TypeError(f"new_like: None is no value of {dtype!r}; give every slot a value")
    return normalize(dtype, value)


def _fill(carrier: "Carrier", values: list[Any]) -> None:
    """Store normalized values from slot 0, by one span where the provider offers it."""
    storage = carrier._class_record.storage
    if storage is None or not values:
        return
    typecode = SPAN_TYPECODES.get(carrier._storage_dtype)
    if typecode is not None and storage.provider.write_span is not None:
        storage.write_span(carrier, 0, span_view(array(typecode, values)))
        return
    for slot, value in enumerate(values):
        storage.write(carrier, slot, value)


def allocate_like(
    carrier: "Carrier", size: SupportsIndex, *, mutable: bool, dtype: DType | None, empty: bool
) -> "Carrier":
    """Build another instance of a definition-backed carrier's class with storage only."""
    name = type(carrier).__qualname__
    if empty is not True and empty is not False:
        raise TypeError(f"{name}.allocate_like: empty must be a bool, got {empty!r}")
    storage_dtype = carrier._storage_dtype if dtype is None else dtype
    count = checked_extent(name, size, storage_dtype)
    return type(carrier)(count, dtype=storage_dtype, mutable=mutable)


def checked_extent(name: str, size: SupportsIndex, dtype: DType) -> int:
    """Check the size argument of an ``allocate_like``.

    Args:
        name: The carrier class, for messages.
        size: The requested slot count.
        dtype: The storage dtype of the new carrier.

    Returns:
        The size as an int.

    Raises:
        TypeError: It is not usable as an index.
        ValueError: It is negative.
        OverflowError: That many slots exceed the address space.
    """
    try:
        count = index(size)
    except TypeError as error:
        raise TypeError(
            f"{name}.allocate_like: size must be an integer, got {size!r} "
            f"({type(size).__qualname__})"
        ) from error
    if count < 0:
        raise ValueError(f"{name}.allocate_like: size must be at least 0, got {count}")
    slot_bytes = max(1, dtype.bits // 8) if isinstance(dtype, SimpleDType) else 1
    if count > sys.maxsize // slot_bytes:
        raise OverflowError(
            f"{name}.allocate_like: {count} slots of {dtype!r} exceed the address space"
        )
    return count
