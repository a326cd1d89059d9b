"""Generic and CPU stay definition-free, closed, and without kernel packs."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    CPU,
    CarrierDefinition,
    Generic,
    KernelExecutionInterface,
    KernelPack,
    OperationCapability,
    StorageProvider,
)
from strideweave.carriers import CLOSED_CARRIER_MESSAGE
from strideweave.carriers.extension import PreparedComposite, ProviderResult, reference_pattern
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import operation_definition, operation_definitions

SHIPPED = [Generic, CPU]


def act(*arguments: Any) -> Any:
    """Stands for any callback."""


@pytest.mark.rule("C-4", "O-31", "R-117")
@pytest.mark.parametrize("carrier_class", SHIPPED)
def test_no_definition_is_registered_for_a_shipped_carrier(carrier_class: Any) -> None:
    definition = CarrierDefinition(StorageProvider(act, act, act, act, act, act))
    with pytest.raises(TypeError, match=f"for {carrier_class.__name__} comes too late"):
        sw.register_carrier_definition(carrier_class, definition)
    with pytest.raises(TypeError, match="comes too late"):
        register_operation_capabilities(carrier_class, [])


@pytest.mark.rule("R-89", "R-118", "R-117")
@pytest.mark.parametrize("carrier_class", SHIPPED)
def test_no_pack_is_attached_to_a_shipped_carrier(carrier_class: Any) -> None:
    before = capabilities_for_carrier_class(carrier_class)
    pack = KernelPack(
        "acme",
        "1",
        carrier_class,
        KernelExecutionInterface("1"),
        [reference_pattern(operation_definition("relu"))],
    )
    with pytest.raises(TypeError, match="exactly this class has no CarrierDefinition"):
        sw.register_kernel_pack(pack)
    assert capabilities_for_carrier_class(carrier_class) == before


@pytest.mark.rule("R-117", "R-120", "O-30")
@pytest.mark.parametrize("carrier_class", SHIPPED)
def test_preserve_a_shipped_legacy_carrier(carrier_class: Any) -> None:
    carrier = Generic([1.0, -2.0]) if carrier_class is Generic else CPU(2).new_like([1.0, -2.0])
    defined = {definition.name for definition in operation_definitions()}
    expected = {
        OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation in defined
    }
    assert set(carrier.operation_capabilities()) == expected
    tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
    operation = carrier.dispatch_op("relu")
    assert operation._dispatch_carrier_class is carrier_class
    assert operation.forward(tensor).tolist() == [1.0, 0.0]
    assert carrier.facet(type("Any", (sw.CarrierFacet,), {})) is None
    assert carrier.supports_storage_dtype(sw.DType.Bool)


@pytest.mark.rule("C-5", "50/E-11")
@pytest.mark.parametrize("carrier_class", SHIPPED)
def test_shipped_carriers_are_closed(carrier_class: Any) -> None:
    with pytest.raises(TypeError) as caught:
        type("Mine", (carrier_class,), {})
    assert str(caught.value) == CLOSED_CARRIER_MESSAGE.format(name="Mine")
    assert carrier_class.__final__ is True


@pytest.mark.rule("R-61", "R-65", "R-62")
def test_a_dependent_carrier_composes_cpu() -> None:
    """A dependent class of the test stands for the tiled carrier."""
    composite = sw.CompositeProvider(
        capabilities=lambda carrier: carrier.inner.operation_capabilities(),
        result_carriers=lambda carrier, invocation: (CPU,),
        prepare=_prepare_on_inner,
    )
    storage = StorageProvider[_Layered](
        supports_dtype=lambda carrier, dtype: carrier.inner.supports_storage_dtype(dtype),
        physical_size=lambda carrier: carrier.inner.size(),
        allocate=lambda carrier, slots: None,
        release=lambda carrier: None,
        read=lambda carrier, index: carrier.inner[index],
        write=lambda carrier, index, value: carrier.inner.__setitem__(index, value),
    )
    sw.register_carrier_definition(_Layered, CarrierDefinition(storage, composite=composite))
    layout = sw.Layout(sw.Shape(2), sw.Stride(1))
    tensor = sw.Tensor(_Layered(CPU(2).new_like([1.0, -2.0])), 0, layout)
    result = sw.relu(tensor)
    assert result.tolist() == [1.0, 0.0] and type(result.carrier) is CPU
    assert tensor.carrier.operation_capabilities() == capabilities_for_carrier_class(CPU)


class _Layered(sw.DependentCarrier):
    def __init__(self, inner: sw.Carrier) -> None:
        self.inner = inner
        super().__init__(inner.size(), dtype=inner.dtype())


def _prepare_on_inner(carrier: _Layered, invocation: Any) -> Any:
    def submit() -> ProviderResult:
        operands = [
            sw.Tensor(operand.carrier.inner, operand.offset, operand.layout)
            for operand in invocation.operands
        ]
        return ProviderResult([invocation.definition(*operands)])

    return PreparedComposite(submit)
