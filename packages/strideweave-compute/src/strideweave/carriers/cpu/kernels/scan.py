"""Running sums along one mode, and reversal of one."""

import numpy

from strideweave.carriers.cpu.kernels.frame import Kernel, quiet
from strideweave.carriers.cpu.views import parameter, result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor


def _cumsum(invocation: ResolvedInvocation) -> Tensor:
    # The start is a real term, which makes a leading -0.0 a +0.0.
    steps = slices(invocation, 0, parameter(invocation, 1)).copy()
    steps[:, 0] += 0
    sums = numpy.add.accumulate(steps, 1, out=steps)
    return result(sums.reshape(-1), invocation.results[0])


def _flip(invocation: ResolvedInvocation) -> Tensor:
    steps = slices(invocation, 0, parameter(invocation, 1))
    return result(steps[:, ::-1].copy().reshape(-1), invocation.results[0])


KERNELS: dict[str, Kernel] = {"cumsum": quiet(_cumsum), "flip": quiet(_flip)}
