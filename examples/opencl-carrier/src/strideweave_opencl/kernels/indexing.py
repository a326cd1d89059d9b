"""``gather`` and ``scatter_add`` along one top-level mode."""

from strideweave import KernelPattern, Tensor
from strideweave.operation import ResolvedInvocation

from strideweave_opencl.addressing import leaves, slots
from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.kernels.faults import mark
from strideweave_opencl.kernels.jit import KernelText, jit_pattern
from strideweave_opencl.kernels.operands import capabilities, tensors


def indexing_patterns() -> list[KernelPattern[OpenCLInterface]]:
    """Patterns for both operations."""
    return [
        jit_pattern("gather", "opencl.jit:gather", capabilities("gather"), _gather),
        jit_pattern(
            "scatter_add", "opencl.jit:scatter_add", capabilities("scatter_add"), _scatter_add
        ),
    ]


def _gather(invocation: ResolvedInvocation) -> KernelText:
    source, indices = tensors(invocation)
    axis = _axis(invocation)
    modes = list(source.layout)
    before, extent = _size(source, 0, axis), modes[axis].size
    (at_before,) = slots("before", leaves(*modes[:axis]))
    (at_axis,) = slots("index", leaves(modes[axis]))
    (at_after,) = slots("after", leaves(*modes[axis + 1 :]))
    (at_index,) = slots("k", leaves(indices.layout))
    body = "\n".join(
        (
            f"const ulong before = item % {before}, k = item / {before} % {indices.size()};",
            f"const ulong after = item / {before * indices.size()};",
            f"const int index = x1[x1_offset + {at_index}];",
            f"if (index < 0 || index >= {extent}) {{ {mark('k')} return; }}",
            f"result[item] = x0[x0_offset + {at_before} + {at_axis} + {at_after}];",
        )
    )
    return KernelText({"gather": body}, invocation.results[0].layout.size, _out_of_range)


def _scatter_add(invocation: ResolvedInvocation) -> KernelText:
    """One work item updates one line along the axis, since the order of additions is fixed."""
    base, indices, updates = tensors(invocation)
    axis = _axis(invocation)
    modes, count = list(base.layout), indices.size()
    before, extent = _size(base, 0, axis), modes[axis].size
    update_modes = list(updates.layout)
    behind = axis + len(indices.layout)
    target = f"before + {before} * (%s + {extent} * after)"
    (from_line,) = slots("before", leaves(*modes[:axis]))
    (from_after,) = slots("after", leaves(*modes[axis + 1 :]))
    (from_axis,) = slots("k", leaves(modes[axis]))
    (at_index,) = slots("k", leaves(indices.layout))
    (of_line,) = slots("before", leaves(*update_modes[:axis]))
    (of_index,) = slots("k", leaves(*update_modes[axis:behind]))
    (of_after,) = slots("after", leaves(*update_modes[behind:]))
    body = "\n".join(
        (
            f"const ulong before = item % {before}, after = item / {before};",
            f"for (ulong k = 0; k < {extent}; ++k)",
            f"result[{target % 'k'}] = x0[x0_offset + {from_line} + {from_axis} + {from_after}];",
            f"for (ulong k = 0; k < {count}; ++k) {{",
            f"const int index = x1[x1_offset + {at_index}];",
            f"if (index < 0 || index >= {extent}) {{ {mark('k')} return; }}",
            f"result[{target % 'index'}] += x2[x2_offset + {of_line} + {of_index} + {of_after}];",
            "}",
        )
    )
    return KernelText({"scatter_add": body}, base.size() // extent, _out_of_range)


def _axis(invocation: ResolvedInvocation) -> int:
    axis = invocation.operands[-1]
    assert isinstance(axis, int)
    return axis


def _size(tensor: Tensor, first: int, last: int) -> int:
    size = 1
    for mode in list(tensor.layout)[first:last]:
        size *= mode.size
    return size


def _out_of_range(invocation: ResolvedInvocation, ordinal: int) -> IndexError:
    extent = tensors(invocation)[0].layout[_axis(invocation)].size
    return IndexError(
        f"{invocation.name}: indices hold a value at ordinal {ordinal} which is out of range for "
        f"a mode of extent {extent}; give 0 to {extent - 1}"
    )
