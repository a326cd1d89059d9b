"""Registering a definition for one exact class."""

from abc import ABC, abstractmethod
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, CarrierFacet, DependentCarrier, DType, TransferRoute
from strideweave.carriers.extension import TransferProvider
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.operation import bind_kernel

FLOAT32, INT32 = DType.Float32, DType.Int32


def never(request: Any) -> Any:
    raise AssertionError("no transfer is prepared here")


class Naming(CarrierFacet):
    pass


@pytest.mark.rule("R-7", "R-10", "R-11", "C-2", "50/E-26")
def test_register_an_exact_sibling_carrier(workshop: Any) -> None:
    first, sibling = workshop.subclass(name="First"), workshop.subclass(name="Second")
    storage = workshop.storage(supports_dtype=lambda carrier, dtype: dtype is INT32)
    definition = sw.CarrierDefinition(storage)
    assert sw.register_carrier_definition(first, definition) is None  # type: ignore[func-returns-value]
    workshop.defined(carrier_class=sibling)
    carrier = first(3, dtype=INT32)
    carrier[1] = 7
    assert (carrier[1], carrier.version, carrier.size()) == (7, 1, 3)
    with pytest.raises(TypeError, match="First does not support storage dtype"):
        first(1, dtype=FLOAT32)
    with pytest.raises(sw.UnsupportedOperationPlan, match="storage-only"):
        carrier.dispatch_op("relu")
    assert sibling(1, dtype=FLOAT32).supports_storage_dtype(FLOAT32)


@pytest.mark.rule("R-10", "R-12", "C-2", "G-11")
def test_keep_a_subclass_independent(workshop: Any) -> None:
    operation = workshop.operation()
    base = workshop.subclass()
    route = TransferRoute(base, base, "base.base", TransferProvider(never))
    workshop.defined(
        [workshop.pattern(operation)], carrier_class=base, transfers=[route], facets=[Naming()]
    )
    child = workshop.subclass(base, "Child")
    with pytest.raises(TypeError, match="Child has no CarrierDefinition"):
        child(1, dtype=FLOAT32)
    free = child()
    assert free.facet(Naming) is None
    assert free.operation_capabilities() == () == capabilities_for_carrier_class(child)
    for missing in (free.size, free.dtype, lambda: free.new_like([1.0])):
        with pytest.raises(NotImplementedError, match="definitions are not inherited"):
            missing()
    with pytest.raises(NotImplementedError, match="implements no _dispatch_op"):
        free.dispatch_op(operation.name)
    assert base(1, dtype=FLOAT32).facet(Naming) is not None
    other = workshop.subclass(base, "Other")
    workshop.defined(carrier_class=other)
    assert other(2, dtype=INT32).operation_capabilities() == ()


class Abstract(Carrier, ABC):
    @abstractmethod
    def unfinished(self) -> None: ...


@pytest.mark.rule("R-7", "C-2")
def test_only_concrete_carrier_classes_take_a_definition(workshop: Any) -> None:
    definition = sw.CarrierDefinition(workshop.storage())
    register: Any = sw.register_carrier_definition
    for target in (Carrier, DependentCarrier, Abstract, int, "Shelf", None, workshop.subclass()()):
        with pytest.raises(TypeError, match="must be a concrete subclass of Carrier, got"):
            register(target, definition)
    for wrong in (None, workshop.storage(), sw.CarrierDefinition):
        with pytest.raises(TypeError, match="definition of Shelf must be a CarrierDefinition"):
            register(workshop.subclass(), wrong)


@pytest.mark.rule("R-8", "R-9", "S-13")
def test_every_route_starts_at_exactly_the_class(workshop: Any) -> None:
    base = workshop.subclass(name="Base")
    child = workshop.subclass(base, "Child")
    twin = workshop.subclass(name="Child")
    twin.__module__ = "another.module"
    for source, message in (
        (base, r"transfers\[0\] \('r'\) starts at Base, but a definition of Child"),
        (twin, r"starts at another\.module\.Child, but .* exactly \w+.*\.Child"),
    ):
        route = TransferRoute(source, child, "r", TransferProvider(never))
        with pytest.raises(TypeError, match=message):
            workshop.defined(carrier_class=child, transfers=[route])
    workshop.defined(carrier_class=child)


@pytest.mark.rule("R-58", "R-9")
def test_reject_a_composite_on_an_independent_carrier(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    with pytest.raises(TypeError, match="Shelf is an independent carrier and takes no composite"):
        workshop.defined(None, carrier_class=carrier_class, composite=workshop.composite())
    workshop.defined(carrier_class=carrier_class)


@pytest.mark.rule("R-58", "R-64")
def test_reject_kernels_on_a_dependent_carrier(workshop: Any) -> None:
    carrier_class = workshop.subclass(DependentCarrier, "Wrap")
    with pytest.raises(TypeError, match="Wrap is a DependentCarrier and takes no kernels"):
        workshop.defined(carrier_class=carrier_class, facets=[Naming()])
    with pytest.raises(TypeError, match="takes no kernels"):
        workshop.defined(carrier_class=carrier_class, composite=workshop.composite())
    with pytest.raises(TypeError, match="Wrap is a DependentCarrier and needs composite="):
        workshop.defined(None, carrier_class=carrier_class)
    # Nothing was published: the class still takes a fitting definition.
    workshop.defined(
        None, carrier_class=carrier_class, composite=workshop.composite(capabilities=lambda c: ())
    )
    assert carrier_class(1, dtype=FLOAT32).facet(Naming) is None


@pytest.mark.rule("R-66")
def test_a_second_definition_is_refused_and_the_first_stays(workshop: Any) -> None:
    carrier_class = workshop.defined(None, facets=[Naming()])
    for _ in range(2):
        with pytest.raises(TypeError, match="Shelf already has a CarrierDefinition"):
            workshop.defined(carrier_class=carrier_class)
        assert carrier_class(1, dtype=FLOAT32).facet(Naming) is not None


@pytest.mark.rule("C-3", "R-68")
def test_a_definition_after_the_first_instance_is_too_late(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    with pytest.raises(TypeError, match="definition-free Carrier construction"):
        carrier_class(1, dtype=FLOAT32)  # seals, though it fails
    with pytest.raises(
        TypeError,
        match="a CarrierDefinition for Shelf comes too late: the class was sealed by the "
        "construction of an instance; register before",
    ):
        workshop.defined(carrier_class=carrier_class)


@pytest.mark.rule("R-59", "R-63")
def test_define_a_custom_storage_only_carrier(workshop: Any) -> None:
    carrier_class = workshop.subclass()
    route = TransferRoute(carrier_class, carrier_class, "r", TransferProvider(never))
    workshop.defined(None, carrier_class=carrier_class, transfers=[route])
    carrier = carrier_class(2, dtype=FLOAT32)
    assert carrier.new_like([1.0, 2.0])[1] == 2.0
    assert carrier.operation_capabilities() == () == capabilities_for_carrier_class(carrier_class)
    with pytest.raises(sw.UnsupportedOperationPlan, match="storage-only"):
        carrier.dispatch_op("add")


@pytest.mark.rule("R-116", "R-121")
def test_reject_mixed_authority(workshop: Any) -> None:
    operation = workshop.operation()
    carrier_class = workshop.defined([workshop.pattern(operation)])
    capability = workshop.capability(operation.name)
    before = capabilities_for_carrier_class(carrier_class)
    with pytest.raises(TypeError, match="its capabilities are the plans of its kernel patterns"):
        register_operation_capabilities(carrier_class, [])
    assert before == (capability,) == capabilities_for_carrier_class(carrier_class)
    storage_only = workshop.defined(None)
    with pytest.raises(TypeError, match="has a CarrierDefinition"):
        register_operation_capabilities(storage_only, [capability])
    assert capabilities_for_carrier_class(storage_only) == ()


@pytest.mark.rule("R-115", "R-119")
def test_run_a_legacy_custom_carrier(workshop: Any) -> None:
    operation = workshop.operation()

    class Legacy(Carrier):
        def __init__(self, values: Any, dtype: DType = FLOAT32) -> None:
            super().__init__()
            self.values = list(values)
            self.stored = dtype

        def size(self) -> int:
            return len(self.values)

        def dtype(self) -> DType:
            return self.stored

        def get_value(self, index: Any) -> Any:
            return self.values[index]

        def new_like(self, values: Any, *, mutable: bool = True, dtype: Any = None) -> Any:
            return Legacy(values)

        def _dispatch_op(self, operation_name: str) -> Any:
            return bind_kernel(operation_name, lambda call: workshop.doubled(call).outputs)

    register_operation_capabilities(Legacy, [workshop.capability(operation.name)])
    carrier = Legacy([1.0, 2.0])
    assert carrier.supports_operation_plan(workshop.plan(operation.name))
    assert operation(workshop.over(carrier)).tolist() == [2.0, 4.0]


@pytest.mark.rule("R-25", "R-27")
def test_allocate_from_a_separate_resource_of_a_storage_provider(workshop: Any) -> None:
    device, tensor = device_tensor(workshop)
    tensor.carrier[1] = 5
    assert type(tensor.carrier).__name__ == "Shelf" and device.pages == {0: [0, 5]}
    tensor.carrier.release()
    assert device.pages == {}


@pytest.mark.rule("R-76", "R-77")
def test_allocate_from_a_separate_resource_without_becoming_a_provider(workshop: Any) -> None:
    device, tensor = device_tensor(workshop)
    assert not isinstance(device, (Carrier, sw.StorageProvider))
    assert isinstance(tensor.carrier, Carrier)
    assert not hasattr(device, "supports_storage_dtype")


class Device:
    """A resource of its own: pages of integers."""

    def __init__(self) -> None:
        self.pages: dict[int, list[int]] = {}

    def page(self, slots: int) -> int:
        self.pages[len(self.pages)] = [0] * slots
        return len(self.pages) - 1


def device_tensor(workshop: Any) -> tuple[Device, sw.Tensor]:
    device = Device()

    def allocate(carrier: Any, slots: int) -> None:
        carrier.page = device.page(slots)

    def write(carrier: Any, index: int, value: int) -> None:
        device.pages[carrier.page][index] = value

    def release(carrier: Any) -> None:
        del device.pages[carrier.page]

    storage = workshop.storage(
        allocate=allocate,
        write=write,
        release=release,
        physical_size=lambda carrier: len(device.pages[carrier.page]),
        read=lambda carrier, index: device.pages[carrier.page][index],
    )
    return device, workshop.over(workshop.defined(storage=storage)(2, dtype=INT32))


@pytest.mark.rule("C-12", "R-116", "G-12", "G-17")
@pytest.mark.parametrize("member", ["size", "dtype", "get_value", "set_value"])
def test_a_class_that_bypasses_its_storage_provider_is_refused(workshop: Any, member: str) -> None:
    def own(self: Any, *arguments: Any) -> Any:
        return 5

    base = workshop.subclass(name="Base", **{member: own})
    for carrier_class in (base, workshop.subclass(base)):
        message = f"has a {member} of its own, .* takes it from its StorageProvider: remove"
        with pytest.raises(TypeError, match=message):
            workshop.defined(carrier_class=carrier_class)
    with pytest.raises(TypeError, match="definition-free"):
        base(1, dtype=FLOAT32)  # nothing was registered
