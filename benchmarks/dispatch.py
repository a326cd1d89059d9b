"""What one small operation costs beside NumPy's, and what importing costs.

Run it with ``python benchmarks/dispatch.py``; the exit status tells whether every target is kept.
"""

import json
import subprocess
import sys
from typing import Any, final

import numpy
from measuring import Comparison, report

import strideweave as sw
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_policy import resolve_operation_plan
from strideweave.operation import ResolvedInvocation, operation_definition

VALUES = [1.0, 2.0, 3.0, 4.0]


@final
class Slab(sw.Carrier):
    """A definition-backed carrier over a NumPy array, written with public names only."""

    cells: numpy.ndarray[Any, numpy.dtype[numpy.float32]]


def _allocate(carrier: Slab, slots: int) -> None:
    carrier.cells = numpy.zeros(slots, numpy.float32)


def _release(carrier: Slab) -> None:
    del carrier.cells


def _write(carrier: Slab, index: int, value: float) -> None:
    carrier.cells[index] = value


STORAGE = sw.StorageProvider[Slab](
    supports_dtype=lambda carrier, dtype: dtype is sw.DType.Float32,
    physical_size=lambda carrier: len(carrier.cells),
    allocate=_allocate,
    release=_release,
    read=lambda carrier, index: float(carrier.cells[index]),
    write=_write,
)


def _prepare_add(
    invocation: ResolvedInvocation, interface: sw.KernelExecutionInterface
) -> PreparedKernel | sw.Unsupported:
    lhs, rhs = invocation.operands
    (spec,) = invocation.results
    assert isinstance(lhs, sw.Tensor) and isinstance(rhs, sw.Tensor)
    left, right = lhs.carrier, rhs.carrier
    assert isinstance(left, Slab) and isinstance(right, Slab)
    if lhs.layout != spec.layout or rhs.layout != spec.layout or lhs.offset or rhs.offset:
        return sw.Unsupported("operands lie differently from the result")

    def submit() -> ProviderResult:
        carrier = Slab(spec.layout.cosize, dtype=sw.DType.Float32)
        numpy.add(left.cells, right.cells, carrier.cells)
        return ProviderResult((sw.Tensor(carrier, 0, spec.layout),))

    return PreparedKernel(interface, submit)


def _register() -> None:
    plan = resolve_operation_plan("add", sw.DType.Float32, sw.DType.Float32)
    pattern = sw.KernelPattern(
        operation_definition("add"),
        (sw.OperationCapability.from_plan(plan),),
        "slab.add",
        _prepare_add,
    )
    kernels = sw.KernelProvider(sw.KernelExecutionInterface("1"), (pattern,))
    sw.register_carrier_definition(Slab, sw.CarrierDefinition(STORAGE, kernels))


def _tensor(prototype: sw.Carrier) -> sw.Tensor:
    return sw.Tensor(prototype.new_like(VALUES), 0, sw.Layout(sw.Shape(4), sw.Stride(1)))


def _comparisons() -> list[Comparison]:
    array = numpy.array(VALUES, numpy.float32)
    on_cpu = _tensor(sw.CPU(1)), _tensor(sw.CPU(1))
    on_slab = _tensor(Slab(1, dtype=sw.DType.Float32)), _tensor(Slab(1, dtype=sw.DType.Float32))
    return [
        Comparison("add, 4 elements, CPU", lambda: sw.add(*on_cpu), lambda: array + array, 25),
        Comparison(
            "add, 4 elements, definition-backed",
            lambda: sw.add(*on_slab),
            lambda: array + array,
            35,
        ),
    ]


def _import_report() -> bool:
    """Import in a child process: NumPy must not be among the modules."""
    program = (
        "import json, sys, time\n"
        "start = time.perf_counter(); import strideweave\n"
        "milliseconds = (time.perf_counter() - start) * 1e3\n"
        "print(json.dumps([milliseconds, 'numpy' in sys.modules]))"
    )
    child = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    milliseconds, loads_numpy = json.loads(child.stdout)
    verdict = "imports NumPy  MISSED" if loads_numpy else "without NumPy"
    print(f"import strideweave: {milliseconds:.0f} ms, {verdict}")
    return not loads_numpy


def main() -> int:
    """Measure everything.

    Returns:
        The exit status.
    """
    _register()
    with sw.no_grad():
        status = report(_comparisons())
    return status if _import_report() else 1


if __name__ == "__main__":
    sys.exit(main())
