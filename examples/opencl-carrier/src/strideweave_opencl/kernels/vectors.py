"""Fast pointwise kernels that load four aligned floats at once, and decline everything else."""

from collections.abc import Mapping
from typing import Final

from strideweave import DType, KernelPattern, Tensor
from strideweave.carriers.operation_policy import OperationPlan
from strideweave.operation import ResolvedInvocation

from strideweave_opencl.addressing import leaves, merged
from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.kernels.jit import KernelText, jit_pattern
from strideweave_opencl.kernels.operands import capabilities, planned_operands, tensors
from strideweave_opencl.kernels.pointwise import NAMES, relatives, signature

WIDTH: Final = 4

EXPRESSIONS: Final[Mapping[str, str]] = {
    "neg": "-x",
    "abs": "fabs(x)",
    "sqrt": "sqrt(x)",
    "exp": "exp(x)",
    "relu": "select((float4)(0.0f), x, x > 0.0f)",
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "elementwise_mul": "x * y",
    "div": "x / y",
}


def vector_patterns() -> list[KernelPattern[OpenCLInterface]]:
    """One preferred pattern per operation, for its plans of Float32 operands only."""
    related = relatives(EXPRESSIONS)

    def write(invocation: ResolvedInvocation) -> KernelText:
        names = related[signature(invocation.plan)]
        return _by_fours(invocation, {name: EXPRESSIONS[name] for name in names})

    return [
        jit_pattern(
            name,
            f"opencl.float4:{name}",
            capabilities(name, _is_float32),
            write,
            decline=misfit,
            preference=10,
        )
        for name in EXPRESSIONS
    ]


def _by_fours(invocation: ResolvedInvocation, expressions: Mapping[str, str]) -> KernelText:
    lines = []
    for position, (value, _) in enumerate(planned_operands(invocation)):
        read = f"x{position}"
        if isinstance(value, Tensor):
            read = f"((__global const float4 *)(x{position} + x{position}_offset))[item]"
        kept_as = "float4" if isinstance(value, Tensor) else "float"
        lines.append(f"const {kept_as} {NAMES[position]} = {read};")
    bodies = {
        name: "\n".join((*lines, f"((__global float4 *)result)[item] = {expression};"))
        for name, expression in expressions.items()
    }
    return KernelText(bodies, invocation.results[0].layout.size // WIDTH)


def _is_float32(plan: OperationPlan) -> bool:
    stored = {operand.dtype for operand in plan.operands if operand.dtype is not None}
    return stored == {DType.Float32}


def misfit(invocation: ResolvedInvocation) -> str | None:
    """Say why a call cannot be computed by fours, or None."""
    operands, result = tensors(invocation), invocation.results[0].layout
    if result.size % WIDTH:
        return f"{result.size} elements are no multiple of {WIDTH}"
    for position, tensor in enumerate(operands):
        if tensor.offset % WIDTH:
            return (
                f"tensor operand {position} starts at slot {tensor.offset}, which is no multiple "
                f"of {WIDTH}"
            )
    places = [leaves(result), *(leaves(tensor.layout) for tensor in operands)]
    _, strides = merged(places, any_order=True)
    if any(own != (1,) for own in strides):
        return "the operands and the result are not contiguous in one common order"
    return None
