"""Running sums along one mode, and reversal of one."""

from strideweave.carriers.cpu.views import parameter
from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel
from strideweave.carriers.metal.views import result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor


def _cumsum(invocation: ResolvedInvocation) -> Tensor:
    steps = primitives.transpose(slices(invocation, 0, parameter(invocation, 1)), (0, 2, 1))
    # In the memory of one fiber after the other the order of the terms is fixed.
    sums = primitives.cumsum(primitives.contiguous(steps), 2)
    # The start is a real term, which makes a leading -0.0 a +0.0.
    started = primitives.add(sums, primitives.ZERO)
    return result(primitives.transpose(started, (0, 2, 1)), invocation.results[0])


def _flip(invocation: ResolvedInvocation) -> Tensor:
    steps = slices(invocation, 0, parameter(invocation, 1))
    # The reversal of a single step is the operand itself, and shares all of its memory.
    return result(primitives.copied(primitives.flip(steps, 1)), invocation.results[0])


KERNELS: dict[str, Kernel] = {"cumsum": _cumsum, "flip": _flip}
