"""Custom operations and definition-backed carriers built for one test."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    NON_DIFFERENTIABLE,
    CarrierDefinition,
    DType,
    KernelExecutionInterface,
    KernelPattern,
    KernelProvider,
    Layout,
    OperandKind,
    OperandSpec,
    OperationCapability,
    OperationSchema,
    OptionSpec,
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

F = DType.Float32
_numbers = count()


def flat(size: int) -> Layout:
    return Layout(Shape(size), Stride(1))


def unary_plan(name: str, dtype: Any = F) -> OperationPlan:
    operand = OperandPlan(OperandRole.TENSOR, dtype, dtype)
    return OperationPlan(name, (operand,), Arithmetic.BINARY32, None, None, dtype)


class Harness:
    """Makes uniquely named operations and fresh carrier classes."""

    def storage(self) -> StorageProvider[Any]:
        return StorageProvider(
            supports_dtype=lambda carrier, dtype: dtype in (F, DType.Int32, DType.Bool),
            physical_size=lambda carrier: len(carrier.cells),
            allocate=lambda carrier, slots: setattr(carrier, "cells", [0.0] * slots),
            release=lambda carrier: carrier.cells.clear(),
            read=lambda carrier, index: carrier.cells[index],
            write=lambda carrier, index, value: carrier.cells.__setitem__(index, value),
        )

    def carrier_class(self, patterns: Iterable[KernelPattern] | None = ()) -> type[sw.Carrier]:
        made = type(f"Cells{next(_numbers)}", (sw.Carrier,), {})
        kernels = (
            None
            if patterns is None
            else KernelProvider(KernelExecutionInterface("1"), tuple(patterns))
        )
        sw.register_carrier_definition(made, CarrierDefinition(self.storage(), kernels))
        return made

    def operation(
        self,
        *,
        resolve: Callable[[BoundOperationCall], Any] | None = None,
        vjp: Any = NON_DIFFERENTIABLE,
        differentiable: bool = True,
        options: Iterable[OptionSpec] = (),
        **fields: Any,
    ) -> Any:
        """Define a unary Float32 operation whose result looks like its operand."""
        name = f"harness.op{next(_numbers)}"

        def default(call: BoundOperationCall) -> ResolvedInvocation:
            operand = call.operands[0]
            assert isinstance(operand, Tensor)
            alias = fields.get("alias_of")
            spec = ResultSpec(F, operand.shape, operand.layout, alias_of=alias)
            return ResolvedInvocation(
                call,
                unary_plan(name),
                (spec,),
                fields.get("mutated_operands", ()),
                fields.get("saved_operands", ()),
            )

        schema = OperationSchema(
            [OperandSpec("tensor", OperandKind.TENSOR, differentiable)], options
        )
        return sw.define_operation(name, schema, resolve or default, vjp=vjp)

    def pattern(
        self,
        operation: Any,
        compute: Callable[[Any], Any],
        *,
        kernel_id: str = "kernel",
        preference: int = 0,
    ) -> KernelPattern:
        """Serve a unary Float32 operation; ``compute(invocation)`` is what submit returns."""

        def prepare(invocation: Any, interface: Any) -> PreparedKernel:
            return PreparedKernel(interface, lambda: compute(invocation))

        plans = [OperationCapability.from_plan(unary_plan(operation.name))]
        return KernelPattern(operation, plans, kernel_id, prepare, preference)

    def doubled(self, invocation: Any) -> ProviderResult:
        """Execute ``2 * x`` into fresh storage of the operand's class."""
        operand = invocation.operands[0]
        layout = invocation.results[0].layout
        carrier = operand.carrier.new_like([0.0] * layout.cosize)
        result = Tensor(carrier, 0, layout)
        for ordinal in range(operand.size()):
            carrier.cells[layout.index(ordinal)] = 2.0 * operand[ordinal]
        return ProviderResult([result])

    def tensor(self, carrier_class: type[Any], values: list[float], dtype: Any = F) -> Tensor:
        carrier = carrier_class(len(values), dtype=dtype)
        for slot, value in enumerate(values):
            carrier[slot] = value
        return Tensor(carrier, 0, flat(len(values)))

    def ready(self, **fields: Any) -> tuple[Any, Tensor]:
        """An operation served by ``doubled``, and the operand ``[1, 2]``."""
        operation = self.operation(**fields)
        carrier_class = self.carrier_class([self.pattern(operation, self.doubled)])
        return operation, self.tensor(carrier_class, [1.0, 2.0])


@pytest.fixture
def harness() -> Harness:
    return Harness()
