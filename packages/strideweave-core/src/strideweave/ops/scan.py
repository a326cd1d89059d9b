"""``cumsum`` along one mode, and ``flip``, which its gradient runs backwards with."""

from typing import Any

from strideweave.dtype import DType
from strideweave.layout.construction import canonical_layout
from strideweave.operation.definition import define_builtin
from strideweave.operation.evaluation import evaluate
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, VJPContext
from strideweave.ops import binary32
from strideweave.ops.axes import checked_axis, joined, split, stride_of_axis
from strideweave.ops.gradients import vjp_of
from strideweave.ops.reference import Numbers, allocated, converted_operands
from strideweave.ops.results import planned, resolved
from strideweave.ops.schemas import role_dtypes, schema, structural, tensor
from strideweave.tensor.tensor import Tensor


def _resolve(call: BoundOperationCall) -> ResolvedInvocation:
    operand: Any = call.operands[0]
    return resolved(call, planned(call), canonical_layout(operand.shape))


def _slices(invocation: ResolvedInvocation) -> tuple[list[Numbers], int]:
    layout = invocation.results[0].layout
    axis: Any = invocation.operands[1]
    (values,) = converted_operands(invocation)
    inner = stride_of_axis(layout, axis)
    return split(values, layout[axis].size, inner), inner


def _cumsum(invocation: ResolvedInvocation) -> Tensor:
    slices, inner = _slices(invocation)
    running = [0.0] * len(slices[0])
    sums: list[Numbers] = []
    for step in slices:
        running = binary32.add(running, step)
        sums.append(running)
    return allocated(invocation, joined(sums, inner))


def _cumsum_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    axis = context.invocation.operands[1]
    backwards = evaluate("cumsum", evaluate("flip", cotangent, axis), axis)
    return evaluate("flip", backwards, axis)


def _flip(invocation: ResolvedInvocation) -> Tensor:
    slices, inner = _slices(invocation)
    return allocated(invocation, joined(slices[::-1], inner))


def _flip_gradient(context: VJPContext, cotangent: Tensor) -> Tensor:
    return evaluate("flip", cotangent, context.invocation.operands[1])


def _with_dimension(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    operand, dimension = operands
    return operand, checked_axis("cumsum", dimension, operand.layout, "dimension")


def _with_axis(operands: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    operand, axis = operands
    return operand, checked_axis("flip", axis, operand.layout)


CUMSUM = define_builtin(
    "cumsum",
    (schema(tensor("tensor"), structural("dimension")),),
    _resolve,
    reference=_cumsum,
    vjp=vjp_of(tensor=_cumsum_gradient),
    parameters=_with_dimension,
)
FLIP = define_builtin(
    "flip",
    (schema(tensor("tensor"), structural("axis")),),
    _resolve,
    reference=_flip,
    vjp=vjp_of(tensor=_flip_gradient),
    roles=role_dtypes("flip", tensor=(DType.Float32, DType.Int32, DType.Bool)),
    parameters=_with_axis,
)
