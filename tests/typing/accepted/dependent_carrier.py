"""A dependent carrier whose composite receives the author's own class."""

from collections.abc import Iterable
from typing import assert_type

from strideweave import (
    Carrier,
    CarrierDefinition,
    CompositeProvider,
    DependentCarrier,
    DType,
    OperationCapability,
    StorageProvider,
    Unsupported,
    register_carrier_definition,
)
from strideweave.carriers.extension import PreparedComposite, ProviderResult
from strideweave.operation import ResolvedInvocation


class Layered(DependentCarrier):
    def __init__(self, inner: Carrier) -> None:
        self.inner = inner
        super().__init__(inner.size(), dtype=inner.dtype())


def capabilities(carrier: Layered) -> Iterable[OperationCapability]:
    return carrier.inner.operation_capabilities()


def result_carriers(carrier: Layered, invocation: ResolvedInvocation) -> tuple[type[Carrier], ...]:
    return (type(carrier.inner),)


def prepare(carrier: Layered, invocation: ResolvedInvocation) -> PreparedComposite | Unsupported:
    if carrier.inner.is_released():
        return Unsupported("the inner carrier is released")

    def submit() -> ProviderResult:
        raise NotImplementedError

    return PreparedComposite(submit)


def register(storage: StorageProvider[Layered]) -> None:
    composite = CompositeProvider(capabilities, result_carriers, prepare)
    assert_type(composite, CompositeProvider[Layered])
    definition = CarrierDefinition(storage, composite=composite)
    assert_type(definition, CarrierDefinition[Layered])
    register_carrier_definition(Layered, definition)


def construct(inner: Carrier) -> None:
    assert_type(Layered(inner), Layered)


class Free(DependentCarrier):
    """The definition-free form."""

    def __init__(self, inner: Carrier) -> None:
        super().__init__()
        self.inner = inner
        self._finalize_dependent_capabilities()

    def _generate_operation_capabilities(self) -> Iterable[OperationCapability]:
        return self.inner.operation_capabilities()

    def size(self) -> int:
        return self.inner.size()

    def dtype(self) -> DType:
        return self.inner.dtype()
