from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import pyopencl as cl
import pytest
import strideweave as sw
from strideweave import DType, KernelPack, KernelPattern, OperationCapability, Unsupported
from strideweave.carriers.extension import PreparedKernel
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import ResolvedInvocation, operation_definition

from strideweave_opencl import INTERFACE, OpenCLBuffer, OpenCLInterface
from strideweave_opencl.activations import PACK

WATCHERS: list[list[ResolvedInvocation]] = []


def watch(
    invocation: ResolvedInvocation, interface: OpenCLInterface
) -> PreparedKernel | Unsupported:
    for watcher in WATCHERS:
        watcher.append(invocation)
    return Unsupported("only watches")


# Packs join before the first OpenCLBuffer is made, so before any test.
GATHER = [
    OperationCapability.from_plan(plan) for plan in resolvable_plans() if plan.operation == "gather"
]
WATCHER = KernelPattern(operation_definition("gather"), GATHER, "watch:gather", watch, 100)
sw.register_kernel_pack(PACK)
sw.register_kernel_pack(KernelPack("tests", "1", OpenCLBuffer, INTERFACE, [WATCHER]))


@pytest.fixture
def seen() -> Iterator[list[ResolvedInvocation]]:
    """The calls of gather, as patterns get them, since the test began."""
    WATCHERS.append([])
    yield WATCHERS[-1]
    WATCHERS.clear()  # the calls keep their operands


@pytest.fixture
def on_device() -> Callable[..., sw.Tensor]:
    """Make a Tensor in OpenCL memory; the slots hold the values in their order."""

    def make(
        values: Sequence[float],
        layout: sw.Layout | None = None,
        dtype: DType = DType.Float32,
        offset: int = 0,
    ) -> sw.Tensor:
        carrier = OpenCLBuffer(0, dtype=dtype).new_like(values)
        flat = sw.Layout(sw.Shape(len(values)), sw.Stride(1))
        return sw.Tensor(carrier, offset, layout or flat)

    return make


Gate = Callable[[cl.CommandQueue], AbstractContextManager[cl.UserEvent]]


@pytest.fixture
def gate() -> Gate:
    """Hold back what is enqueued, until the context is left or its event completed."""

    @contextmanager
    def closed(queue: cl.CommandQueue) -> Iterator[cl.UserEvent]:
        event = cl.UserEvent(INTERFACE.context)
        cl.enqueue_barrier(queue, wait_for=[event])
        try:
            yield event
        finally:
            if event.command_execution_status != cl.command_execution_status.COMPLETE:
                event.set_status(cl.command_execution_status.COMPLETE)

    return closed
