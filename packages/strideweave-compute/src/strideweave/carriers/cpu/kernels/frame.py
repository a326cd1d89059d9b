"""What every kernel of the CPU carrier shares: quiet execution and the pointwise frame."""

from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeAlias

import numpy

from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, Array, zero_or_one
from strideweave.carriers.cpu.views import array_over, result, strided
from strideweave.dtype import DType
from strideweave.layout import Layout
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.operation.policy import INT32_MAX, INT32_MIN, Arithmetic, OperandPlan
from strideweave.ops.reference import convert_weak_scalar
from strideweave.tensor.tensor import Tensor

Kernel: TypeAlias = Callable[[ResolvedInvocation], Tensor]
Compute: TypeAlias = Callable[..., Any]
"""Computes one array from arrays; a last positional argument, if given, receives the values."""

_BINARY32 = Arithmetic.BINARY32
_BOOL = DType.Bool

_quiet = Context()
_quiet.run(numpy.seterr, all="ignore")


def quiet(kernel: Kernel) -> Kernel:
    """Wrap a kernel so that IEEE exceptions raise no NumPy warning."""

    def run(invocation: ResolvedInvocation) -> Tensor:
        # A copy, because a context cannot be entered again by another thread or a nested call.
        return _quiet.copy().run(kernel, invocation)

    return run


def narrow(values: Array, out: Array | None, overflow: Callable[[Any], OverflowError]) -> Array:
    """Store exact numbers as Int32.

    Args:
        values: Integers in an element type that holds them exactly.
        out: Receives them; a fresh array when None.
        overflow: Makes the error from the first value outside the range of Int32.

    Raises:
        OverflowError: A value lies outside that range; nothing was stored.
    """
    # NaN fails both comparisons, so it counts as outside.
    if not (values.min() >= INT32_MIN and values.max() <= INT32_MAX):
        inside = numpy.logical_and(values >= INT32_MIN, values <= INT32_MAX)
        raise overflow(values.flat[int(numpy.argmin(inside))].item())
    if out is None:
        return values.astype(numpy.int32)
    numpy.copyto(out, values, casting="unsafe")
    return out


def scalar(value: object, target: DType) -> Any:
    """Convert a weak scalar to an element of the dtype the plan computes in."""
    return NUMPY_DTYPES[target].type(convert_weak_scalar(value, target))


def pointwise(floating: Compute, integer: Compute | None = None) -> Kernel:
    """Make the kernel of an operation that computes each coordinate on its own.

    Args:
        floating: What it computes under BINARY32 arithmetic.
        integer: What it computes under the integer arithmetics; the same when None.
    """

    def kernel(invocation: ResolvedInvocation) -> Tensor:
        plan = invocation.plan
        spec = invocation.results[0]
        compute = floating if integer is None or plan.compute is _BINARY32 else integer
        operands = invocation.call.operands
        quietly = _quiet.copy().run
        arrays = _flat_operands(operands, plan.operands, spec.layout)
        if arrays is not None:
            return result(quietly(compute, *arrays), spec)
        values = numpy.empty(spec.layout.cosize, NUMPY_DTYPES[spec.dtype])
        arrays = _strided_operands(operands, plan.operands)
        quietly(compute, *arrays, array_over(values, 0, spec.layout))
        return result(values, spec)

    return kernel


def _flat_operands(
    operands: tuple[Any, ...], plans: tuple[OperandPlan, ...], layout: Layout
) -> list[Any] | None:
    """Slots of operands that lie exactly like the result, whose order then does not matter.

    A pointwise result is compact, so operands of its layout are computed slot by slot. One whose
    coordinates all share a slot takes part as a single element.

    Returns:
        One-dimensional arrays and converted scalars, or None where some operand lies differently.
    """
    arrays: list[Any] = []
    whole = False
    for position, operand in enumerate(operands):
        plan = plans[position]
        source = plan.dtype
        if source is None:
            arrays.append(scalar(operand, plan.convert_to))
            continue
        own = operand._layout
        if own is layout or own == layout:
            whole = True
        elif own.cosize != 1:
            return None
        array = operand._carrier._buffer
        if operand._offset or array.size != own.cosize:
            array = array[operand._offset : operand._offset + own.cosize]
        if source is _BOOL and operand._carrier._is_foreign:
            array = zero_or_one(array)
        if source is not plan.convert_to:
            array = array.astype(NUMPY_DTYPES[plan.convert_to])
        arrays.append(array)
    return arrays if whole else None


def _strided_operands(operands: tuple[Any, ...], plans: tuple[OperandPlan, ...]) -> list[Any]:
    arrays: list[Any] = []
    for operand, plan in zip(operands, plans, strict=True):
        source, target = plan.dtype, plan.convert_to
        if source is None:
            arrays.append(scalar(operand, target))
        elif source is target:
            arrays.append(strided(operand))
        else:
            arrays.append(strided(operand).astype(NUMPY_DTYPES[target]))
    return arrays
