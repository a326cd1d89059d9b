"""The storage callbacks: slots of a ``cl_mem`` object, one by one or in spans."""

from functools import partial
from typing import Any, Final

import numpy as np
import pyopencl as cl
from strideweave import DType, StorageProvider

from strideweave_opencl.carrier import OpenCLBuffer
from strideweave_opencl.interface import OpenCLInterface

STORED: Final[dict[DType, np.dtype[Any]]] = {
    DType.Float32: np.dtype(np.float32),
    DType.Int32: np.dtype(np.int32),
    DType.Bool: np.dtype(np.bool_),
}

_ZERO: Final = np.zeros(1, np.uint8)


def storage_provider(interface: OpenCLInterface) -> StorageProvider[OpenCLBuffer]:
    """Keep slots in buffers of the interface's context."""
    return StorageProvider[OpenCLBuffer](
        supports_dtype=_supports_dtype,
        physical_size=_physical_size,
        allocate=partial(_allocate, interface),
        release=_release,
        read=partial(_read, interface),
        write=partial(_write, interface),
        elementwise_fallback=True,
        read_span=partial(_read_span, interface),
        write_span=partial(_write_span, interface),
    )


def item_bytes(carrier: OpenCLBuffer) -> int:
    """Bytes of one slot."""
    return STORED[carrier.dtype()].itemsize


def _supports_dtype(carrier: OpenCLBuffer, dtype: DType) -> bool:
    return any(dtype is stored for stored in STORED)


def _physical_size(carrier: OpenCLBuffer) -> int:
    return carrier.extent


def _allocate(interface: OpenCLInterface, carrier: OpenCLBuffer, slots: int) -> None:
    size = max(1, slots * item_bytes(carrier))
    buffer = cl.Buffer(interface.context, cl.mem_flags.READ_WRITE, size)
    if not carrier.uninitialized:
        carrier.event = cl.enqueue_fill_buffer(interface.queue, buffer, _ZERO, 0, size)
    carrier.buffer, carrier.extent = buffer, slots


def _release(carrier: OpenCLBuffer) -> None:
    # The device keeps the memory until the commands that use it are over.
    del carrier.buffer
    carrier.extent, carrier.event = 0, None


def _read(interface: OpenCLInterface, carrier: OpenCLBuffer, index: int) -> object:
    value = np.empty(1, STORED[carrier.dtype()])
    _from_device(interface, carrier, index, value)
    return value.item()


def _write(interface: OpenCLInterface, carrier: OpenCLBuffer, index: int, value: object) -> None:
    _to_device(interface, carrier, index, np.array([value], STORED[carrier.dtype()]))


def _read_span(
    interface: OpenCLInterface, carrier: OpenCLBuffer, start: int, out: memoryview
) -> None:
    if len(out):
        _from_device(interface, carrier, start, np.asarray(out))


def _write_span(
    interface: OpenCLInterface, carrier: OpenCLBuffer, start: int, values: memoryview
) -> None:
    if len(values):
        _to_device(interface, carrier, start, np.asarray(values))


def _from_device(
    interface: OpenCLInterface, carrier: OpenCLBuffer, start: int, out: np.ndarray[Any, Any]
) -> None:
    offset = start * item_bytes(carrier)
    cl.enqueue_copy(interface.queue, out, carrier.buffer, src_offset=offset)


def _to_device(
    interface: OpenCLInterface, carrier: OpenCLBuffer, start: int, values: np.ndarray[Any, Any]
) -> None:
    # The copy blocks: the framework lends the values for the duration of the call only.
    offset = start * item_bytes(carrier)
    cl.enqueue_copy(interface.queue, carrier.buffer, values, dst_offset=offset)
