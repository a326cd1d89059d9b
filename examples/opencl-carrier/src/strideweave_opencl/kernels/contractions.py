"""Matrix products: a precompiled kernel for plain strides, a compiled one for everything else."""

from functools import partial

import numpy as np
from strideweave import DType, KernelPattern, Layout, Tensor, Unsupported
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_policy import OperationPlan
from strideweave.operation import ResolvedInvocation, operation_definition

from strideweave_opencl.addressing import leaves, merged, slots
from strideweave_opencl.interface import KernelArgument, OpenCLInterface
from strideweave_opencl.kernels.faults import int32_overflow, mark
from strideweave_opencl.kernels.jit import KernelText, jit_pattern, new_result
from strideweave_opencl.kernels.operands import capabilities, device_memory, tensors
from strideweave_opencl.kernels.reductions import total_type

PRECOMPILED_ID = "opencl.precompiled:matmul"


def contraction_patterns() -> list[KernelPattern[OpenCLInterface]]:
    """Patterns for ``matmul`` and for the batched products of ``einsum``."""
    return [
        _precompiled_pattern(),
        *(
            jit_pattern(name, f"opencl.jit:{name}", capabilities(name), _product)
            for name in ("matmul", "_batched_matmul")
        ),
    ]


def _precompiled_pattern() -> KernelPattern[OpenCLInterface]:
    return KernelPattern(
        operation_definition("matmul"),
        capabilities("matmul", _is_float32),
        PRECOMPILED_ID,
        _prepare_precompiled,
        preference=10,
    )


def _is_float32(plan: OperationPlan) -> bool:
    stored = all(operand.dtype is DType.Float32 for operand in plan.operands)
    return stored and plan.accumulator_dtype is DType.Float32


def _prepare_precompiled(
    invocation: ResolvedInvocation, interface: OpenCLInterface
) -> PreparedKernel | Unsupported:
    lhs, rhs = tensors(invocation)
    given: list[KernelArgument] = []
    for side, operand in (("lhs", lhs), ("rhs", rhs)):
        strides = [_single_stride(mode) for mode in operand.layout]
        if None in strides:
            return Unsupported(
                f"{side} has a mode without a single stride in {operand.layout!r}; the "
                "precompiled kernel takes one stride per mode"
            )
        numbers = (operand.offset, *strides)
        given += (device_memory(operand), *map(np.uint64, numbers))  # type: ignore[arg-type]
    return PreparedKernel(interface, partial(_submit_precompiled, invocation, interface, given))


def _single_stride(mode: Layout) -> int | None:
    extents, (strides,) = merged([leaves(mode)])
    return None if len(extents) > 1 else next(iter(strides), 0)


def _submit_precompiled(
    invocation: ResolvedInvocation, interface: OpenCLInterface, given: list[KernelArgument]
) -> ProviderResult:
    carrier, result = new_result(invocation.results[0])
    lhs, _ = tensors(invocation)
    rows, inner = (mode.size for mode in lhs.layout)
    items = result.layout.size
    sizes = (np.uint64(rows), np.uint64(inner), np.uint64(items))
    kernel = interface.precompiled["strided_matmul"]
    carrier.event = interface.launch(
        PRECOMPILED_ID, kernel, items, [*given, carrier.buffer, *sizes]
    )
    return ProviderResult((result,))


def _product(invocation: ResolvedInvocation) -> KernelText:
    """Compute one element per work item; batch, row and column are one ordinal of the result."""
    lhs, rhs = tensors(invocation)
    *batch, rows = [mode.size for mode in lhs.layout][:-1]
    batches = batch[0] if batch else 1
    (at_lhs_inner,) = slots("k", leaves(lhs.layout[-1]))
    (at_rhs_inner,) = slots("k", leaves(rhs.layout[-1]))
    total, exact = total_type(invocation), invocation.plan.accumulator_dtype is None
    value = "long" if exact else "float"
    lines = [
        f"const ulong batch = item % {batches}, row = item / {batches} % {rows};",
        f"const ulong column = item / {batches * rows};",
        f"const ulong left = x0_offset + {_place(lhs, 'row')};",
        f"const ulong right = x1_offset + {_place(rhs, 'column')};",
        f"{total} total = 0;",
        f"for (ulong k = 0; k < {lhs.layout[-1].size}; ++k) {{",
        f"const {value} x = x0[left + {at_lhs_inner}], y = x1[right + {at_rhs_inner}];",
        f"const {value} product = x * y;",
        "total += product;\n}",
    ]
    if exact:
        lines.append(f"if (total != (int)total) {mark('item')}")
    lines.append("result[item] = total;")
    size = invocation.results[0].layout.size
    body = "\n".join(lines)
    return KernelText({invocation.name: body}, size, int32_overflow if exact else None)


def _place(operand: Tensor, outer: str) -> str:
    *batch, rows, _ = operand.layout
    (at_outer,) = slots(outer, leaves(rows))
    (at_batch,) = slots("batch", leaves(*batch))
    return f"{at_batch} + {at_outer}"
