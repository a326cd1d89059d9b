"""Reductions and scans: one work item follows one fiber, first position first."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from strideweave import DType, KernelPattern
from strideweave.carriers.operation_policy import Arithmetic
from strideweave.operation import ResolvedInvocation

from strideweave_opencl.addressing import leaves, slots
from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.kernels.faults import int32_overflow, mark
from strideweave_opencl.kernels.jit import KernelText, jit_pattern
from strideweave_opencl.kernels.operands import capabilities, tensors


class Fold(NamedTuple):
    """How a fiber is reduced: declarations before it, a step per value ``x``, and the result."""

    start: str
    step: str
    result: str
    gives: DType = DType.Float32


FOLDS: Final[Mapping[str, Fold]] = {
    "reduce_prod": Fold("float total = 1.0f;", "total *= x;", "total"),
    "reduce_max": Fold("float total = 0.0f;", "total = k ? larger(total, x) : x;", "total"),
    "reduce_min": Fold("float total = 0.0f;", "total = k ? smaller(total, x) : x;", "total"),
    "argmax": Fold(
        "float best = 0.0f; int position = 0;",
        "if (k == 0 || (!isnan(best) && (isnan(x) || x > best))) { best = x; position = (int)k; }",
        "position",
        DType.Int32,
    ),
    "argmin": Fold(
        "float best = 0.0f; int position = 0;",
        "if (k == 0 || (!isnan(best) && (isnan(x) || x < best))) { best = x; position = (int)k; }",
        "position",
        DType.Int32,
    ),
}


def reduction_patterns() -> list[KernelPattern[OpenCLInterface]]:
    """Patterns for the six reductions and ``cumsum``."""
    writers = {name: _reduction for name in ("reduce_sum", *FOLDS)}
    return [
        jit_pattern(name, f"opencl.jit:{name}", capabilities(name), write)
        for name, write in {**writers, "cumsum": _cumsum}.items()
    ]


def _reduction(invocation: ResolvedInvocation) -> KernelText:
    (operand,) = tensors(invocation)
    kept, reduced = operand.layout
    result = invocation.results[0]
    target, at_kept = slots("item", leaves(result.layout), leaves(kept))
    (at_reduced,) = slots("k", leaves(reduced))
    checked = invocation.plan.compute is Arithmetic.INT32_EXACT_CHECKED
    folds = {"reduce_sum": _sum(invocation)}
    if invocation.name != "reduce_sum":
        folds = {name: fold for name, fold in FOLDS.items() if fold.gives is result.dtype}

    def body(fold: Fold) -> str:
        lines = [
            fold.start,
            f"const ulong start = x0_offset + {at_kept};",
            f"for (ulong k = 0; k < {reduced.size}; ++k) {{",
            f"const {'long' if checked else 'float'} x = x0[start + {at_reduced}];",
            f"{fold.step}\n}}",
            *([f"if (total != (int)total) {mark('item')}"] if checked else []),
            f"result[{target}] = {fold.result};",
        ]
        return "\n".join(lines)

    bodies = {name: body(fold) for name, fold in folds.items()}
    return KernelText(bodies, result.layout.size, int32_overflow if checked else None)


def _sum(invocation: ResolvedInvocation) -> Fold:
    return Fold(f"{total_type(invocation)} total = 0;", "total += x;", "total")


def total_type(invocation: ResolvedInvocation) -> str:
    """The C type that sums of a plan are kept in."""
    if invocation.plan.accumulator_dtype is None:
        return "long"
    return "double" if invocation.plan.accumulator_dtype is DType.Float64 else "float"


def _cumsum(invocation: ResolvedInvocation) -> KernelText:
    (operand,) = tensors(invocation)
    axis = invocation.operands[1]
    assert isinstance(axis, int)
    source, result = list(operand.layout), list(invocation.results[0].layout)
    lines_of = [leaves(*modes[:axis], *modes[axis + 1 :]) for modes in (source, result)]
    from_line, to_line = slots("item", *lines_of)
    from_step, to_step = slots("k", leaves(source[axis]), leaves(result[axis]))
    body = (
        "float total = 0.0f;\n"
        f"for (ulong k = 0; k < {source[axis].size}; ++k) {{\n"
        f"total += x0[x0_offset + {from_line} + {from_step}];\n"
        f"result[{to_line} + {to_step}] = total;\n}}"
    )
    return KernelText({"cumsum": body}, operand.layout.size // source[axis].size)
