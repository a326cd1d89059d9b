"""OpenCLBuffer: slots in the memory of an OpenCL device."""

from typing import final

import pyopencl as cl
from strideweave import Carrier, DType


@final
class OpenCLBuffer(Carrier):
    """Slots in one ``cl_mem`` object, computed by kernels of the same device.

    Kernels that cannot fail are only enqueued when an operation returns; the device's in-order
    queue runs them before anything that reads their result. ``is_ready`` tells whether it has.

    Args:
        slots: Slot count, at least 0.
        dtype: ``DType.Float32``, ``DType.Int32`` or ``DType.Bool`` (one byte per slot).
        mutable: Whether values can be written.
        uninitialized: Whether the slots may hold anything at first; otherwise they are zero.

    Raises:
        TypeError: An argument has another type, or the dtype is not stored.
        ValueError: ``slots`` is negative.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave_opencl import OpenCLBuffer
        >>> carrier = OpenCLBuffer(0, dtype=sw.DType.Float32).new_like([1.0, 2.0, 3.0])
        >>> tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(3), sw.Stride(1)))
        >>> sw.add(tensor, tensor).tolist()
        [2.0, 4.0, 6.0]
    """

    buffer: cl.Buffer
    """The memory; at least one byte, since OpenCL has no empty ones."""
    extent: int
    """Slot count of the memory, 0 after release."""
    event: cl.Event | None
    """The last kernel or copy that was enqueued to write the memory."""
    uninitialized: bool

    def __init__(
        self,
        slots: int | None = None,
        *,
        dtype: DType | None = None,
        mutable: bool = True,
        uninitialized: bool = False,
    ) -> None:
        self.uninitialized = uninitialized
        self.event = None
        super().__init__(slots, dtype=dtype, mutable=mutable)

    def is_ready(self) -> bool:
        """Tell whether the device has finished what was enqueued to write these slots."""
        event = self.event
        complete: int = cl.command_execution_status.COMPLETE
        return event is None or event.command_execution_status <= complete
