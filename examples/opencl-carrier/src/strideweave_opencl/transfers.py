"""Routes that start a copy and return; an event tells when it is over.

A copy waits for all that was enqueued for its source or destination before. What comes later needs
no order: the framework owns both carriers until the copy is over.
"""

import ctypes

import pyopencl as cl
from strideweave import CPU, TransferRoute
from strideweave.carriers.extension import PreparedTransfer, TransferProvider, TransferRequest

from strideweave_opencl.carrier import OpenCLBuffer
from strideweave_opencl.completion import EventCompletion
from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.storage import item_bytes


def transfer_routes(
    interface: OpenCLInterface,
) -> tuple[TransferRoute[OpenCLBuffer, CPU], TransferRoute[OpenCLBuffer, OpenCLBuffer]]:
    """The routes that leave an OpenCLBuffer.

    Carriers without a route here, and everything that comes in, go through the spans.
    """

    def to_host(request: TransferRequest[OpenCLBuffer, CPU]) -> PreparedTransfer:
        def submit() -> EventCompletion[None]:
            size, start = _bytes(request)
            host = (ctypes.c_char * size).from_address(request.destination.pointer())
            event = cl.enqueue_copy(
                interface.transfers,
                host,
                request.source.buffer,
                src_offset=start,
                is_blocking=False,
                wait_for=[interface.fence()],
            )
            interface.transfers.flush()
            return EventCompletion(event, lambda: None)

        return PreparedTransfer(submit)

    def to_device(request: TransferRequest[OpenCLBuffer, OpenCLBuffer]) -> PreparedTransfer:
        def submit() -> EventCompletion[None]:
            size, start = _bytes(request)
            event = cl.enqueue_copy(
                interface.transfers,
                request.destination.buffer,
                request.source.buffer,
                src_offset=start,
                byte_count=size,
                wait_for=[interface.fence()],
            )
            interface.transfers.flush()
            request.destination.event = event
            return EventCompletion(event, lambda: None)

        return PreparedTransfer(submit)

    return (
        TransferRoute(OpenCLBuffer, CPU, "opencl.read", TransferProvider(to_host)),
        TransferRoute(OpenCLBuffer, OpenCLBuffer, "opencl.copy", TransferProvider(to_device)),
    )


def _bytes(request: TransferRequest[OpenCLBuffer]) -> tuple[int, int]:
    """The length of the transfer, and where it starts in the source."""
    width = item_bytes(request.source)
    return request.physical_span * width, request.tensor.offset * width
