"""Classes are told apart by identity: never by name, address or ancestry."""

import gc
import sys
import types
import weakref
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_capability import capabilities_for_carrier_class

FLOAT32, INT32 = DType.Float32, DType.Int32

SOURCE = """
from strideweave import Carrier

class Shelf(Carrier):
    pass
"""


@pytest.mark.rule("G-11", "R-10", "C-2")
def test_same_named_classes_of_two_modules_are_two_classes(workshop: Any) -> None:
    made = []
    for name in ("first_module", "second_module"):
        module = types.ModuleType(name)
        exec(SOURCE, vars(module))
        made.append(module.Shelf)
    first, second = made
    assert first.__qualname__ == second.__qualname__
    operation = workshop.operation()
    workshop.defined([workshop.pattern(operation)], carrier_class=first)
    assert len(capabilities_for_carrier_class(first)) == 1
    with pytest.raises(TypeError, match="definition-free"):
        second(1, dtype=FLOAT32)
    assert capabilities_for_carrier_class(second) == ()


@pytest.mark.rule("G-11", "C-2")
def test_a_reloaded_module_defines_a_new_class(workshop: Any) -> None:
    module = types.ModuleType("reloaded_module")
    exec(SOURCE, vars(module))
    old = module.Shelf
    workshop.defined(carrier_class=old)
    carrier = old(1, dtype=INT32)
    exec(SOURCE, vars(module))
    assert module.Shelf is not old
    workshop.defined(None, carrier_class=module.Shelf)
    assert carrier.new_like([4])[0] == 4
    with pytest.raises(sw.UnsupportedOperationPlan, match="storage-only"):
        module.Shelf(1, dtype=INT32).dispatch_op("add")
    with pytest.raises(TypeError, match="already has"):
        workshop.defined(carrier_class=old)


@pytest.mark.rule("G-11", "C-2")
def test_a_class_whose_name_is_a_prefix_has_nothing_of_the_other(workshop: Any) -> None:
    workshop.defined(carrier_class=workshop.subclass(name="Shelf"))
    for name in ("Shel", "Shelf2", "Shelf"):
        with pytest.raises(TypeError, match=f"{name} has no CarrierDefinition"):
            workshop.subclass(name=name)(1, dtype=FLOAT32)


@pytest.mark.rule("G-11", "C-2", "G-12")
def test_a_class_dies_with_its_registrations(workshop: Any) -> None:
    operation = workshop.operation()
    carrier_class = workshop.defined([workshop.pattern(operation)])
    pack = sw.KernelPack(
        "acme",
        "1",
        carrier_class,
        sw.KernelExecutionInterface("1"),
        [workshop.pattern(operation, "more")],
    )
    sw.register_kernel_pack(pack)
    tensor = workshop.tensor(carrier_class, 1.0)
    assert operation(tensor).tolist() == [2.0]
    reference = weakref.ref(carrier_class)
    del carrier_class, tensor, pack
    gc.collect()
    assert reference() is None


@pytest.mark.rule("G-11", "C-2")
def test_a_new_class_at_a_reused_address_is_blank(workshop: Any) -> None:
    seen: set[int] = set()
    reused = 0
    for _ in range(300):
        carrier_class = workshop.subclass()
        reused += id(carrier_class) in seen
        seen.add(id(carrier_class))
        with pytest.raises(sw.UnsupportedOperationPlan, match="Shelf executes no 'relu'"):
            sw.carriers.operation_capability.require_capability(
                workshop.subclass(), workshop.plan("relu")
            )
        workshop.defined(carrier_class=carrier_class)
        assert carrier_class(1, dtype=FLOAT32).size() == 1
        del carrier_class
        gc.collect(1)
    assert reused > 0


@pytest.mark.rule("G-11", "C-2", "R-10")
def test_a_class_built_from_anothers_namespace_is_blank(workshop: Any) -> None:
    original = workshop.defined()
    assert original(1, dtype=FLOAT32).size() == 1
    namespace = {
        name: value
        for name, value in vars(original).items()
        if name not in ("__dict__", "__weakref__")
    }
    twin = type("Twin", (Carrier,), namespace)
    with pytest.raises(TypeError, match="Twin has no CarrierDefinition"):
        twin(1, dtype=FLOAT32)
    other = type("Other", (Carrier,), namespace)
    workshop.defined(None, carrier_class=other)
    assert other(2, dtype=INT32).size() == 2


@pytest.mark.rule("G-11")
def test_metaclasses_that_claim_equality_are_not_asked(workshop: Any) -> None:
    class Equal(type):
        def __eq__(cls, other: object) -> bool:
            return True

        def __hash__(cls) -> int:
            return 1

    first = Equal("First", (Carrier,), {})
    second = Equal("Second", (Carrier,), {})
    provider = sw.carriers.extension.TransferProvider(lambda request: None)  # type: ignore[arg-type,return-value]
    route_class: Any = sw.TransferRoute
    routes = [route_class(first, target, "r", provider) for target in (first, second)]
    workshop.defined(carrier_class=first, transfers=routes)
    with pytest.raises(TypeError, match="Second has no CarrierDefinition"):
        second(1, dtype=FLOAT32)
    with pytest.raises(TypeError, match=r"transfers\[0\] .* starts at First"):
        workshop.defined(carrier_class=second, transfers=routes[1:])
    assert "First" not in sys.modules


@pytest.mark.rule("G-11", "R-81", "R-89")
def test_a_metaclass_of_interfaces_that_claims_equality_is_not_asked(workshop: Any) -> None:
    class Equal(type):
        def __eq__(cls, other: object) -> bool:
            return True

        def __hash__(cls) -> int:
            return 1

    first: Any = Equal("First", (sw.KernelExecutionInterface,), {})
    second: Any = Equal("Second", (sw.KernelExecutionInterface,), {})
    operation = workshop.operation()

    def prepare(invocation: Any, interface: Any) -> Any:
        return PreparedKernel(second("1"), lambda: workshop.doubled(invocation))

    pattern = workshop.pattern(operation, prepare=prepare)
    carrier_class = workshop.defined([pattern], interface=first("1"))
    pack = sw.KernelPack("acme", "1", carrier_class, second("1"), [workshop.pattern(operation)])
    with pytest.raises(TypeError, match=r"is for interface Second '1', but Shelf .* First '1'"):
        sw.register_kernel_pack(pack)
    with pytest.raises(TypeError, match="interface is Second '1', the provider's is First '1'"):
        operation(workshop.tensor(carrier_class, 1.0))


@pytest.mark.rule("S-13", "G-11", "O-71")
def test_messages_tell_classes_of_the_same_name_apart(workshop: Any) -> None:
    queues: list[Any] = [
        type("Queue", (sw.KernelExecutionInterface,), {"__module__": module})
        for module in ("ours", "theirs")
    ]
    ours, theirs = queues
    operation = workshop.operation()

    def prepare(invocation: Any, interface: Any) -> Any:
        return PreparedKernel(theirs("1"), lambda: workshop.doubled(invocation))

    carrier_class = workshop.defined(
        [workshop.pattern(operation, prepare=prepare)], interface=ours("1")
    )
    with pytest.raises(TypeError, match=r"is theirs\.Queue '1', the provider's is ours\.Queue '1'"):
        operation(workshop.tensor(carrier_class, 1.0))
    elsewhere = workshop.defined(carrier_class=workshop.subclass(__module__="other_shelves"))

    def prepare_elsewhere(invocation: Any, interface: Any) -> Any:
        result = ProviderResult([workshop.tensor(elsewhere, 1.0)])
        return PreparedKernel(interface, lambda: result)

    carrier_class = workshop.defined([workshop.pattern(operation, prepare=prepare_elsewhere)])
    with pytest.raises(sw.ProviderContractError, match=r"\w\.Shelf, got other_shelves\.Shelf"):
        operation(workshop.tensor(carrier_class, 1.0))
