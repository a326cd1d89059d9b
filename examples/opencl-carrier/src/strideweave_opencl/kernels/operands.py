"""What every kernel asks of an invocation: its operands, their C types and launch arguments."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Final, NamedTuple

import numpy as np
import pyopencl as cl
from strideweave import DType, OperationCapability, Tensor
from strideweave.carriers.operation_policy import OperandPlan, OperationPlan, resolvable_plans
from strideweave.operation import OperandKind, ResolvedInvocation

from strideweave_opencl.carrier import OpenCLBuffer
from strideweave_opencl.interface import KernelArgument

C_TYPES: Final[dict[DType, str]] = {
    DType.Float32: "float",
    DType.Int32: "int",
    DType.Bool: "uchar",
}


class PlannedOperand(NamedTuple):
    """A Tensor or Python number of an invocation, and what the plan converts it to."""

    value: object
    plan: OperandPlan


def planned_operands(invocation: ResolvedInvocation) -> list[PlannedOperand]:
    """Pair the operands that are computed with their plans, leaving axes and the like out."""
    values = [
        value
        for spec, value in zip(invocation.call.schema.operands, invocation.operands, strict=True)
        if spec.kind is not OperandKind.STRUCTURAL
    ]
    return [
        PlannedOperand(value, plan)
        for value, plan in zip(values, invocation.plan.operands, strict=True)
    ]


def tensors(invocation: ResolvedInvocation) -> list[Tensor]:
    """The Tensor operands, in order."""
    return [operand for operand in invocation.operands if isinstance(operand, Tensor)]


def structural(invocation: ResolvedInvocation) -> tuple[object, ...]:
    """The operands that are neither Tensors nor computed numbers, such as an axis."""
    specs = zip(invocation.call.schema.operands, invocation.operands, strict=True)
    return tuple(value for spec, value in specs if spec.kind is OperandKind.STRUCTURAL)


def parameters(invocation: ResolvedInvocation) -> list[str]:
    """Declare the operands as kernel parameters ``x0``, ``x1`` ...

    A Tensor takes two: its memory and ``<name>_offset``, the slot where it starts.
    """
    declared: list[str] = []
    for position, (value, plan) in enumerate(planned_operands(invocation)):
        if isinstance(value, Tensor):
            stored = C_TYPES[value.dtype()]
            declared.append(f"__global const {stored} *x{position}")
            declared.append(f"const ulong x{position}_offset")
        else:
            declared.append(f"const {C_TYPES[plan.convert_to]} x{position}")
    return declared


def arguments(invocation: ResolvedInvocation) -> list[KernelArgument]:
    """The values for ``parameters``."""
    given: list[KernelArgument] = []
    for value, plan in planned_operands(invocation):
        if isinstance(value, Tensor):
            given += (device_memory(value), np.uint64(value.offset))
        else:
            given.append(weak_argument(value, plan.convert_to))
    return given


def device_memory(tensor: Tensor) -> cl.Buffer:
    """The memory behind a Tensor on this carrier."""
    carrier = tensor.carrier
    if not isinstance(carrier, OpenCLBuffer):
        raise TypeError(f"a kernel of OpenCLBuffer got a {type(carrier).__qualname__}")
    return carrier.buffer


def weak_argument(value: object, dtype: DType) -> np.generic:
    """Convert a Python number once, as the plan says; too large a float becomes an infinity.

    Raises:
        OverflowError: An integer does not fit a binary64.
    """
    if isinstance(value, Integral) and dtype is DType.Int32:
        return np.int32(int(value))
    if not isinstance(value, Real):
        raise TypeError(f"a weak scalar must be a real Python number, got {value!r}")
    with np.errstate(over="ignore"):
        return np.float32(float(value))


def capabilities(
    name: str, accepts: Callable[[OperationPlan], bool] = lambda plan: True
) -> list[OperationCapability]:
    """The capabilities of an operation's plans that fulfil a condition."""
    return [
        OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation == name and accepts(plan)
    ]
