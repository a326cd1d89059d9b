"""Bulk write: ``tensor[...] = value`` replaces every logical value in one version step."""

import sys
from numbers import Real
from typing import Any, Final

import strideweave.host as host
from strideweave.carriers.base import Carrier
from strideweave.carriers.normalization import normalize
from strideweave.dtype import DType
from strideweave.layout import Layout, Shape, Stride
from strideweave.layout.enumeration import slots
from strideweave.tensor.access import Value, logical_values, write_logical_values
from strideweave.tensor.tensor import Tensor

_NATIVE_ORDERS: Final = "@=" + ("<" if sys.byteorder == "little" else ">")
_FORMATS: Final[dict[DType, tuple[str, ...]]] = {
    DType.Float32: ("f",),
    DType.Int32: ("i", "l"),  # "l" where a C long has four bytes
    DType.Bool: ("?",),
}


def write(tensor: Tensor, value: object) -> None:
    """Replace every logical value of a Tensor (T-47).

    Args:
        tensor: Where to write; its layout must be injective.
        value: A real number or ``bool`` for all coordinates, a Tensor of the same dtype and shape
            on any carrier, or a buffer of the storage dtype with the leaf extents, depth first, or
            with one dimension in logical order.

    Raises:
        TypeError: If the value has another type or dtype.
        OverflowError: If a number is too large for the dtype.
        ValueError: If its shape differs, or the layout is not injective.
        RuntimeError: If the carrier is released or not mutable, or the source is released.
    """
    if isinstance(value, Tensor):
        _check_tensor(tensor, value)
        _check_destination(tensor)
        if value._carrier.is_released():
            raise RuntimeError(
                f"the source's {type(value._carrier).__qualname__} carrier is released"
            )
        if tensor._carrier._store_tensor(tensor, value):
            tensor._carrier._count_write()
        else:
            _store(tensor, host.read_array(value), value)
    elif isinstance(value, Real):
        number = normalize(tensor._carrier.dtype(), value)
        _check_destination(tensor)
        _store(tensor, _number_array(tensor, number), number)
    else:
        buffer = _buffer(tensor, value)
        _check_destination(tensor)
        _store(tensor, _buffer_array(tensor, buffer), buffer)


def _store(
    tensor: Tensor, array: host.HostArray | None, value: Tensor | memoryview | Value
) -> None:
    """Write by array where possible, else value by value, and count one version step."""
    carrier = tensor._carrier
    version = carrier.version
    if array is None or not host.write_array(tensor, array):
        write_logical_values(tensor, _values(tensor, value))
    _count_step(carrier, version)


def _count_step(carrier: Carrier, version: int) -> None:
    # The set_value of a definition-free class without spans may have counted already.
    if carrier.version == version:
        carrier._count_write()


def _values(tensor: Tensor, value: Tensor | memoryview | Value) -> list[Value]:
    if isinstance(value, Tensor):
        storage_dtype = tensor._carrier.dtype()
        return [normalize(storage_dtype, entry) for entry in logical_values(value)]
    if isinstance(value, memoryview):
        return _buffer_values(tensor._layout, value)
    return [value] * tensor._layout.size


def _check_tensor(tensor: Tensor, source: Tensor) -> None:
    if source._dtype is not tensor._dtype:
        raise TypeError(
            f"a bulk write keeps the dtype: the source has {source._dtype.name}, the Tensor "
            f"{tensor._dtype.name}"
        )
    if source._layout.shape != tensor._layout.shape:
        raise ValueError(
            f"a bulk write keeps the shape: the source has {source._layout.shape}, the Tensor "
            f"{tensor._layout.shape}"
        )


def _check_destination(tensor: Tensor) -> None:
    carrier = tensor._carrier
    if not tensor._layout.is_injective:
        raise ValueError(
            f"a bulk write needs an injective layout, {tensor._layout} sends several coordinates "
            f"to one slot"
        )
    if carrier.is_released():
        raise RuntimeError(f"the {type(carrier).__qualname__} carrier is released")
    if not carrier.is_mutable():
        raise RuntimeError(f"the {type(carrier).__qualname__} carrier is not mutable")


def _buffer(tensor: Tensor, value: object) -> memoryview:
    """Accept a buffer of the Tensor's dtype and extents."""
    dtype, layout = tensor._carrier.dtype(), tensor._layout
    try:
        buffer = memoryview(value)  # type: ignore[arg-type]  # the call is the test
    except TypeError:
        raise TypeError(
            f"a bulk write takes a real number, a Tensor or a buffer, got "
            f"{type(value).__qualname__}; friendly.tensor makes a Tensor of a list"
        ) from None
    if buffer.format.lstrip(_NATIVE_ORDERS) not in _FORMATS.get(dtype, ()) or (
        buffer.itemsize != (1 if dtype is DType.Bool else 4)
    ):
        raise TypeError(
            f"a bulk write into a {dtype.name} Tensor takes a buffer of that dtype, got format "
            f"{buffer.format!r} with {buffer.itemsize} bytes per item"
        )
    if buffer.shape not in (layout.leaf_extents, (layout.size,)):
        raise ValueError(
            f"a bulk write into layout {layout} takes a buffer of shape {layout.leaf_extents} or "
            f"{(layout.size,)}, got {buffer.shape}"
        )
    return buffer


def _number_array(tensor: Tensor, number: Value) -> host.HostArray | None:
    numpy, span_format = host.numpy_module(), host.SPAN_FORMATS.get(tensor._dtype)
    return None if numpy is None or span_format is None else numpy.array(number, span_format)


def _buffer_array(tensor: Tensor, buffer: memoryview) -> host.HostArray | None:
    numpy = host.numpy_module()
    if numpy is None:
        return None
    array = numpy.asarray(buffer)
    if tensor._carrier.dtype() is DType.Bool:
        array = array.view(numpy.uint8) != 0  # a true byte need not be 1
    extents = tensor._layout.leaf_extents
    return array.T if buffer.shape == extents else array.reshape(extents[::-1])


def _buffer_values(layout: Layout, buffer: memoryview) -> list[Value]:
    image: Any = memoryview(buffer.tobytes())  # typeshed's cast takes literal formats only
    values: list[Value] = image.cast(buffer.format[-1]).tolist()
    if buffer.shape != layout.leaf_extents:
        return values
    # The bytes are in C order, the last leaf fastest: pick them the first leaf fastest.
    strides, step = [0] * len(buffer.shape), 1
    for axis in reversed(range(len(buffer.shape))):
        strides[axis] = step
        step *= buffer.shape[axis]
    c_order = Layout(Shape(list(buffer.shape)), Stride(strides))
    return [values[slot] for slot in slots(c_order)]
