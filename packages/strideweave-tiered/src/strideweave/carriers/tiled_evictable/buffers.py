"""Values of whole tiles in host memory, and the one strided copy between two of them."""

from functools import partial
from typing import Any, NamedTuple, TypeAlias, final

import strideweave.host as host
from strideweave.carriers import Carrier, spans
from strideweave.carriers.dtype import DType, storage_zero
from strideweave.carriers.normalization import normalize
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots
from strideweave.ops.metadata import stationary_layout

Buffer: TypeAlias = Any
"""The live array of a carrier, the image of a span, or a list of values: one item per slot."""


class Region(NamedTuple):
    """Part of a buffer: where each coordinate of a layout is."""

    buffer: Buffer
    offset: int
    layout: Layout


def new_buffer(count: int, dtype: DType) -> Buffer:
    """Build a writable buffer of zeros."""
    span_format = host.SPAN_FORMATS.get(dtype)
    if span_format is None:
        return [storage_zero(dtype)] * count
    return host.new_image(count, span_format)


def read_slots(carrier: Carrier, start: int, count: int) -> Buffer:
    """Give the values of neighbouring slots; what it gives must not be written to.

    Args:
        carrier: A live carrier, owned or not.
        start: The first slot.
        count: How many slots.

    Returns:
        A view of the carrier's own array, a copied span, or plain values where it offers neither.
    """
    dtype = carrier.dtype()
    array = spans.host_array(carrier)
    if array is not None:
        window = array[start : start + count]
        # Memory that somebody else writes to may hold any byte for True.
        return window.view("u1") != 0 if dtype is DType.Bool else window
    span_format = host.SPAN_FORMATS.get(dtype)
    if span_format is not None:
        image = host.new_image(count, span_format)
        if spans.read_span(carrier, start, image):
            return image
    storage = carrier._class_record.storage
    read = carrier.__getitem__ if storage is None else partial(storage.read, carrier)
    return [normalize(dtype, read(slot)) for slot in range(start, start + count)]


def write_slots(carrier: Carrier, start: int, values: Buffer) -> None:
    """Store values in neighbouring slots, in one transfer where the carrier offers spans.

    Args:
        carrier: A live writable carrier.
        start: The first slot.
        values: One per slot.
    """
    array = spans.host_array(carrier)
    if array is not None:
        array[start : start + len(values)] = values
        return
    image = values if isinstance(values, memoryview) else _image(values, carrier.dtype())
    if image is not None and spans.write_span(carrier, start, image):
        return
    entries = values.tolist() if hasattr(values, "tolist") else values
    for slot, value in enumerate(entries, start):
        spans.write_slot(carrier, slot, value)


def _image(values: Buffer, dtype: DType) -> "host.Image | None":
    span_format = host.SPAN_FORMATS.get(dtype)
    if span_format is None:
        return None
    if isinstance(values, list):
        image = host.new_image(len(values), span_format)
        for position, value in enumerate(values):
            image[position] = value
        return image
    return spans.span_view(memoryview(values))


@final
class Canvas:
    """New values for the first slots of a carrier, stored when it is finished.

    Args:
        carrier: A live writable carrier.
        count: How many slots get new values; every one of them is painted before ``finish``, but
            for those that may hold zero.
    """

    __slots__ = ("_carrier", "buffer")

    def __init__(self, carrier: Carrier, count: int) -> None:
        self._carrier: Carrier | None = carrier
        array = spans.host_array(carrier)
        if array is not None:
            self._carrier = None
            self.buffer: Buffer = array[:count]
        else:
            self.buffer = new_buffer(count, carrier.dtype())

    def paint(self, offset: int, layout: Layout, source: Region) -> None:
        """Copy a region to where a layout of the same shape places it."""
        copy_region(source, Region(self.buffer, offset, layout))

    def finish(self) -> None:
        """Store everything in the carrier, if it is not there already."""
        if self._carrier is not None:
            write_slots(self._carrier, 0, self.buffer)


def copy_region(source: Region, destination: Region) -> None:
    """Copy values between two regions of the same shape, in one strided copy where possible."""
    read, written = strided(source), strided(destination)
    if read is not None and written is not None:
        written[...] = read
        return
    for read_slot, written_slot in zip(
        slots(source.layout), slots(destination.layout), strict=True
    ):
        value = source.buffer[source.offset + read_slot]
        destination.buffer[destination.offset + written_slot] = value


def strided(region: Region) -> "host.HostArray | None":
    """View a region as an array; None without NumPy, and for a list."""
    if isinstance(region.buffer, list):
        return None
    return host.strided(region.buffer, region.offset, region.layout)


def zeros(dtype: DType, layout: Layout) -> Region:
    """Give a region of zeros in the shape of a layout."""
    return Region(new_buffer(1, dtype), 0, stationary_layout(layout.shape))


def is_zero(values: Buffer) -> bool:
    """Tell whether all values have the bits of zero."""
    if isinstance(values, list):
        return all(is_zero_value(value) for value in values)
    return not memoryview(values).tobytes().strip(b"\0")


def is_zero_value(value: Any) -> bool:
    """Tell whether one value has the bits of zero; -0.0 has not."""
    return not value and str(value)[0] != "-"


def filled_like(prototype: Carrier, count: int, dtype: DType) -> Carrier:
    """Build a carrier of zeros.

    Args:
        prototype: A carrier of the wanted class.
        count: How many slots.
        dtype: The dtype of the new carrier.
    """
    carrier = fresh_like(prototype, count, dtype)
    if carrier._class_record.definition is not None:  # others fill with zero by themselves
        try:
            Canvas(carrier, count).finish()
        except BaseException:
            carrier.release()
            raise
    return carrier


def fresh_like(
    prototype: Carrier, count: int, dtype: DType, *, mutable: bool = True, empty: bool = False
) -> Carrier:
    """Build a carrier of a prototype's class, whose slots hold whatever it establishes.

    Args:
        prototype: A carrier of the wanted class.
        count: How many slots.
        dtype: The dtype of the new carrier.
        mutable: Whether it can be written.
        empty: Whether every slot is written before it is read.
    """
    keywords: dict[str, Any] = {} if dtype is prototype.dtype() else {"dtype": dtype}
    if not mutable:
        keywords["mutable"] = False
    if empty:
        keywords["empty"] = True
    return prototype.allocate_like(count, **keywords)
