"""Copying the values of a Tensor into a carrier: the whole span at once, else slot by slot."""

from collections.abc import Mapping
from functools import partial
from typing import Any, TypeAlias

import strideweave.host as host
from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.carriers.normalization import normalize
from strideweave.dtype import DType
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots
from strideweave.tensor.tensor import Tensor

Values: TypeAlias = "host.Image | Mapping[int, Any]"
"""What each slot of a layout holds; a mapping leaves out slots that the layout does not address."""


def copy_values(tensor: Tensor, destination: Carrier) -> None:
    """Put the values of a Tensor where its layout, from slot 0, places them in a carrier.

    Everything is read before anything is written. Slots that the layout does not address are
    copied along with a span and else left alone. Nothing is checked, and no version changes
    except by a ``set_value`` of a definition-free class without bulk access.

    Args:
        tensor: A Tensor over a live carrier.
        destination: A live writable carrier of the same dtype with ``layout.cosize`` slots.
    """
    span = _read_span(tensor)
    values: Values = _read_slots(tensor) if span is None else span
    if not _write_span(tensor, destination, values):
        for slot in _addressed(tensor._layout):
            spans.write_slot(destination, slot, values[slot])


def _read_span(tensor: Tensor) -> "host.Image | None":
    carrier, start, count = tensor._carrier, tensor._offset, tensor._layout.cosize
    array = spans.host_array(carrier)
    if array is not None:
        values = array[start : start + count]
        if tensor._dtype is DType.Bool:
            values = values.view("u1") != 0  # memory of others may hold any byte for True
        return memoryview(values).toreadonly()
    span_format = host.SPAN_FORMATS.get(tensor._dtype)
    if span_format is None:
        return None
    image = host.new_image(count, span_format)
    return image if spans.read_span(carrier, start, image) else None


def _read_slots(tensor: Tensor) -> dict[int, Any]:
    carrier, offset, dtype = tensor._carrier, tensor._offset, tensor._dtype
    storage = carrier._class_record.storage
    read = carrier.__getitem__ if storage is None else partial(storage.read, carrier)
    return {slot: normalize(dtype, read(offset + slot)) for slot in _addressed(tensor._layout)}


def _write_span(tensor: Tensor, destination: Carrier, values: Values) -> bool:
    image = values if isinstance(values, memoryview) else _image(tensor, values)
    if image is None:
        return False
    array = spans.host_array(destination)
    if array is None:
        return spans.write_span(destination, 0, image)
    array[: len(image)] = image
    return True


def _image(tensor: Tensor, values: Mapping[int, Any]) -> "host.Image | None":
    span_format = host.SPAN_FORMATS.get(tensor._dtype)
    if span_format is None:
        return None
    image = host.new_image(tensor._layout.cosize, span_format)
    for slot, value in values.items():
        image[slot] = value
    return image


def _addressed(layout: Layout) -> dict[int, None]:
    """Give the distinct slots of a layout, in the order of the first ordinal of each."""
    return dict.fromkeys(slots(layout))
