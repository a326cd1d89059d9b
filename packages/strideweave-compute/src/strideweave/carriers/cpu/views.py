"""CPU storage seen as strided NumPy arrays, and NumPy arrays published as CPU results.

The axes of a view are the layout's leaves, depth first and reversed, without those of extent one.
So a canonical layout is C-contiguous, flattening a view lists the logical values in order, and the
trailing modes of a layout are the leading axes of its view.
"""

from functools import lru_cache
from math import prod
from typing import Any, cast, final

import numpy

import strideweave.carriers.cpu.carrier as carrier_module
from strideweave._record import record
from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, Array, zero_or_one
from strideweave.layout import Layout
from strideweave.operation.invocation import ResolvedInvocation, ResultSpec
from strideweave.tensor.tensor import Tensor, tensor_over


@final
@record
class Axes:
    """The axes of one layout's view.

    Attributes:
        extents: Extent of every axis.
        strides: Slot stride of every axis.
        by_mode: Number of axes that each top-level mode contributes.
        sizes: Number of coordinates of each top-level mode.
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    by_mode: tuple[int, ...]
    sizes: tuple[int, ...]


@lru_cache(maxsize=4096)
def axes(layout: Layout) -> Axes:
    """Return the axes of a layout's view."""
    leaves = [
        (extent, stride)
        for extent, stride in zip(layout.leaf_extents, layout.leaf_strides, strict=True)
        if extent > 1
    ]
    leaves.reverse()
    by_mode = tuple(sum(extent > 1 for extent in mode.leaf_extents) for mode in layout)
    # NumPy turns arrays without axes into scalars, so a single value gets one axis.
    extents = tuple(extent for extent, _ in leaves) or (1,)
    strides = tuple(stride for _, stride in leaves) or (0,)
    return Axes(extents, strides, by_mode, tuple(mode.size for mode in layout))


def array_over(buffer: Array, offset: int, layout: Layout) -> Array:
    """View the slots a layout addresses in a one-dimensional array, from ``offset`` on."""
    placement = axes(layout)
    width = buffer.itemsize
    return numpy.ndarray(
        placement.extents,
        buffer.dtype,
        buffer,
        offset * width,
        [stride * width for stride in placement.strides],
    )


def strided(tensor: Tensor) -> Array:
    """View the values of a CPU tensor as one array with an axis per leaf."""
    carrier = cast("carrier_module.CPU", tensor.carrier)
    array = array_over(carrier._buffer, tensor.offset, tensor.layout)
    return zero_or_one(array) if carrier._is_foreign else array


def slots(tensor: Tensor) -> Array:
    """View the slots a CPU tensor spans, holes included, as one dimension."""
    carrier = cast("carrier_module.CPU", tensor.carrier)
    array = carrier._buffer[tensor.offset : tensor.offset + tensor.layout.cosize]
    return zero_or_one(array) if carrier._is_foreign else array


def operands(invocation: ResolvedInvocation) -> tuple[Tensor, ...]:
    """Return the operands of an operation that takes its Tensors first."""
    return cast("tuple[Tensor, ...]", invocation.operands)


def operand(invocation: ResolvedInvocation, position: int) -> Array:
    """View one Tensor operand, converted to the dtype the plan computes in."""
    array = strided(operands(invocation)[position])
    target = NUMPY_DTYPES[invocation.plan.operands[position].convert_to]
    return array if array.dtype == target else array.astype(target)


def slices(invocation: ResolvedInvocation, position: int, axis: int) -> Array:
    """View one Tensor operand as an array of three axes, of which the middle one is one mode.

    Args:
        invocation: The invocation that is executed.
        position: Position of the operand.
        axis: The top-level mode; those after it make the first axis, those before it the last.
    """
    sizes = axes(operands(invocation)[position].layout).sizes
    return operand(invocation, position).reshape(-1, sizes[axis], prod(sizes[:axis]))


def parameter(invocation: ResolvedInvocation, position: int) -> Any:
    """Return a structural operand, which binding has validated."""
    return invocation.operands[position]


def result(values: Array, spec: ResultSpec) -> Tensor:
    """Publish fresh one-dimensional storage as the Tensor that a specification asks for.

    Args:
        values: Contiguous slots, ``spec.layout.cosize`` many, of the dtype of ``spec``; the
            result takes them over.
        spec: The result's dtype and layout.
    """
    dtype = spec.dtype
    return tensor_over(carrier_module.adopted(values, dtype), 0, spec.layout, dtype)
