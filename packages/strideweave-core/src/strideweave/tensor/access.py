"""Reading and writing the values of a Tensor, one coordinate or all at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import strideweave.host as host
from strideweave.carriers import spans
from strideweave.layout.enumeration import slots

if TYPE_CHECKING:
    from strideweave.tensor.tensor import Tensor

Value: TypeAlias = float | int | bool


def is_coordinate(key: object) -> bool:
    """Tell whether a key consists of integers, tuples and lists only; ``bool`` is no integer."""
    if isinstance(key, int):
        return not isinstance(key, bool)
    if isinstance(key, (tuple, list)):
        return all(is_coordinate(component) for component in key)
    return False


def contains_slice(key: object) -> bool:
    """Tell whether a slice stands anywhere in a key, at any nesting."""
    if isinstance(key, (tuple, list)):
        return any(contains_slice(component) for component in key)
    return isinstance(key, slice)


def key_message(key: object) -> str:
    """Word the refusal of a key that is no coordinate."""
    return (
        "Tensor indices must be integers or tuples/lists of integers that mirror the shape, got "
        f"{_offender(key)!r} in {key!r}; slices only read views, and `view[...] = values` writes "
        "all values of a view"
    )


def _offender(key: object) -> object:
    if isinstance(key, (tuple, list)):
        return next(_offender(component) for component in key if not is_coordinate(component))
    return key


def item(tensor: "Tensor") -> Value:
    """Read the only value of a Tensor."""
    layout = tensor._layout
    if layout.size != 1:
        raise ValueError(
            f"item() needs a Tensor with exactly one element, got layout {layout} with "
            f"{layout.size}; use tolist() or a coordinate"
        )
    value: Value = tensor._carrier[tensor._offset]
    return value


def tolist(tensor: "Tensor") -> Any:  # nested lists as deep as the rank
    """Nest the values of a Tensor, one list per top-level mode."""
    shape = tensor._layout.shape
    return _nest(logical_values(tensor), [mode.size for mode in shape])


def _nest(values: list[Value], extents: list[int]) -> Any:
    if not extents:
        return values[0]
    first = extents[0]
    if len(extents) == 1:
        return values
    return [_nest(values[start::first], extents[1:]) for start in range(first)]


def logical_values(tensor: "Tensor") -> list[Value]:
    """Read all values of a Tensor in logical order, the first mode fastest.

    Returns:
        Plain Python numbers.

    Raises:
        RuntimeError: If the carrier is released or evicted.
    """
    view = host.host_view(tensor)
    if view is not None:
        values: list[Value] = view.ravel().tolist()
        return values
    carrier, layout = tensor._carrier, tensor._layout
    if not carrier.is_released():  # else the first slot raises
        own = carrier._read_tensor(tensor)
        if own is not None:
            return list(own)
        image = host.read_image(tensor)
        if image is not None:
            return list(map(image.tolist().__getitem__, slots(layout)))
    offset = tensor._offset
    return [carrier[offset + slot] for slot in slots(layout)]


def write_logical_values(tensor: "Tensor", values: Sequence[Value]) -> None:
    """Store values in logical order through an injective layout; holes keep what they hold.

    Checks neither permission nor values, and leaves the version alone, except that the
    ``set_value`` of a definition-free class without spans may advance it.

    Args:
        tensor: Where to store.
        values: One value per coordinate, already normalised for the dtype.
    """
    array = _as_array(tensor, values)
    if array is not None and host.write_array(tensor, array):
        return
    if _write_own(tensor, values):
        return
    layout = tensor._layout
    image = host.writable_image(tensor)
    if image is not None:
        for slot, value in zip(slots(layout), values, strict=True):
            image[slot] = value
        if spans.write_span(tensor._carrier, tensor._offset, image):
            return
    carrier, offset = tensor._carrier, tensor._offset
    for slot, value in zip(slots(layout), values, strict=True):
        spans.write_slot(carrier, offset + slot, value)


def _write_own(tensor: "Tensor", values: Sequence[Value]) -> bool:
    """Store values in the carrier's own way, if its class has one."""
    span_format = host.SPAN_FORMATS.get(tensor._dtype)
    if span_format is None or not host.writes_tensors(tensor._carrier):
        return False
    image = host.new_image(len(values), span_format)
    for position, value in enumerate(values):
        image[position] = value
    return tensor._carrier._write_tensor(tensor, image)


def _as_array(tensor: "Tensor", values: Sequence[Value]) -> host.HostArray | None:
    numpy, span_format = host.numpy_module(), host.SPAN_FORMATS.get(tensor._dtype)
    if numpy is None or span_format is None:
        return None
    return numpy.array(values, span_format).reshape(tensor._layout.leaf_extents[::-1])
