"""Copies of operands side by side, and of one inside a border."""

import numpy

from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, Array
from strideweave.carriers.cpu.kernels.frame import Kernel, quiet
from strideweave.carriers.cpu.views import array_over, operands, parameter, result, strided
from strideweave.layout import Layout
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.ops.joining import starts_along, starts_inside
from strideweave.ops.metadata import window_layout, window_start
from strideweave.tensor.tensor import Tensor


def _place(values: Array, layout: Layout, source: Tensor, starts: tuple[int, ...]) -> None:
    """Copy a Tensor into a block of the storage of a layout."""
    block = window_layout(layout, source.layout.shape)
    array_over(values, window_start(layout, starts), block)[...] = strided(source)


def _concat(invocation: ResolvedInvocation) -> Tensor:
    spec = invocation.results[0]
    lhs, rhs = operands(invocation)[:2]
    axis = parameter(invocation, 2)
    values = numpy.empty(spec.layout.cosize, NUMPY_DTYPES[spec.dtype])
    _place(values, spec.layout, lhs, ())
    _place(values, spec.layout, rhs, starts_along(axis, lhs.layout.shape[axis].size))
    return result(values, spec)


def _pad(invocation: ResolvedInvocation) -> Tensor:
    spec = invocation.results[0]
    starts = starts_inside(parameter(invocation, 1))
    values = numpy.full(spec.layout.cosize, parameter(invocation, 2), NUMPY_DTYPES[spec.dtype])
    _place(values, spec.layout, operands(invocation)[0], starts)
    return result(values, spec)


KERNELS: dict[str, Kernel] = {"concat": quiet(_concat), "pad": quiet(_pad)}
