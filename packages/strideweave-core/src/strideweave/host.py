"""Host arithmetic over carrier storage: NumPy where it is importable, else ``memoryview`` images.

This is the one place of core that uses NumPy, and it loads it on first use only. An array of this
module has one axis per layout leaf in *reversed* depth-first order, so its C order is logical order
and a canonical layout is C-contiguous. A function that needs NumPy answers ``None`` without it;
its caller then works on the plain values of ``strideweave.tensor.access``.

Nothing here checks release, mutability or shapes, and nothing changes a version.
"""

import sys
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots

if TYPE_CHECKING:
    from strideweave.tensor.tensor import Tensor

HostArray: TypeAlias = Any  # a numpy.ndarray; core is typed and installed without NumPy
Image: TypeAlias = "memoryview[Any]"
SpanFormat: TypeAlias = Literal["f", "i", "?"]

SPAN_FORMATS: Final[dict[DType, SpanFormat]] = {
    DType.Float32: "f",
    DType.Int32: "i",
    DType.Bool: "?",
}
"""The buffer format of a span (S-10), for each dtype that has one."""

_SLOT_BYTES: Final[dict[SpanFormat, int]] = {"f": 4, "i": 4, "?": 1}
_MOST_AXES: Final = 32  # NumPy 1.26 refuses more


@lru_cache(maxsize=1)
def numpy_module() -> Any | None:  # the numpy module
    """Load NumPy, once.

    Returns:
        The module, or ``None`` where NumPy is not installed.
    """
    try:
        return import_module("numpy")
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        return None


def new_image(slots: int, span_format: SpanFormat) -> "Image":
    """Build a writable buffer of zeros that can hold a span.

    Args:
        slots: How many slots it holds.
        span_format: One of the values of ``SPAN_FORMATS``.

    Returns:
        A one-dimensional C-contiguous memoryview of that format.
    """
    return memoryview(bytearray(slots * _SLOT_BYTES[span_format])).cast(span_format)


def read_image(tensor: "Tensor") -> "Image | None":
    """Copy the physical span of a Tensor: the ``layout.cosize`` slots from its offset.

    Returns:
        The copy, holes included, or ``None`` where the carrier offers no span.
    """
    span_format = SPAN_FORMATS.get(tensor._dtype)
    if span_format is None:
        return None
    image = new_image(tensor._layout.cosize, span_format)
    return image if spans.read_span(tensor._carrier, tensor._offset, image) else None


def writable_image(tensor: "Tensor") -> "Image | None":
    """Build the image that a later ``spans.write_span`` of a Tensor's values starts from.

    Returns:
        Zeros where the layout covers every slot, else the present span, so that holes survive;
        ``None`` where the carrier offers no span.
    """
    span_format = SPAN_FORMATS.get(tensor._dtype)
    if span_format is None:
        return None
    if tensor._layout.is_compact:
        return new_image(tensor._layout.cosize, span_format)
    return read_image(tensor)


def strided(base: Any, offset: int, layout: Layout) -> HostArray | None:
    """View one-dimensional storage through a layout.

    Args:
        base: A C-contiguous one-dimensional array or image.
        offset: The element of the layout's index zero.
        layout: The placement; it may broadcast and may leave holes.

    Returns:
        The view, as writable as ``base``; ``None`` without NumPy or with more leaves than an array
        has axes.

    Raises:
        OverflowError: The layout has more elements than an array can count.
    """
    numpy = numpy_module()
    geometry = _geometry(layout, base.itemsize)
    if numpy is None or geometry is None:
        return None
    extents, strides = geometry
    dtype = base.format if isinstance(base, memoryview) else base.dtype
    return numpy.ndarray(extents, dtype, base, offset * base.itemsize, strides)


@lru_cache(maxsize=1024)
def _geometry(layout: Layout, itemsize: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if len(layout.leaf_extents) > _MOST_AXES:
        return None
    if layout.size > sys.maxsize // itemsize:
        raise OverflowError(
            f"{layout.size} elements of {itemsize} bytes, as many as the layout {layout} has, "
            "exceed the address space"
        )
    strides = tuple(stride * itemsize for stride in reversed(layout.leaf_strides))
    return layout.leaf_extents[::-1], strides


def host_view(tensor: "Tensor") -> HostArray | None:
    """View a Tensor's own memory.

    Returns:
        The live array, or ``None`` where the carrier keeps no host array or has lost it.
    """
    base = spans.host_array(tensor._carrier)
    return None if base is None else strided(base, tensor._offset, tensor._layout)


def read_array(tensor: "Tensor") -> HostArray | None:
    """Read the values of a Tensor without a Python loop.

    Returns:
        The live view where there is one (never write to it), else a strided view over a copied
        span; ``None`` where neither is offered. Bool elements are 0 or 1 in memory.
    """
    numpy, view = numpy_module(), host_view(tensor)
    if numpy is None:
        return None
    if view is not None:
        # Memory that somebody else writes to may hold any byte for True.
        return view.view(numpy.uint8) != 0 if tensor._dtype is DType.Bool else view
    values = tensor._carrier._read_tensor(tensor)
    if values is not None:
        return numpy.asarray(values).reshape(tensor._layout.leaf_extents[::-1])
    image = read_image(tensor)
    return None if image is None else strided(image, 0, tensor._layout)


def write_array(tensor: "Tensor", values: HostArray) -> bool:
    """Store values through an injective layout without a Python loop; holes keep what they hold.

    Args:
        tensor: Where to store.
        values: An array of the same element type that broadcasts to the Tensor's array shape.

    Returns:
        ``False``, with nothing written, where the carrier takes neither arrays nor spans.
    """
    view = host_view(tensor)
    if view is not None:
        view[...] = values
        return True
    if writes_tensors(tensor._carrier) and _write_logical(tensor, values):
        return True
    image = None if numpy_module() is None else writable_image(tensor)
    if image is None:
        return False
    window = strided(image, 0, tensor._layout)
    if window is None:
        return False
    window[...] = values
    return spans.write_span(tensor._carrier, tensor._offset, image)


def writes_tensors(carrier: Carrier) -> bool:
    """Tell whether a class may have its own way of writing Tensors."""
    return type(carrier)._write_tensor is not Carrier._write_tensor


def _write_logical(tensor: "Tensor", values: HostArray) -> bool:
    numpy = numpy_module()
    assert numpy is not None, "the caller has an array, so NumPy is loaded"
    whole = numpy.broadcast_to(values, tensor._layout.leaf_extents[::-1])
    return tensor._carrier._write_tensor(tensor, numpy.ascontiguousarray(whole).reshape(-1).data)


def new_storage(prototype: Carrier, dtype: DType, layout: Layout, values: HostArray) -> Carrier:
    """Build a fresh carrier of a prototype's exact class with values placed by a layout.

    Args:
        prototype: Any carrier of the wanted class, live or released.
        dtype: The dtype of the new carrier, one with a span format.
        layout: An injective placement at offset 0; slots that it leaves out hold zero.
        values: An array that broadcasts to the layout's array shape.

    Returns:
        The carrier, with ``layout.cosize`` slots and version 0.
    """
    numpy = numpy_module()
    assert numpy is not None, "the caller has an array, so NumPy is loaded"
    storage = numpy.zeros(layout.cosize, SPAN_FORMATS[dtype])
    window = strided(storage, 0, layout)
    if window is None:
        storage[slots(layout)] = numpy.ravel(values)
    else:
        window[...] = values
    return carrier_of(storage, prototype, dtype)


def carrier_of(storage: HostArray, prototype: Carrier, dtype: DType = DType.Float32) -> Carrier:
    """Build a fresh carrier of a prototype's exact class that holds an array.

    Args:
        storage: A one-dimensional array, one element per slot.
        prototype: Any carrier of the wanted class, live or released.
        dtype: The dtype of the new carrier.

    Returns:
        The carrier, at version 0.
    """
    # A class that loops over its values is given plain ones, because NumPy scalars are slow there.
    values = storage if prototype._copies_arrays() else storage.tolist()
    if dtype is prototype.dtype():
        return prototype.new_like(values)
    return prototype.new_like(values, dtype=dtype)
