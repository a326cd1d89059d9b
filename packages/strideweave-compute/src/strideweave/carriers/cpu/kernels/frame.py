"""What every kernel of the CPU carrier shares: quiet execution and the pointwise frame."""

import sys
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeAlias, final

import numpy

from strideweave.carriers.cpu.conversion import NUMPY_DTYPES, Array
from strideweave.carriers.cpu.views import array_over, result, slots, strided
from strideweave.dtype import DType
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.operation.policy import INT32_MAX, INT32_MIN, Arithmetic
from strideweave.ops.reference import convert_weak_scalar
from strideweave.tensor.tensor import Tensor

Kernel: TypeAlias = Callable[[ResolvedInvocation], Tensor]
Compute: TypeAlias = Callable[..., Any]
"""Computes one array from arrays; a last positional argument, if given, receives the values."""

MOST_VALUES = sys.maxsize // 8
"""Values that an array of the widest type of a kernel holds."""
_quiet = Context()
_quiet.run(numpy.seterr, all="ignore")


def quiet(kernel: Kernel) -> Kernel:
    """Wrap a kernel so that IEEE exceptions raise no NumPy warning, nor sizes NumPy's errors."""

    def run(invocation: ResolvedInvocation) -> Tensor:
        try:
            # A copy, because a context cannot be entered again by another thread or a nested call.
            return _quiet.copy().run(kernel, invocation)
        except (ValueError, OverflowError):
            _require_addressable(invocation)
            raise

    return run


def _require_addressable(invocation: ResolvedInvocation) -> None:
    """Refuse layouts of more values than NumPy counts, which cost no storage where they broadcast.

    Raises:
        OverflowError: A Tensor operand or a result has such a layout.
    """
    tensors = (operand for operand in invocation.operands if isinstance(operand, Tensor))
    layouts = [tensor.layout for tensor in tensors] + [spec.layout for spec in invocation.results]
    for layout in layouts:
        if layout.size > MOST_VALUES:
            raise OverflowError(
                f"{invocation.name}: {layout.size} values of layout {layout} exceed the address "
                "space; compute on fewer of them at a time"
            ) from None


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
        spec = invocation.results[0]
        operands: tuple[Any, ...] = invocation.operands
        reading = _readings.get(id(spec)) or _new_reading(invocation)
        compute = floating if integer is None or reading.is_binary32 else integer
        quietly = _quiet.copy().run
        if not reading.is_flat:
            try:
                arrays = reading.strided_arrays(operands)
                values = numpy.empty(spec.layout.cosize, NUMPY_DTYPES[spec.dtype])
            except (ValueError, OverflowError):
                _require_addressable(invocation)
                raise
            quietly(compute, *arrays, array_over(values, 0, spec.layout))
            return result(values, spec)
        if reading.is_converted:
            return result(quietly(compute, *reading.flat_arrays(operands)), spec)
        # What flat_arrays would give, for the plainest and most frequent calls.
        arrays = []
        for operand in operands:
            carrier = operand._carrier
            count = operand._layout.cosize
            if carrier._size == count:
                arrays.append(carrier._buffer)
            else:
                start = operand._offset
                arrays.append(carrier._buffer[start : start + count])
        return result(quietly(compute, *arrays), spec)

    return kernel


@final
class _Reading:
    """How the operands of a pointwise call are read, which their dtypes and layouts decide.

    A pointwise result is compact. Operands of its own layout are *flat*: computed slot by slot, in
    whatever order. One whose coordinates all share a slot takes part as a single element.

    Args:
        invocation: A call of the operation with these dtypes and layouts.
    """

    __slots__ = ("is_binary32", "is_converted", "is_flat", "plans", "spec")

    def __init__(self, invocation: ResolvedInvocation) -> None:
        plan = invocation.plan
        self.spec = invocation.results[0]
        self.plans = plan.operands
        self.is_binary32 = plan.compute is Arithmetic.BINARY32
        layouts = [operand.layout for operand in invocation.operands if isinstance(operand, Tensor)]
        own = self.spec.layout
        self.is_flat = own in layouts and all(
            layout == own or layout.cosize == 1 for layout in layouts
        )
        # Whether some operand is a number, has another dtype, or may need normalization.
        self.is_converted = any(
            entry.dtype is not entry.convert_to or entry.dtype is DType.Bool for entry in self.plans
        )

    def flat_arrays(self, operands: tuple[Any, ...]) -> list[Any]:
        """One-dimensional arrays of the slots of flat operands, and converted scalars."""
        return self._arrays(operands, slots)

    def strided_arrays(self, operands: tuple[Any, ...]) -> list[Any]:
        """Strided views of all operands, and converted scalars."""
        return self._arrays(operands, strided)

    def _arrays(self, operands: tuple[Any, ...], view: Callable[[Tensor], Array]) -> list[Any]:
        arrays: list[Any] = []
        for operand, entry in zip(operands, self.plans, strict=True):
            target = entry.convert_to
            if entry.dtype is None:
                arrays.append(scalar(operand, target))
            elif entry.dtype is target:
                arrays.append(view(operand))
            else:
                arrays.append(view(operand).astype(NUMPY_DTYPES[target]))
        return arrays


_MOST_READINGS = 1024
# By the identity of the result's specification, which the reading keeps alive: a resolution, made
# once per signature, hands the same one to every call.
_readings: dict[int, _Reading] = {}


def _new_reading(invocation: ResolvedInvocation) -> _Reading:
    if len(_readings) >= _MOST_READINGS:
        _readings.clear()
    reading = _readings[id(invocation.results[0])] = _Reading(invocation)
    return reading
