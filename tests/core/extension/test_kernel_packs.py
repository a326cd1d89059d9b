"""Which packs attach to which exact class, and when."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DependentCarrier, DType, KernelExecutionInterface, KernelPack
from strideweave.carriers.operation_capability import capabilities_for_carrier_class

FLOAT32 = DType.Float32


class CudaInterface(KernelExecutionInterface):
    pass


class MetalInterface(KernelExecutionInterface):
    pass


def pack_for(
    carrier_class: Any,
    *patterns: Any,
    interface: Any = None,
    name: str = "acme",
    version: str = "1",
) -> KernelPack[Any, Any]:
    return KernelPack(name, version, carrier_class, interface or CudaInterface("12"), patterns)


@pytest.fixture
def cuda(workshop: Any) -> Any:
    """An independent class with a CUDA interface and no patterns, not observed yet."""
    return workshop.defined(
        carrier_class=workshop.subclass(name="Cuda"), interface=CudaInterface("12")
    )


@pytest.mark.rule("R-88", "R-92", "R-94")
def test_attach_a_cuda_kernel_pack_only_to_cuda(workshop: Any, cuda: Any) -> None:
    operation = workshop.operation()
    sibling = workshop.defined(interface=CudaInterface("12"))
    child = workshop.defined(
        carrier_class=workshop.subclass(cuda, "Child"), interface=CudaInterface("12")
    )
    pack = pack_for(cuda, workshop.pattern(operation), name="cutlass")
    assert sw.register_kernel_pack(pack) is None  # type: ignore[func-returns-value]
    capability = workshop.capability(operation.name)
    assert capabilities_for_carrier_class(cuda) == (capability,)
    assert operation(workshop.tensor(cuda, 1.0, 2.0)).tolist() == [2.0, 4.0]
    for other in (sibling, child):
        assert capabilities_for_carrier_class(other) == ()
        with pytest.raises(sw.UnsupportedOperationPlan):
            operation(workshop.tensor(other, 1.0))


@pytest.mark.rule("R-89", "R-91", "R-95")
def test_reject_a_cuda_pack_on_metal(workshop: Any, cuda: Any) -> None:
    operation = workshop.operation()
    metal = workshop.defined(
        carrier_class=workshop.subclass(name="Metal"), interface=MetalInterface("12")
    )
    pattern = workshop.pattern(operation)
    with pytest.raises(TypeError, match="is for interface CudaInterface '12', but Metal executes"):
        sw.register_kernel_pack(pack_for(metal, pattern))
    with pytest.raises(TypeError, match="is for interface MetalInterface '12', but Cuda executes"):
        sw.register_kernel_pack(pack_for(cuda, pattern, interface=MetalInterface("12")))
    with pytest.raises(TypeError, match=r"CudaInterface '11', but Cuda executes with .* '12'"):
        sw.register_kernel_pack(pack_for(cuda, pattern, interface=CudaInterface("11")))
    with pytest.raises(TypeError, match="KernelExecutionInterface '12'"):
        sw.register_kernel_pack(pack_for(cuda, pattern, interface=KernelExecutionInterface("12")))
    assert capabilities_for_carrier_class(metal) == () == capabilities_for_carrier_class(cuda)


@pytest.mark.rule("R-89", "R-96", "R-60", "C-62")
def test_reject_a_pack_on_a_composite(workshop: Any) -> None:
    pattern = workshop.pattern(workshop.operation())
    defined = workshop.dependent()
    for target in (defined, workshop.subclass(DependentCarrier, "Wrap")):
        with pytest.raises(TypeError, match="Wrap: a DependentCarrier owns no kernels"):
            sw.register_kernel_pack(pack_for(target, pattern))
    inner = workshop.defined()(1, dtype=FLOAT32)
    assert defined(inner).operation_capabilities() == ()


@pytest.mark.rule("R-89", "R-118")
def test_targets_that_take_no_pack(workshop: Any) -> None:
    pattern = workshop.pattern(workshop.operation())
    for wrong in (None, pattern, KernelPack):
        with pytest.raises(TypeError, match="pack must be a KernelPack, got"):
            sw.register_kernel_pack(wrong)  # type: ignore[arg-type]
    for target, message in (
        (Carrier, "Carrier: it is no concrete subclass of Carrier"),
        (DependentCarrier, "DependentCarrier: it is no concrete subclass"),
        (workshop.subclass(), "Shelf: exactly this class has no CarrierDefinition"),
        (workshop.subclass(workshop.defined(), "Child"), "Child: exactly this class has no"),
        (workshop.defined(None), "Shelf: its definition is storage-only"),
    ):
        with pytest.raises(TypeError, match=r"the kernel pack \('acme', '1'\) cannot.*" + message):
            sw.register_kernel_pack(pack_for(target, pattern))


@pytest.mark.rule("R-90", "R-91", "C-3")
def test_identities_are_unique_per_target(workshop: Any, cuda: Any) -> None:
    operations = [workshop.operation() for _ in range(3)]
    first, second, third = (
        workshop.pattern(operation, f"kernel.{position}")
        for position, operation in enumerate(operations)
    )
    sw.register_kernel_pack(pack_for(cuda, first))
    with pytest.raises(ValueError, match=r"Cuda already has a kernel pack \('acme', '1'\)"):
        sw.register_kernel_pack(pack_for(cuda, second))
    with pytest.raises(
        ValueError,
        match=r"\('acme', '2'\): patterns\[1\] has the kernel_id 'kernel.0', which Cuda has from "
        r"pack \('acme', '1'\)",
    ):
        clash = workshop.pattern(operations[2], "kernel.0")
        sw.register_kernel_pack(pack_for(cuda, third, clash, version="2"))
    sw.register_kernel_pack(pack_for(cuda, second, version="2"))
    sw.register_kernel_pack(pack_for(cuda, third, name="other"))
    other = workshop.defined(interface=CudaInterface("12"))
    sw.register_kernel_pack(pack_for(other, first))
    assert len(capabilities_for_carrier_class(cuda)) == 3
    builtin = workshop.defined([first], interface=CudaInterface("12"))
    with pytest.raises(ValueError, match="which Shelf has from its built-in patterns"):
        sw.register_kernel_pack(pack_for(builtin, first))
    assert len(capabilities_for_carrier_class(builtin)) == 1


@pytest.mark.rule("R-67", "R-68", "R-71", "R-105")
def test_add_a_pack_before_construction(workshop: Any) -> None:
    built_in, added = workshop.operation(), workshop.operation()
    carrier_class = workshop.defined(
        [workshop.pattern(built_in, "own")], interface=CudaInterface("12")
    )
    sw.register_kernel_pack(pack_for(carrier_class, workshop.pattern(added, "added")))
    tensor = workshop.tensor(carrier_class, 1.0)
    assert tensor.carrier.operation_capabilities() == tuple(
        sorted(
            (workshop.capability(built_in.name), workshop.capability(added.name)),
            key=lambda capability: capability.operation,
        )
    )
    assert built_in(tensor).tolist() == [2.0] == added(tensor).tolist()


@pytest.mark.rule("R-68", "R-72")
@pytest.mark.parametrize("observe", ["construct", "fail to construct", "query"])
def test_reject_a_late_pack(workshop: Any, cuda: Any, observe: str) -> None:
    operation = workshop.operation()
    if observe == "construct":
        cuda(1, dtype=FLOAT32)
    elif observe == "query":
        assert capabilities_for_carrier_class(cuda) == ()
    else:
        with pytest.raises(TypeError, match="slots"):
            cuda()
    word = "query" if observe == "query" else "construction"
    for _ in range(2):
        with pytest.raises(TypeError, match=rf"\('acme', '1'\) for Cuda comes too late.*{word}"):
            sw.register_kernel_pack(pack_for(cuda, workshop.pattern(operation)))
        assert capabilities_for_carrier_class(cuda) == ()
        with pytest.raises(sw.UnsupportedOperationPlan):
            operation(workshop.tensor(cuda, 1.0))


@pytest.mark.rule("R-93", "R-60", "R-70")
def test_a_dependent_carrier_reaches_further_through_a_pack_of_its_target(
    workshop: Any, cuda: Any
) -> None:
    operation = workshop.operation()
    plain = workshop.defined()(1, dtype=FLOAT32)
    sw.register_kernel_pack(pack_for(cuda, workshop.pattern(operation)))
    dependent = workshop.dependent()
    assert dependent(cuda(1, dtype=FLOAT32)).operation_capabilities() == (
        workshop.capability(operation.name),
    )
    assert dependent(plain).operation_capabilities() == ()
    assert capabilities_for_carrier_class(dependent) == ()
