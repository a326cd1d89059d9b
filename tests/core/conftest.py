"""A workshop for carrier authors: fresh classes, providers and operations for one test."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    NON_DIFFERENTIABLE,
    CarrierDefinition,
    CompositeProvider,
    DType,
    KernelExecutionInterface,
    KernelPattern,
    KernelProvider,
    Layout,
    OperandKind,
    OperandSpec,
    OperationCapability,
    OperationSchema,
    ResultSpec,
    Shape,
    StorageProvider,
    Stride,
    Tensor,
)
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_policy import (
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationPlan,
)
from strideweave.operation import BoundOperationCall, ResolvedInvocation

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool
_numbers = count()


def _supports_dtype(carrier: Any, dtype: DType) -> bool:
    return dtype is FLOAT32 or dtype is INT32 or dtype is BOOL


def _allocate(carrier: Any, slots: int) -> None:
    carrier.cells = [False if carrier.dtype() is BOOL else 0] * slots


def _write(carrier: Any, index: int, value: object) -> None:
    carrier.cells[index] = value


class Workshop:
    """Everything is fresh per call, so no test sees another's registrations."""

    def subclass(self, base: type[Any] = sw.Carrier, name: str = "Shelf", **body: Any) -> type[Any]:
        """A new carrier class without a definition."""
        make: Any = type(base)
        made: type[Any] = make(name, (base,), body)
        return made

    def storage(self, **changes: Any) -> StorageProvider[Any]:
        """Storage in a list ``carrier.cells``; ``changes`` replaces callbacks."""
        callbacks: dict[str, Any] = {
            "supports_dtype": _supports_dtype,
            "physical_size": lambda carrier: len(carrier.cells),
            "allocate": _allocate,
            "release": lambda carrier: carrier.cells.clear(),
            "read": lambda carrier, index: carrier.cells[index],
            "write": _write,
        }
        return StorageProvider(**(callbacks | changes))

    def defined(
        self,
        patterns: Iterable[KernelPattern[Any]] | None = (),
        *,
        carrier_class: type[Any] | None = None,
        storage: StorageProvider[Any] | None = None,
        interface: KernelExecutionInterface | None = None,
        **fields: Any,
    ) -> type[Any]:
        """A class with a definition; ``patterns=None`` makes it storage-only."""
        made = carrier_class or self.subclass()
        kernels = (
            None
            if patterns is None
            else KernelProvider(interface or KernelExecutionInterface("1"), patterns)
        )
        definition = CarrierDefinition(storage or self.storage(), kernels, **fields)
        sw.register_carrier_definition(made, definition)
        return made

    def composite(self, **changes: Any) -> CompositeProvider[Any]:
        """Executes what ``carrier.inner`` executes, in name only."""
        callbacks: dict[str, Any] = {
            "capabilities": lambda carrier: carrier.inner.operation_capabilities(),
            "result_carriers": lambda carrier, invocation: (type(carrier.inner),),
            "prepare": lambda carrier, invocation: sw.Unsupported("composes nothing"),
        }
        return CompositeProvider(**(callbacks | changes))

    def dependent(self, composite: CompositeProvider[Any] | None = None, **fields: Any) -> Any:
        """A definition-backed dependent class that composes its first argument."""

        def construct(self: Any, inner: Any, slots: int = 1) -> None:
            self.inner = inner
            sw.DependentCarrier.__init__(self, slots, dtype=FLOAT32)

        made = self.subclass(sw.DependentCarrier, "Wrap", __init__=construct)
        return self.defined(
            None, carrier_class=made, composite=composite or self.composite(), **fields
        )

    def operation(self) -> Any:
        """A unary Float32 operation whose result looks like its operand."""
        name = f"workshop.op{next(_numbers)}"

        def resolve(call: BoundOperationCall) -> ResolvedInvocation:
            operand = call.operands[0]
            assert isinstance(operand, Tensor)
            spec = ResultSpec(FLOAT32, operand.shape, operand.layout)
            return ResolvedInvocation(call, self.plan(name), (spec,))

        schema = OperationSchema([OperandSpec("tensor", OperandKind.TENSOR)])
        return sw.define_operation(name, schema, resolve, vjp=NON_DIFFERENTIABLE)

    def plan(self, name: str, dtype: Any = FLOAT32) -> OperationPlan:
        """The plan of a unary operation on one dtype."""
        operand = OperandPlan(OperandRole.TENSOR, dtype, dtype)
        return OperationPlan(name, (operand,), Arithmetic.BINARY32, None, None, dtype)

    def capability(self, name: str, dtype: Any = FLOAT32) -> OperationCapability:
        """The capability of ``plan(name, dtype)``."""
        return OperationCapability.from_plan(self.plan(name, dtype))

    def pattern(
        self,
        operation: Any,
        kernel_id: str = "kernel",
        prepare: Callable[[Any, Any], Any] | None = None,
        preference: int = 0,
    ) -> KernelPattern[Any]:
        """Serves an operation of this workshop; by default the result is twice the operand."""
        capability = self.capability(operation.name)
        return KernelPattern(
            operation, [capability], kernel_id, prepare or self.prepare_double, preference
        )

    def prepare_double(self, invocation: Any, interface: Any) -> PreparedKernel:
        return PreparedKernel(interface, lambda: self.doubled(invocation))

    def doubled(self, invocation: Any) -> ProviderResult:
        """Execute ``2 * x`` into fresh storage of the operand's class."""
        operand = invocation.operands[0]
        values = [2.0 * operand[ordinal] for ordinal in range(operand.size())]
        carrier = operand.carrier.new_like(values)
        return ProviderResult([Tensor(carrier, 0, invocation.results[0].layout)])

    def tensor(self, carrier_class: type[Any], *values: float) -> Tensor:
        """A flat Float32 Tensor on a class that this workshop defined."""
        carrier = carrier_class(len(values), dtype=FLOAT32)
        return self.over(carrier.new_like(values))

    def over(self, carrier: Any) -> Tensor:
        """A flat Tensor over a whole carrier."""
        return Tensor(carrier, 0, Layout(Shape(carrier.size()), Stride(1)))


@pytest.fixture
def workshop() -> Workshop:
    return Workshop()
