"""What the carrier offers around storage: no operations, no export, no definition."""

import copy
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from strideweave import (
    BlockDeviceCarrier,
    CarrierDefinition,
    DType,
    Generic,
    Layout,
    Shape,
    StorageProvider,
    Stride,
    Tensor,
    UnsupportedOperationPlan,
    add,
    register_carrier_definition,
)
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    MoveOperation,
    dispatch_move,
    register_move_operation,
    registered_move_operation,
    unregister_move_operation,
)
from strideweave.carriers.operation_capability import capabilities_for_carrier_class
from strideweave.carriers.operation_policy import resolve_operation_plan

Open = Callable[..., Any]


@pytest.mark.rule("B-44", "C-45")
@pytest.mark.parametrize("name", ["add", "reshape", "permute", "made_up"])
def test_no_name_is_executed(open_device: Open, device_calls: Any, name: str) -> None:
    carrier = open_device().allocate(1, empty=True)
    with pytest.raises(NotImplementedError, match=f"BlockDeviceCarrier.*{name}"):
        carrier.dispatch_op(name)
    with pytest.raises(TypeError):
        carrier.dispatch_op(3)
    assert not device_calls.log


@pytest.mark.rule("B-44", "O-29")
def test_no_plan_is_supported(open_device: Open) -> None:
    carrier = open_device().allocate(1)
    plan = resolve_operation_plan("add", DType.Float32, DType.Float32)
    for _ in range(2):
        assert carrier.operation_capabilities() == carrier.operation_capabilities("add") == ()
        assert not carrier.supports_operation_plan(plan)
        assert "BlockDeviceCarrier" in carrier.unsupported_plan_reason(plan)
        with pytest.raises(UnsupportedOperationPlan):
            carrier.require_operation_plan(plan)
        carrier.release()
    assert capabilities_for_carrier_class(BlockDeviceCarrier) == ()


@pytest.mark.rule("B-44", "C-4")
def test_the_class_takes_no_definition(open_device: Open) -> None:
    def nothing(*arguments: Any) -> Any: ...

    storage = StorageProvider(nothing, nothing, nothing, nothing, nothing, nothing)
    with pytest.raises(TypeError, match="BlockDeviceCarrier"):
        register_carrier_definition(BlockDeviceCarrier, CarrierDefinition(storage))


@pytest.mark.rule("B-44", "M-47")
def test_storage_is_not_exported(open_device: Open) -> None:
    carrier = open_device().allocate(1)
    with pytest.raises(BufferError, match="BlockDeviceCarrier"):
        carrier.dlpack_info()
    tensor = Tensor(carrier, 0, Layout(Shape(1), Stride(1)))
    with pytest.raises(BufferError, match="BlockDeviceCarrier"):
        tensor.numpy()


@pytest.mark.rule("C-6")
def test_carriers_are_not_copied(open_device: Open) -> None:
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        copy.copy(open_device().allocate(1))


@pytest.mark.rule("D-42", "B-8")
def test_float32_is_the_one_dtype(open_device: Open) -> None:
    carrier = open_device().allocate(1)
    assert carrier.dtype() is DType.Float32 and carrier.supports_storage_dtype(DType.Float32)
    assert not carrier.supports_storage_dtype(DType.Int32)


@pytest.mark.rule("C-41", "T-47", "M-49", "B-26", "B-51")
def test_tensors_read_and_write_by_spans(open_device: Open, device_calls: Any) -> None:
    carrier = open_device().allocate(12)
    tensor = Tensor(carrier, 1, Layout(Shape([2, 3]), Stride([1, 3])))
    device_calls.take()
    tensor[...] = array("f", [1, 2, 3, 4, 5, 6])
    assert carrier.version == 1
    assert [name for name, _, _ in device_calls.take()] == [
        "_pread_into",
        "_pwrite_from",
        "_fdatasync",
    ]
    assert tensor.tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    assert np.asarray(tensor).tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    assert [entry[1] for entry in device_calls.take()] == [32, 32]
    assert tensor[1, 2] == 6.0 and carrier[3] == 0.0
    tensor[0, 0] = 9.0
    assert carrier[1] == 9.0 and carrier.version == 2


@pytest.mark.rule("C-26", "C-28", "B-22", "G-4")
def test_a_failed_bulk_write_is_one_version(open_device: Open, device_calls: Any) -> None:
    carrier = open_device().allocate(4)
    tensor = Tensor(carrier, 0, Layout(Shape(4), Stride(1)))
    device_calls.plan["_pwrite_from"] = [5, OSError(5, "gone")]
    with pytest.raises(OSError, match="gone"):
        tensor[...] = 1.0
    assert carrier.version == 1


@pytest.mark.rule("B-44")
def test_operations_on_its_tensors_are_refused(open_device: Open) -> None:
    tensor = Tensor(open_device().allocate(4), 0, Layout(Shape(4), Stride(1)))
    with pytest.raises(NotImplementedError, match="BlockDeviceCarrier"):
        add(tensor, tensor)
    with pytest.raises(NotImplementedError, match="BlockDeviceCarrier"):
        tensor[0:2]


PAIRS = [
    (BlockDeviceCarrier, Generic),
    (Generic, BlockDeviceCarrier),
    (BlockDeviceCarrier, BlockDeviceCarrier),
]


@pytest.mark.rule("B-46", "B-47", "B-48", "M-17")
@pytest.mark.parametrize(("source_class", "destination_class"), PAIRS)
def test_its_pairs_are_protected(source_class: Any, destination_class: Any) -> None:
    pair = (source_class, destination_class)
    entered = []
    attempts: list[Callable[[], Any]] = [
        lambda: register_move_operation(*pair, ElementwiseMoveOperation),
        lambda: unregister_move_operation(*pair),
        lambda: registered_move_operation(*pair, ElementwiseMoveOperation).__enter__(),
    ]
    for refused in attempts:
        with pytest.raises(ValueError, match="protected built-ins"):
            entered.append(refused())
    with pytest.raises(NotImplementedError, match="BlockDeviceCarrier"):
        dispatch_move(*pair)
    assert not entered


@pytest.mark.rule("B-48")
def test_types_are_checked_before_the_pair() -> None:
    with pytest.raises(TypeError, match="operation_class"):
        register_move_operation(BlockDeviceCarrier, Generic, int)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="destination_class"):
        unregister_move_operation(BlockDeviceCarrier, int)  # type: ignore[arg-type]
    with (
        pytest.raises(TypeError, match="source_class"),
        registered_move_operation(int, BlockDeviceCarrier, MoveOperation),  # type: ignore[arg-type]
    ):
        raise AssertionError("the block runs")


@pytest.mark.rule("B-1", "G-17")
def test_the_text_of_a_device_tells_its_state(open_device: Open, device_calls: Any) -> None:
    device = open_device(2**20)
    text = f"<BlockDevice {device.path!r} of 1048576 bytes, "
    assert repr(device) == text + "open>"
    device.close()
    assert repr(device) == text + "closed>"
    failed = open_device()
    device_calls.plan["_fsync"] = [OSError(5, "gone")]
    with pytest.raises(OSError, match="gone"):
        failed.flush()
    assert repr(failed).endswith(", faulted>")
