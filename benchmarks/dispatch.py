"""What one small operation costs beside NumPy's, and what importing costs.

Run it with ``python benchmarks/dispatch.py``; the exit status tells whether every target is kept.
"""

import json
import subprocess
import sys
import time
from operator import attrgetter
from typing import Any, TypeAlias, final

import numpy
from measuring import Comparison, report

from strideweave import (
    CPU,
    Carrier,
    CarrierDefinition,
    DType,
    KernelExecutionInterface,
    KernelPattern,
    KernelProvider,
    Layout,
    OperationCapability,
    StorageProvider,
    Tensor,
    Unsupported,
    add,
    no_grad,
    register_carrier_definition,
)
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_policy import resolve_operation_plan
from strideweave.operation import ResolvedInvocation, operation_definition

Floats: TypeAlias = numpy.ndarray[Any, numpy.dtype[numpy.float32]]

VALUES = [1.0, 2.0, 3.0, 4.0]
LAYOUT = Layout.parse("4:1")
FLOAT32 = DType.Float32
CELL = numpy.dtype(numpy.float32)


@final
class Slab(Carrier):
    """A definition-backed carrier over a NumPy array, written with public names only."""

    cells: Floats
    extent: int


def _allocate(carrier: Slab, slots: int) -> None:
    carrier.cells = numpy.zeros(slots, CELL)
    carrier.extent = slots


def _release(carrier: Slab) -> None:
    del carrier.cells
    carrier.extent = 0


def _write(carrier: Slab, index: int, value: float) -> None:
    carrier.cells[index] = value


STORAGE = StorageProvider[Slab](
    supports_dtype=lambda carrier, dtype: dtype is FLOAT32,
    physical_size=attrgetter("extent"),
    allocate=_allocate,
    release=_release,
    read=lambda carrier, index: float(carrier.cells[index]),
    write=_write,
)


def _prepare_add(
    invocation: ResolvedInvocation, interface: KernelExecutionInterface
) -> PreparedKernel | Unsupported:
    operands: Any = invocation.operands
    lhs, rhs = operands
    layout = invocation.results[0].layout
    for operand in (lhs, rhs):
        own = operand.layout
        if operand.offset or (own is not layout and own != layout):
            return Unsupported("an operand does not start at slot 0 in the layout of the result")

    def submit() -> ProviderResult:
        carrier = Slab(layout.cosize, dtype=FLOAT32)
        numpy.add(lhs.carrier.cells, rhs.carrier.cells, carrier.cells)
        return ProviderResult((Tensor(carrier, 0, layout),))

    return PreparedKernel(interface, submit)


def _register() -> None:
    plan = resolve_operation_plan("add", FLOAT32, FLOAT32)
    capability = OperationCapability.from_plan(plan)
    pattern = KernelPattern(operation_definition("add"), (capability,), "slab.add", _prepare_add)
    kernels = KernelProvider(KernelExecutionInterface("1"), (pattern,))
    register_carrier_definition(Slab, CarrierDefinition(STORAGE, kernels))


def _tensor(prototype: Carrier) -> Tensor:
    return Tensor(prototype.new_like(VALUES), 0, LAYOUT)


def _comparison(name: str, prototype: Carrier, target: float) -> Comparison:
    lhs, rhs = _tensor(prototype), _tensor(prototype)
    left, right = (numpy.array(VALUES, numpy.float32) for _ in range(2))
    return Comparison(name, lambda: add(lhs, rhs), lambda: numpy.add(left, right), target)


def _comparisons() -> list[Comparison]:
    return [
        _comparison("add, 4 elements, CPU", CPU(0), 25),
        _comparison("add, 4 elements, definition-backed", Slab(0, dtype=FLOAT32), 35),
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
    with no_grad():
        status = report(_comparisons(), time.thread_time)
    return status if _import_report() else 1


if __name__ == "__main__":
    sys.exit(main())
