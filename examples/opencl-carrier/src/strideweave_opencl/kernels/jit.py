"""Patterns whose kernel is compiled for the layouts of the call, and the launch they share."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pyopencl as cl
from strideweave import KernelPattern, OperationCapability, ResultSpec, Tensor, Unsupported
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.operation import ResolvedInvocation, operation_definition

from strideweave_opencl.carrier import OpenCLBuffer
from strideweave_opencl.completion import EventCompletion
from strideweave_opencl.interface import CompiledKernel, KernelArgument, OpenCLInterface
from strideweave_opencl.kernels.faults import NO_FAULT, FaultError
from strideweave_opencl.kernels.operands import (
    C_TYPES,
    arguments,
    parameters,
    structural,
    tensors,
)


class KernelText(NamedTuple):
    """The bodies of kernels for one set of layouts, which are compiled as one program.

    Building a program takes as long for many kernels as for one, so operations with equal plans
    share one. A body computes for the work item ``item`` from ``x0``, ``x1`` ... into ``result``.
    """

    bodies: Mapping[str, str]
    """By operation; the one that was called is among them."""
    items: int
    """How many work items each kernel has."""
    fault: FaultError | None = None
    """Makes the exception for what the body marks through ``fault``."""


class _Specialisation(NamedTuple):
    kernel: CompiledKernel
    items: int
    fault: FaultError | None


def jit_pattern(
    name: str,
    kernel_id: str,
    plans: Sequence[OperationCapability],
    write: Callable[[ResolvedInvocation], KernelText],
    *,
    decline: Callable[[ResolvedInvocation], str | None] = lambda invocation: None,
    preference: int = 0,
) -> KernelPattern[OpenCLInterface]:
    """Make a pattern that compiles a kernel for each combination of plan and layouts.

    Args:
        name: The operation.
        kernel_id: The pattern's name.
        plans: What it serves.
        write: Writes the kernel; looks at the plan, layouts and structural operands only, since
            its text serves every call that agrees in them.
        decline: Says why this call does not suit the pattern, or None; may look at offsets too.
        preference: As in KernelPattern.
    """

    def prepare(
        invocation: ResolvedInvocation, interface: OpenCLInterface
    ) -> PreparedKernel | Unsupported:
        reason = decline(invocation)
        if reason is not None:
            return Unsupported(reason)
        layouts = tuple(tensor.layout for tensor in tensors(invocation))
        shape = invocation.results[0].layout
        key = (kernel_id, invocation.plan, layouts, shape, structural(invocation))
        made = interface.specialised(key, lambda: _specialise(invocation, write, interface))
        given = arguments(invocation)
        launch = partial(interface.launch, kernel_id, made.kernel, made.items)
        if made.fault is None:
            return PreparedKernel(interface, lambda: _enqueued(invocation, given, launch, made))
        return PreparedKernel(
            interface, lambda: _checked(invocation, given, launch, made, interface)
        )

    return KernelPattern(operation_definition(name), plans, kernel_id, prepare, preference)


def new_result(spec: ResultSpec) -> tuple[OpenCLBuffer, Tensor]:
    """Memory for a result whose slots a kernel fills, and the Tensor over it."""
    carrier = OpenCLBuffer(spec.layout.cosize, dtype=spec.dtype, uninitialized=True)
    return carrier, Tensor(carrier, 0, spec.layout)


def _specialise(
    invocation: ResolvedInvocation,
    write: Callable[[ResolvedInvocation], KernelText],
    interface: OpenCLInterface,
) -> _Specialisation:
    text = write(invocation)
    declared = [
        *parameters(invocation),
        f"__global {C_TYPES[invocation.results[0].dtype]} *result",
        "const ulong size",
    ]
    if text.fault is not None:
        declared.append("__global int *fault")
    source = "\n".join(
        f"__kernel void serve_{name}({', '.join(declared)}) {{\n"
        f"const ulong item = get_global_id(0);\nif (item >= size) return;\n{body}\n}}"
        for name, body in text.bodies.items()
    )
    kernel = interface.compiled(source, f"serve_{invocation.name}")
    return _Specialisation(kernel, text.items, text.fault)


Launch = Callable[[list[KernelArgument]], cl.Event]


def _enqueued(
    invocation: ResolvedInvocation,
    given: list[KernelArgument],
    launch: Launch,
    made: _Specialisation,
) -> ProviderResult:
    """Enqueue a kernel that cannot fail; whatever reads its result comes behind it in the queue."""
    carrier, result = new_result(invocation.results[0])
    carrier.event = launch([*given, carrier.buffer, np.uint64(made.items)])
    return ProviderResult((result,))


def _checked(
    invocation: ResolvedInvocation,
    given: list[KernelArgument],
    launch: Launch,
    made: _Specialisation,
    interface: OpenCLInterface,
) -> EventCompletion[ProviderResult]:
    """Enqueue a kernel and the transfer of its fault; the completion raises what it marked."""
    carrier, result = new_result(invocation.results[0])
    first = np.array([NO_FAULT], np.int32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    marked = cl.Buffer(interface.context, flags, hostbuf=first)
    carrier.event = launch([*given, carrier.buffer, np.uint64(made.items), marked])
    transfer = cl.enqueue_copy(interface.queue, first, marked, is_blocking=False)
    interface.queue.flush()
    error = made.fault

    def outcome() -> ProviderResult:
        if error is not None and first[0] != NO_FAULT:
            raise error(invocation, int(first[0]))
        return ProviderResult((result,))

    return EventCompletion(transfer, outcome)
