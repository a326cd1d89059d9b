"""Pointwise operations: one C expression each, over coordinates that any layouts place."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Final

from strideweave import DType, KernelPattern, OperationCapability, Tensor
from strideweave.carriers.operation_policy import Arithmetic, OperationPlan
from strideweave.operation import ResolvedInvocation

from strideweave_opencl.addressing import leaves, slots
from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.kernels.faults import int32_overflow, mark
from strideweave_opencl.kernels.jit import KernelText, jit_pattern
from strideweave_opencl.kernels.operands import C_TYPES, capabilities, planned_operands

EXPRESSIONS: Final[Mapping[str, str]] = {
    "neg": "-x",
    "abs": "fabs(x)",
    "sign": "sign_of(x)",
    "recip": "1.0f / x",
    "sqrt": "sqrt(x)",
    "rsqrt": "1.0f / sqrt(x)",
    "exp": "exp(x)",
    "exp2": "exp2(x)",
    "log": "log(x)",
    "log2": "log2(x)",
    "sin": "sin(x)",
    "cos": "cos(x)",
    "erf": "erf(x)",
    "floor": "floor(x)",
    "ceil": "ceil(x)",
    "round": "rint(x)",
    "relu": "x > 0.0f ? x : 0.0f",
    "sigmoid": "logistic(x)",
    "tanh": "tanh(x)",
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "elementwise_mul": "x * y",
    "div": "x / y",
    "pow": "pow(x, y)",
    "maximum": "larger(x, y)",
    "minimum": "smaller(x, y)",
    "rem": "fmod(x, y)",
    "eq": "x == y",
    "ne": "x != y",
    "lt": "x < y",
    "le": "x <= y",
    "logical_not": "x == 0",
    "logical_and": "x & y",
    "logical_or": "x | y",
    "logical_xor": "x ^ y",
    "select": "x ? y : z",
    "clamp": "smaller(larger(x, y), z)",
    "_cast_float32": "x",
    "_cast_int32": "truncated(x)",
    "_cast_bool": "x != 0",
}
"""The value of each operation in terms of its converted operands ``x``, ``y`` and ``z``."""

INTEGER_EXPRESSIONS: Final[Mapping[str, str]] = {
    "add": "x + y",
    "sub": "x - y",
    "mul": "x * y",
    "elementwise_mul": "x * y",
    "pow": "integer_power(x, y)",
    "relu": "max(x, 0)",
    "_cast_int32": "x",
}
"""The same for operands that stay integers, where it differs or does not exist above.

The operands of a checked plan are ``long``, so that its results are exact.
"""

NAMES: Final = ("x", "y", "z")


def pointwise_patterns(
    expressions: Mapping[str, str] = EXPRESSIONS,
) -> list[KernelPattern[OpenCLInterface]]:
    """Serve pointwise operations, in every plan, on operands in any layouts.

    Args:
        expressions: The floating value of each operation.

    Returns:
        One pattern per operation.
    """
    related = relatives(expressions)

    def write(invocation: ResolvedInvocation) -> KernelText:
        names = related[signature(invocation.plan)]
        return _pointwise(invocation, {name: expressions[name] for name in names})

    return [
        jit_pattern(name, f"opencl.jit:{name}", capabilities(name), write) for name in expressions
    ]


def signature(plan: OperationPlan | OperationCapability) -> Hashable:
    """What decides about the parameters of a pointwise kernel and the types it computes in."""
    operands = tuple((one.role, one.dtype, one.convert_to) for one in plan.operands)
    return operands, plan.compute, plan.output


def relatives(names: Iterable[str]) -> dict[Hashable, list[str]]:
    """Group operations whose kernels differ in their expression alone, by ``signature``."""
    groups: dict[Hashable, list[str]] = {}
    for name in names:
        for plan in capabilities(name):
            groups.setdefault(signature(plan), []).append(name)
    return groups


def _pointwise(invocation: ResolvedInvocation, expressions: Mapping[str, str]) -> KernelText:
    operands = planned_operands(invocation)
    result = invocation.results[0]
    places = [leaves(value.layout) for value, _ in operands if isinstance(value, Tensor)]
    target, *sources = slots("item", leaves(result.layout), *places, any_order=True)
    checked = invocation.plan.compute is Arithmetic.INT32_EXACT_CHECKED
    remaining = iter(sources)
    lines: list[str] = []
    for position, (value, plan) in enumerate(operands):
        kept_as = "long" if checked and plan.convert_to is DType.Int32 else C_TYPES[plan.convert_to]
        read = f"x{position}"
        if isinstance(value, Tensor):
            read += f"[x{position}_offset + {next(remaining)}]"
        lines.append(f"const {kept_as} {NAMES[position]} = {read};")
    store = (
        f"result[{target}] = %s;"
        if not checked
        else f"const long exact = %s;\nif (exact != (int)exact) {mark('item')}\n"
        f"result[{target}] = (int)exact;"
    )
    bodies = {
        name: "\n".join((*lines, store.replace("%s", _value(name, invocation.plan, expression))))
        for name, expression in expressions.items()
    }
    return KernelText(bodies, result.layout.size, int32_overflow if checked else None)


def _value(name: str, plan: OperationPlan, expression: str) -> str:
    if any(operand.convert_to is DType.Float32 for operand in plan.operands):
        return expression
    return INTEGER_EXPRESSIONS.get(name, expression)
