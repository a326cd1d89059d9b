"""What a DLPack capsule of a CPU Tensor says, and NumPy as its consumer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Generic, Layout, Shape, Stride, Tensor
from strideweave.tensor.dlpack_abi import LegacyTensor, VersionedTensor

Managed = Callable[[Any], Any]


def cpu(layout: str, offset: int = 0, dtype: DType = DType.Float32, **options: Any) -> Tensor:
    """Build a CPU Tensor in which every slot holds its own number."""
    placement = Layout.parse(layout)
    slots = range(offset + placement.cosize)
    values = [bool(slot % 2) if dtype is DType.Bool else slot for slot in slots]
    return Tensor(CPU(0, dtype=dtype).new_like(values, **options), offset, placement)


def values(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


# The capsule


@pytest.mark.rule("M-42", "60/E-16")
@pytest.mark.parametrize(
    ("version", "name"),
    [
        (None, "dltensor"),
        ((0, 8), "dltensor"),
        ((0, 0), "dltensor"),
        ((1, 0), "dltensor_versioned"),
        ([1, 0], "dltensor_versioned"),
        ((9, 9), "dltensor_versioned"),
        ((np.int64(1), np.int8(3)), "dltensor_versioned"),
    ],
)
def test_the_kind_of_capsule(
    capsule_name: Callable[[Any], str], managed: Managed, version: Any, name: str
) -> None:
    capsule = cpu("3:1").__dlpack__(max_version=version)
    assert capsule_name(capsule) == name
    structure = managed(capsule)
    if name == "dltensor":
        assert isinstance(structure, LegacyTensor)
    else:
        assert isinstance(structure, VersionedTensor)
        assert (structure.major, structure.minor) == (1, 0)


@pytest.mark.rule("M-43", "60/E-17")
@pytest.mark.parametrize(
    ("layout", "offset"),
    [
        ("(2,(3,4)):(1,(2,6))", 2),
        ("(2,3):(3,1)", 0),
        ("(2,3):(0,1)", 1),
        ("(1,3):(77,5)", 3),
        ("1:0", 4),
        ("():()", 5),
        ("(((4))):(((3)))", 0),
    ],
)
@pytest.mark.parametrize("version", [None, (1, 0)])
@pytest.mark.parametrize(("dtype", "code"), [(DType.Float32, 2), (DType.Int32, 0)])
def test_the_header_describes_leaves_offset_and_base(
    managed: Managed, layout: str, offset: int, version: Any, dtype: DType, code: int
) -> None:
    tensor = cpu(layout, offset, dtype)
    assert isinstance(tensor.carrier, CPU)
    capsule = tensor.__dlpack__(stream="anything", max_version=version)
    header = managed(capsule).header
    placement = tensor.layout
    assert header.ndim == len(placement.leaf_extents)
    assert tuple(header.shape[: header.ndim]) == placement.leaf_extents
    assert tuple(header.strides[: header.ndim]) == placement.leaf_strides
    assert header.data == tensor.carrier.pointer()
    assert header.byte_offset == 4 * offset
    assert (header.device.kind, header.device.number) == (1, 0)
    given = header.element_type
    assert (given.code, given.bits, given.lanes) == (code, 32, 1)


@pytest.mark.rule("M-43")
def test_pointer_and_device_are_those_of_the_hook(managed: Managed) -> None:
    class Elsewhere(Carrier):
        def size(self) -> int:
            return 8

        def dtype(self) -> DType:
            return DType.Int32

        def dlpack_info(self) -> dict[str, int]:
            return {"pointer": 0xDEAD0000, "device_type": 2, "device_id": 3, "more": 7}

    tensor = Tensor(Elsewhere(), 3, Layout.parse("2:2"))
    assert tensor.__dlpack_device__() == (2, 3)
    capsule = tensor.__dlpack__(max_version=(1, 0), dl_device=(2, 3))
    structure = managed(capsule)
    header = structure.header
    assert (header.data, header.byte_offset) == (0xDEAD0000, 12)
    assert (header.device.kind, header.device.number) == (2, 3)
    assert structure.flags == 1  # not mutable


@pytest.mark.rule("M-44", "G-16")
def test_the_read_only_flag_follows_mutability(managed: Managed) -> None:
    def flags(tensor: Tensor) -> int:
        capsule = tensor.__dlpack__(max_version=(1, 0))
        return int(managed(capsule).flags)

    tensor = cpu("3:1")
    assert flags(tensor) == 0
    assert flags(cpu("3:1", mutable=False)) == 1
    token = tensor.carrier._claim_ownership()
    assert flags(tensor) == 1
    tensor.carrier._relinquish_ownership(token)
    assert flags(tensor) == 0


@pytest.mark.rule("M-44", "60/E-20")
def test_numpy_sees_what_is_read_only(capsule_name: Callable[[Any], str]) -> None:
    fixed, owned = cpu("2:1", mutable=False), cpu("2:1")
    owned.carrier._claim_ownership()
    assert np.from_dlpack(cpu("2:1")).flags.writeable
    for tensor in (fixed, owned):
        assert not np.from_dlpack(tensor).flags.writeable
        assert capsule_name(tensor.__dlpack__()) == "dltensor"  # says nothing about it


@pytest.mark.rule("M-43", "G-17")
def test_more_leaves_than_numpy_has_axes_are_refused() -> None:
    layout = Layout(Shape([1] * 65), Stride([1] * 65))
    with pytest.raises(BufferError, match=r"a layout with 65 leaves.*reshape the Tensor first"):
        Tensor(CPU(1), 0, layout).__dlpack__()


# Refusals on shipped carriers


@pytest.mark.rule("M-41", "60/E-18")
def test_a_bool_tensor_has_a_device_and_no_capsule() -> None:
    tensor = cpu("2:1", dtype=DType.Bool)
    assert tensor.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match=r"takes Float32 and Int32.*Bool"):
        tensor.__dlpack__()


@pytest.mark.rule("M-47", "60/E-19")
def test_the_carrier_comes_before_the_arguments() -> None:
    wrong: Any = 3
    tensor = Tensor(Generic([1.0], dtype=DType.Float32), 0, Layout.parse("1:1"))
    with pytest.raises(BufferError, match="Generic does not export its storage"):
        tensor.__dlpack__(dl_device=wrong, max_version=wrong)
    with pytest.raises(BufferError, match="takes Float32"):
        cpu("1:1", dtype=DType.Bool).__dlpack__(max_version=wrong)


@pytest.mark.rule("60/E-19")
def test_arguments_of_a_cpu_tensor() -> None:
    tensor: Any = cpu("2:1")
    for error, options in (
        (BufferError, {"copy": 1}),
        (TypeError, {"dl_device": 1}),
        (ValueError, {"dl_device": (1,)}),
        (BufferError, {"dl_device": (2, 0)}),
        (TypeError, {"max_version": 1}),
        (ValueError, {"max_version": (1, -1)}),
    ):
        with pytest.raises(error):
            tensor.__dlpack__(**options)
    assert tensor.__dlpack__(copy=False, dl_device=[1, 0]) is not None


@pytest.mark.rule("60/E-23", "M-41")
def test_a_released_carrier_exports_nothing() -> None:
    tensor = cpu("2:1")
    tensor.carrier.release()
    for export in (Tensor.__dlpack__, Tensor.__dlpack_device__):
        with pytest.raises(BufferError, match="CPU has no storage to export: it is released"):
            export(tensor)


# NumPy as the consumer


@pytest.mark.rule("M-43", "M-53", "60/E-17")
def test_numpy_views_leaves_and_window() -> None:
    tensor = cpu("(2,(3,4)):(1,(2,6))", 2)
    array = np.from_dlpack(tensor)
    assert array.shape == (2, 3, 4) and array.strides == (4, 8, 24)
    assert array.ravel(order="F").tolist() == values(tensor)
    assert array[0, 0, 0] == 2.0


@pytest.mark.rule("M-45", "60/E-21")
def test_writes_of_a_consumer_show_and_are_not_counted() -> None:
    tensor = cpu("3:1")
    array = np.from_dlpack(tensor)
    array[0] = 42.0
    assert tensor[0] == 42.0 and tensor.version == 0
    tensor[1] = 7.0
    assert array.tolist() == [42.0, 7.0, 2.0]


@pytest.mark.rule("M-45", "A-4")
def test_export_of_a_tensor_in_a_graph_changes_nothing() -> None:
    leaf = cpu("3:1")
    result = sw.mul(leaf, leaf)
    node = result.autograd_ctx
    for tensor in (leaf, result):
        np.from_dlpack(tensor)
        assert tensor.version == 0 and tensor.grad is None
    assert result.autograd_ctx is node and leaf.autograd_ctx is None


@pytest.mark.rule("M-45")
def test_backward_uses_what_a_consumer_wrote() -> None:
    leaf = cpu("3:1")
    result = sw.mul(leaf, leaf)
    np.from_dlpack(leaf)[2] = 6.0
    result.backward(cpu("3:1"))
    assert leaf.grad is not None
    assert values(leaf.grad) == [0.0, 2.0, 24.0]  # 2 * [0, 1, 6] * [0, 1, 2]
