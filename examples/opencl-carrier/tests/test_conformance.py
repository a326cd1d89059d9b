"""The conformance kit of StrideWeave passes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import pyopencl as cl
from strideweave import CPU
from strideweave.carriers.dtype import SimpleDType
from strideweave.testing import Ability, CarrierConformance, Peer

from strideweave_opencl import INTERFACE, OpenCLBuffer
from strideweave_opencl.storage import STORED

ON_CPU = Peer(CPU, lambda size, dtype: CPU(size, dtype=dtype))


class TestOpenCLBuffer(CarrierConformance[OpenCLBuffer]):
    """Every check that an author can ask for."""

    carrier_class = OpenCLBuffer
    abilities = frozenset(Ability)
    peers: ClassVar[tuple[Peer, ...]] = (*CarrierConformance.peers, ON_CPU)

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> OpenCLBuffer:
        return OpenCLBuffer(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: OpenCLBuffer, slot: int) -> object:
        value = np.empty(1, STORED[carrier.dtype()])
        at = slot * value.itemsize
        cl.enqueue_copy(INTERFACE.queue, value, carrier.buffer, src_offset=at)
        return value.item()

    def raw_write(self, carrier: OpenCLBuffer, slot: int, value: Any) -> None:
        with np.errstate(over="ignore"):
            given = np.array([value], STORED[carrier.dtype()])
        at = slot * given.itemsize
        cl.enqueue_copy(INTERFACE.queue, carrier.buffer, given, dst_offset=at)

    @contextmanager
    def slow_transfer(self) -> Iterator[cl.UserEvent]:
        """Close the queue of transfers until the context is left."""
        event = cl.UserEvent(INTERFACE.context)
        cl.enqueue_barrier(INTERFACE.transfers, wait_for=[event])
        try:
            yield event
        finally:
            event.set_status(cl.command_execution_status.COMPLETE)
