"""Reading and writing slots without checks, one at a time or as a span.

This is the internal surface for every kind of carrier. Callers have checked release, mutability,
ownership and range, and change versions themselves. Span buffers are one-dimensional C-contiguous
memoryviews of format ``f``, ``i`` or ``?``.
"""

from array import array
from typing import TYPE_CHECKING, Any, Final, NoReturn

from strideweave.dtype import DType

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier

# Kind and width of the elements of a host array, in the byte order of the host.
_ELEMENTS: Final[dict[DType, tuple[str, int, bool]]] = {
    DType.Float32: ("f", 4, True),
    DType.Int32: ("i", 4, True),
    DType.Bool: ("b", 1, True),
}


def read_span(carrier: "Carrier", start: int, out: "memoryview[Any] | array[Any]") -> bool:
    """Fill a buffer with the slots from ``start``.

    Args:
        carrier: A live carrier.
        start: The first slot.
        out: A writable buffer; its length is the number of slots to read.

    Returns:
        False when the carrier offers no span reads; the caller then reads slot by slot.

    Raises:
        TypeError: The hook or callback returned something else than its contract says.
    """
    storage = carrier._class_record.storage
    if storage is None:
        return _hook_answer(carrier, "_read_span", carrier._read_span(start, span_view(out)))
    return storage.read_span(carrier, start, span_view(out))


def write_span(carrier: "Carrier", start: int, values: "memoryview[Any] | array[Any]") -> bool:
    """Store a buffer into the slots from ``start``; no version changes.

    Args:
        carrier: A live carrier that may be written.
        start: The first slot.
        values: One item per slot.

    Returns:
        False when the carrier offers no span writes; the caller then writes slot by slot.

    Raises:
        TypeError: The hook or callback returned something else than its contract says.
    """
    storage = carrier._class_record.storage
    if storage is None:
        return _hook_answer(carrier, "_write_span", carrier._write_span(start, span_view(values)))
    return storage.write_span(carrier, start, span_view(values))


def host_array(carrier: "Carrier") -> Any:  # a numpy.ndarray, which core does not know
    """Give the array that is a carrier's live storage.

    Args:
        carrier: Any carrier.

    Returns:
        The array, or None where the carrier offers none: a definition-backed class offers its
        storage through its provider alone.

    Raises:
        TypeError: The hook gave something else than the live storage in one dimension.
    """
    if carrier._class_record.storage is not None:
        return None
    array = carrier._host_array()
    if array is not None and not _is_storage(array, carrier):
        if carrier._released:  # by another thread, meanwhile
            return None
        _refuse_host_array(array, carrier)
    return array


def write_slot(carrier: "Carrier", slot: int, value: object) -> None:
    """Store one normalized value; only a definition-free ``set_value`` may advance the version."""
    storage = carrier._class_record.storage
    if storage is None:
        carrier.set_value(slot, value)
    else:
        storage.write(carrier, slot, value)


def span_view(buffer: "memoryview[Any] | array[Any]") -> "memoryview[Any]":
    """View a buffer as a span; an array of bytes holds Bool and becomes format ``?``."""
    view = memoryview(buffer)
    if view.format in ("b", "B"):
        return view.cast("?")
    return view


def _is_storage(array: Any, carrier: "Carrier") -> bool:
    element: Any = getattr(array, "dtype", None)
    return (
        getattr(array, "ndim", None) == 1
        and (element.kind, element.itemsize, element.isnative) == _ELEMENTS.get(carrier.dtype())
        and len(array) == carrier.size()
    )


def _refuse_host_array(array: Any, carrier: "Carrier") -> NoReturn:
    element, shape = getattr(array, "dtype", None), getattr(array, "shape", None)
    found = type(array).__qualname__ if shape is None else f"{element} of shape {shape}"
    raise TypeError(
        f"{type(carrier).__qualname__}._host_array must return None, or the storage itself as a "
        f"one-dimensional NumPy array of its {carrier.size()} {carrier.dtype()!r} slots, "
        f"got {found}"
    )


def _hook_answer(carrier: "Carrier", hook: str, answer: object) -> bool:
    if answer is None:
        return True
    if answer is NotImplemented:
        return False
    raise TypeError(
        f"{type(carrier).__qualname__}.{hook} must return None, or NotImplemented where it offers "
        f"no spans, got {answer!r} ({type(answer).__qualname__})"
    )
