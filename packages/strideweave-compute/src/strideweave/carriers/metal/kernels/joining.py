"""Copies of operands side by side, and of one inside a border."""

from typing import TYPE_CHECKING

from strideweave.carriers.cpu.views import axes, operands, parameter
from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel
from strideweave.carriers.metal.runtime import load
from strideweave.carriers.metal.storage import ELEMENTS
from strideweave.carriers.metal.views import operand, result, slices
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core


def _concat(invocation: ResolvedInvocation) -> Tensor:
    axis = parameter(invocation, 2)
    parts = [slices(invocation, position, axis) for position in (0, 1)]
    return result(primitives.concatenate(parts, 1), invocation.results[0])


def _pad(invocation: ResolvedInvocation) -> Tensor:
    spec = invocation.results[0]
    sizes = axes(operands(invocation)[0].layout).sizes
    modes = primitives.reshape(operand(invocation, 0), sizes[::-1])
    border = mx.array(parameter(invocation, 2), ELEMENTS[spec.dtype])
    padding = [*parameter(invocation, 1)[::-1]]
    return result(primitives.pad(modes, padding, constant_values=border), spec)


KERNELS: dict[str, Kernel] = {"concat": _concat, "pad": _pad}
