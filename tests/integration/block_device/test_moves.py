"""Values between CPU memory and block devices: the whole span, by one transfer."""

import errno
import threading
from array import array
from collections.abc import Callable
from typing import Any, final

import numpy as np
import pytest

import strideweave as sw
from strideweave import (
    CPU,
    BlockDeviceCarrier,
    BlockDeviceToCpuMoveOperation,
    Carrier,
    CarrierDefinition,
    CpuToBlockDeviceMoveOperation,
    DType,
    Evictable,
    FileBacked,
    Generic,
    Layout,
    Shape,
    StorageProvider,
    Stride,
    Tensor,
    TransferRoute,
    register_carrier_definition,
)
from strideweave.carriers.block_device import system
from strideweave.carriers.extension import PreparedTransfer, TransferProvider, TransferRequest
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    MoveOperation,
    dispatch_move,
    register_move_operation,
    registered_move_operation,
    unregister_move_operation,
)

Open = Callable[..., Any]
FLOAT, INT = DType.Float32, DType.Int32
BOUND = 20.0


def cpu(values: list[float]) -> CPU:
    return CPU(0).new_like(values)


def flat(count: int) -> Layout:
    return Layout(Shape(count), Stride(1))


def over(carrier: Any, layout: Layout | None = None, offset: int = 0) -> Tensor:
    return Tensor(carrier, offset, layout or flat(carrier.size()))


def slots(carrier: Any) -> list[float]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("B-1", "B-46", "M-14", "R-26")
def test_exactly_two_pairs_exist() -> None:
    pairs: dict[tuple[type[Carrier], type[Carrier]], Any] = {
        (CPU, BlockDeviceCarrier): CpuToBlockDeviceMoveOperation,
        (BlockDeviceCarrier, CPU): BlockDeviceToCpuMoveOperation,
    }
    for pair, operation in pairs.items():
        assert dispatch_move(*pair) is operation
        assert (operation.source_class, operation.destination_class) == pair

    class Custom(Carrier): ...

    others: list[type[Carrier]] = [BlockDeviceCarrier, Generic, FileBacked, Evictable, Custom]
    for other in others:
        for pair in ((other, BlockDeviceCarrier), (BlockDeviceCarrier, other)):
            with pytest.raises(NotImplementedError, match=r"BlockDeviceCarrier.*to CPU first"):
                dispatch_move(*pair)


@pytest.mark.rule("B-51", "B-52", "B-25", "M-2", "M-5", "M-21")
def test_a_span_with_holes_goes_by_one_call_each_way(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    source = cpu([1, 91, 2, 92, 3])
    destination = device.allocate(5)
    device_calls.take()
    stored = sw.move(over(source, Layout(Shape(3), Stride(2))), destination)
    assert device_calls.take() == [("_pwrite_from", 20, 0), ("_fdatasync", 0, 0)]
    assert stored.carrier is destination and stored.offset == 0 and stored.tolist() == [1, 2, 3]
    assert slots(destination) == [1, 91, 2, 92, 3] and destination.version == 1
    assert source.is_released() and not destination.is_owned()
    device_calls.take()
    target = CPU(7)
    loaded = sw.move(stored, target)
    assert device_calls.take() == [("_pread_into", 20, 0)]
    assert slots(target) == [1, 91, 2, 92, 3, 0, 0] and target.version == 1
    assert loaded.tolist() == [1, 2, 3] and loaded.layout == stored.layout
    assert destination.is_released() and destination.size() == 0


@pytest.mark.rule("B-25", "B-32", "C-51")
def test_large_storage_of_cpu_goes_directly_without_a_copy(
    open_device: Open, device_calls: Any
) -> None:
    device, count = open_device(2**22, direct=True), 2**18
    values = np.random.default_rng(3).random(count, np.float32)
    source, target = CPU(count), CPU(count, empty=True)
    over(source)[...] = values
    stored = sw.copy(over(source), device.allocate(count, empty=True))
    loaded = sw.copy(stored, target)
    assert device_calls.take() == [("_pwrite_from", 4 * count, 0), ("_pread_into", 4 * count, 0)]
    assert np.array_equal(loaded.numpy(), values)


@pytest.mark.rule("B-51")
def test_offsets_are_left_behind(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    destination = device.allocate(3)
    stored = sw.move(over(cpu([50, 51, 1, 2, 3, 52]), flat(3), 2), destination)
    assert slots(destination) == [1, 2, 3] and stored.offset == 0
    view = Tensor(device.allocate(0).new_like([9, 8, 7, 6]), 1, flat(3))  # ends with the payload
    device_calls.take()
    loaded = sw.move(view, CPU(3))
    assert loaded.tolist() == [8, 7, 6]
    assert device_calls.take() == [("_pread_into", 12, 4096 + 4)]


@pytest.mark.rule("B-51", "M-5")
def test_a_broadcast_view_stays_one(open_device: Open) -> None:
    layout = Layout(Shape([2, 3]), Stride([1, 0]))
    stored = sw.move(over(cpu([5, 6]), layout), open_device().allocate(2))
    assert stored.layout == layout and stored[1, 2] == 6.0
    loaded = sw.move(stored, CPU(2))
    assert loaded.layout == layout and loaded.tolist() == [[5.0] * 3, [6.0] * 3]


@pytest.mark.rule("B-51")
def test_slots_beyond_the_span_stay(open_device: Open) -> None:
    destination = open_device().allocate(0).new_like([7, 7, 7, 7])
    sw.copy(over(cpu([1, 2])), destination)
    assert slots(destination) == [1, 2, 7, 7]
    target = cpu([4, 4, 4])
    sw.copy(over(destination, flat(2)), target)
    assert slots(target) == [1, 2, 4]


@pytest.mark.rule("B-51", "B-52")
def test_slots_are_never_copied_one_by_one(
    open_device: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = open_device().allocate(3)

    def refuse(*arguments: Any) -> Any:
        raise AssertionError("a slot was touched")

    for name in ("get_value", "set_value", "__getitem__", "__setitem__"):
        monkeypatch.setattr(BlockDeviceCarrier, name, refuse)
        monkeypatch.setattr(CPU, name, refuse)
    source = CPU(0).new_like([1, 2, 3])
    target = CPU(3)
    sw.move(sw.move(over(source), destination), target)
    assert target._host_array().tolist() == [1, 2, 3]  # type: ignore[union-attr]


@pytest.mark.rule("B-46", "B-49", "M-17")
@pytest.mark.parametrize("act", [sw.move, sw.copy, sw.move_async, sw.copy_async])
def test_other_pairs_are_refused_before_any_effect(
    open_device: Open, device_calls: Any, act: Callable[..., Any]
) -> None:
    device = open_device()
    block, second = device.allocate(2, empty=True), device.allocate(2, empty=True)
    pairs: list[tuple[Any, Any]] = [
        (block, second),
        (block, Generic([0.0, 0.0])),
        (block, FileBacked()),
        (Generic([1.0, 2.0]), block),
        (FileBacked().new_like([1.0, 2.0]), block),
        (Evictable(cpu([1.0, 2.0]), FileBacked()), block),
    ]
    for source, destination in pairs:
        with pytest.raises(NotImplementedError) as failure:
            act(over(source, flat(2)), destination)
        name = f"({type(source).__qualname__}, {type(destination).__qualname__})"
        assert name in str(failure.value)
        assert not source.is_owned() and not source.is_released() and destination.version == 0
    assert not device_calls.log


@pytest.mark.rule("B-47", "G-11")
def test_a_class_of_the_same_name_is_another_class() -> None:
    named: Any = type("BlockDeviceCarrier", (Carrier,), {})
    assert dispatch_move(named, CPU) is ElementwiseMoveOperation
    with registered_move_operation(named, Generic, ElementwiseMoveOperation):
        assert dispatch_move(named, Generic) is ElementwiseMoveOperation


@final
class Unpinned(MoveOperation):
    def _copy(self, *arguments: Any) -> None:
        raise AssertionError("the copy runs")


@pytest.mark.rule("B-48", "B-49", "M-17")
@pytest.mark.parametrize(
    "pair", [(CPU, BlockDeviceCarrier), (BlockDeviceCarrier, CPU), (Generic, BlockDeviceCarrier)]
)
@pytest.mark.parametrize(
    "operation", [Unpinned, ElementwiseMoveOperation, CpuToBlockDeviceMoveOperation]
)
def test_registrations_are_protected(open_device: Open, pair: Any, operation: Any) -> None:
    ran = []
    with pytest.raises(ValueError, match="protected built-ins"):
        register_move_operation(pair[0], pair[1], operation)
    with pytest.raises(ValueError, match="protected built-ins"):
        unregister_move_operation(pair[0], pair[1])
    with (
        pytest.raises(ValueError, match="protected built-ins"),
        registered_move_operation(pair[0], pair[1], operation),
    ):
        ran.append(1)
    assert not ran
    stored = sw.copy(over(cpu([1, 2])), open_device().allocate(2))
    assert stored.tolist() == [1, 2]


@pytest.mark.rule("B-49", "M-17")
def test_operations_of_the_pairs_serve_no_other_pair() -> None:
    class Shelf(Carrier): ...

    operations: list[type[MoveOperation]] = [
        CpuToBlockDeviceMoveOperation,
        BlockDeviceToCpuMoveOperation,
    ]
    for operation in operations:
        with registered_move_operation(Generic, Shelf, operation):
            shelf = Shelf()
            shelf.size = lambda: 2  # type: ignore[method-assign]
            shelf.dtype = lambda: FLOAT  # type: ignore[method-assign]
            shelf._is_mutable = lambda: True  # type: ignore[method-assign]
            with pytest.raises(TypeError, match=r"requires a (CPU|BlockDeviceCarrier) source"):
                sw.move(over(Generic([1.0, 2.0])), shelf)


@pytest.mark.rule("B-46", "M-17")
def test_a_declared_route_reaches_a_block_device(open_device: Open) -> None:
    class Shelf(Carrier):
        cells: list[float]

    def prepare(request: TransferRequest[Shelf, BlockDeviceCarrier]) -> PreparedTransfer:
        def submit() -> None:
            first = request.tensor.offset
            cells = request.source.cells[first : first + request.physical_span]
            for slot, value in enumerate(cells):
                request.destination[slot] = value

        return PreparedTransfer(submit)

    storage = StorageProvider[Shelf](
        lambda carrier, dtype: dtype is FLOAT,
        lambda carrier: len(carrier.cells),
        lambda carrier, count: setattr(carrier, "cells", [0.0] * count),
        lambda carrier: carrier.cells.clear(),
        lambda carrier, slot: carrier.cells[slot],
        lambda carrier, slot, value: carrier.cells.__setitem__(slot, value),
        elementwise_fallback=True,
    )
    provider = TransferProvider[Shelf, BlockDeviceCarrier](prepare)
    route = TransferRoute(Shelf, BlockDeviceCarrier, "shelf.store", provider)
    register_carrier_definition(Shelf, CarrierDefinition(storage, transfers=(route,)))
    shelf = Shelf(2, dtype=FLOAT)
    shelf[0], shelf[1] = 1.0, 2.0
    destination = open_device().allocate(2)
    with sw.no_grad():
        stored = sw.move(over(shelf), destination)
    assert stored.tolist() == [1.0, 2.0] and destination.version == 2
    with pytest.raises(NotImplementedError, match="BlockDeviceCarrier"):
        sw.move(stored, Shelf(2, dtype=FLOAT))


def spoil_device(carrier: Any) -> None:
    carrier.device._arena.is_faulted = True


@pytest.mark.rule("B-50", "B-10", "B-28", "B-29")
def test_the_order_of_the_checks(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    block = device.allocate(2, empty=True)
    spoil_device(block)  # the last condition of all

    def refused(kind: type[Exception], message: str, tensor: Any, destination: Any) -> None:
        with pytest.raises(kind, match=message):
            sw.move(tensor, destination)

    refused(TypeError, "tensor must be a Tensor", block, block)
    refused(ValueError, "own carrier", over(block), block)
    refused(TypeError, "dtype must match", over(CPU(2, dtype=INT)), block)
    refused(NotImplementedError, "no permitted route", over(Generic([1.0, 2.0])), block)
    refused(ValueError, "too small", over(cpu([1, 2, 3])), block)
    token = block._claim_ownership()
    refused(RuntimeError, "not mutable", over(cpu([1, 2])), block)
    refused(RuntimeError, "cannot be moved directly", over(block), CPU(2))
    block._relinquish_ownership(token)
    refused(RuntimeError, "faulted", over(cpu([1, 2])), block)
    target = CPU(2)
    refused(RuntimeError, "faulted", over(block), target)
    assert (block.version, target.version) == (0, 0) and not device_calls.log
    healthy = open_device()
    refused(ValueError, "too small", over(cpu([1.0])), healthy.allocate(0))
    fixed = healthy.allocate(2, mutable=False)
    refused(RuntimeError, "mutable", over(cpu([1, 2])), fixed)
    fixed.release()
    refused(RuntimeError, "released", over(cpu([1, 2])), fixed)
    assert not healthy.is_faulted()


@pytest.mark.rule("B-52", "B-27", "M-29", "G-3")
@pytest.mark.parametrize("name", ["_pwrite_from", "_fdatasync"])
@pytest.mark.parametrize("act", [sw.move, sw.copy])
def test_a_failed_store(open_device: Open, device_calls: Any, name: str, act: Any) -> None:
    device = open_device()
    destination, source = device.allocate(4, empty=True), cpu([1, 2, 3, 4])
    seen: list[int] = []
    error = OSError(errno.EIO, "gone")
    device_calls.plan[name] = [error]
    with pytest.raises(OSError, match="gone") as failure:
        act(over(source), destination)
    assert failure.value is error and failure.value.filename == device.path
    assert device.is_faulted() and destination.version == 1 and not seen
    assert slots(source) == [1, 2, 3, 4] and source.version == 0
    for carrier in (source, destination):
        assert not carrier.is_owned() and not carrier.is_released() and carrier.is_mutable()


@pytest.mark.rule("B-52", "B-27", "B-24", "G-9")
@pytest.mark.parametrize(("plan", "completed"), [([], 0), ([6], 6), ([8, 4], 12)])
def test_a_failed_load(
    open_device: Open, device_calls: Any, plan: list[int], completed: int
) -> None:
    device = open_device()
    source, target = device.allocate(0).new_like([1, 2, 3, 4]), cpu([9, 9, 9, 9])
    device_calls.plan["_pread_into"] = [*plan, OSError(errno.EIO, "gone")]
    with pytest.raises(OSError, match="gone"):
        sw.move(over(source), target)
    before, values = array("f", [9] * 4).tobytes(), array("f", [1, 2, 3, 4]).tobytes()
    found = target._host_array().tobytes()  # type: ignore[union-attr]
    assert found == values[:completed] + before[completed:]
    assert device.is_faulted() and (source.version, target.version) == (0, 1)
    assert not source.is_released() and source.size() == 4 and target.is_mutable()


@pytest.mark.rule("B-52", "B-27")
def test_a_load_that_ends_early(open_device: Open, device_calls: Any) -> None:
    source = open_device().allocate(4)
    device_calls.plan["_pread_into"] = [6, 0]
    handle = sw.move_async(over(source), CPU(4))
    with pytest.raises(RuntimeError, match="incomplete block-device read: completed 6 of 16 bytes"):
        handle.wait(BOUND)
    assert source.device.is_faulted() and not source.is_owned()


@pytest.mark.rule("B-52", "B-22")
def test_the_version_advances_before_the_transfer(
    open_device: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier, target, seen = open_device().allocate(1), CPU(1), []
    pwrite, pread = system._pwrite_from, system._pread_into

    def observed_write(*arguments: Any) -> int:
        seen.append(carrier.version)
        return pwrite(*arguments)

    def observed_read(*arguments: Any) -> int:
        seen.append(target.version)
        return pread(*arguments)

    monkeypatch.setattr(system, "_pwrite_from", observed_write)
    monkeypatch.setattr(system, "_pread_into", observed_read)
    sw.move(sw.move(over(cpu([1])), carrier), target)
    assert seen == [1, 1] and (carrier.version, target.version) == (1, 1)


@pytest.mark.rule("B-52", "M-30")
def test_the_source_is_released_last(open_device: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = open_device().allocate(0).new_like([1, 2]), CPU(2)

    def refuse(carrier: Any) -> None:
        raise OSError("kept")

    monkeypatch.setattr(BlockDeviceCarrier, "_release", refuse)
    with pytest.raises(OSError, match="kept"):
        sw.move(over(source), target)
    assert not source.is_released() and not source.is_owned() and target.version == 1


@pytest.mark.rule("B-46", "A-35", "M-34", "B-14")
def test_gradients_come_back(open_device: Open) -> None:
    device = open_device()
    source = over(cpu([1, 2]))
    stored = sw.move(source, device.allocate(2))
    assert type(stored.autograd_ctx) is CpuToBlockDeviceMoveOperation
    loaded = sw.move(stored, CPU(2))
    assert type(loaded.autograd_ctx) is BlockDeviceToCpuMoveOperation
    loaded.backward(over(cpu([3, 4])))
    assert source.grad is not None
    assert type(source.grad.carrier) is CPU and source.grad.tolist() == [3, 4]


@pytest.mark.rule("S-9", "B-41", "M-27", "M-28", "G-6")
def test_a_device_closes_as_soon_as_the_move_is_over(open_device: Open) -> None:
    device = open_device()
    with sw.no_grad():  # a node would keep the source
        handle = sw.move_async(over(device.allocate(4)), CPU(4))
        assert handle.wait(BOUND).tolist() == [0.0] * 4
        assert sw.move(over(device.allocate(4)), CPU(4)).tolist() == [0.0] * 4
    device.close()
    assert device.is_closed()


@pytest.mark.rule("S-9", "B-41", "M-27", "G-6")
@pytest.mark.parametrize("stores", [True, False])
def test_a_kept_failure_keeps_no_carrier(
    open_device: Open, monkeypatch: pytest.MonkeyPatch, stores: bool
) -> None:
    def fail(*arguments: Any) -> int:
        raise OSError(errno.EIO, "gone")

    device = open_device()
    block = device.allocate(4, empty=True)
    monkeypatch.setattr(system, "_pwrite_from", fail)
    monkeypatch.setattr(system, "_pread_into", fail)
    if stores:
        handle = sw.move_async(over(CPU(4)), block)
    else:
        handle = sw.move_async(over(block), CPU(4))
    del block
    with pytest.raises(OSError, match="gone") as failure:
        handle.wait(BOUND)
    assert failure.value.filename == device.path
    device.close()
    assert device.is_closed()


@pytest.mark.rule("M-22", "M-26", "G-6", "B-15")
def test_a_pending_move_owns_both_ends(open_device: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, pwrite = threading.Event(), system._pwrite_from
    device = open_device()
    block, source = device.allocate(2), cpu([1, 2])

    def gated(*arguments: Any) -> int:
        assert opened.wait(BOUND)
        return pwrite(*arguments)

    monkeypatch.setattr(system, "_pwrite_from", gated)
    handle = sw.move_async(over(source), block)
    assert not handle.done and source.is_owned() and block.is_owned()
    for carrier in (source, block):
        with pytest.raises(RuntimeError, match="owned"):
            carrier.release()
    with pytest.raises(RuntimeError, match="not mutable"):
        source[0] = 5.0
    opened.set()
    assert handle.wait(BOUND).tolist() == [1, 2]
    assert source.is_released() and not block.is_owned()


@pytest.mark.rule("M-40", "B-46")
def test_explained_moves(open_device: Open) -> None:
    block = open_device().allocate(2)
    explained = sw.explain_move(over(cpu([1, 2])), block)
    assert explained.kind == explained.reverse_kind == "registered"
    assert explained.operation_class is CpuToBlockDeviceMoveOperation
    refused = sw.explain_move(over(Generic([1.0, 2.0])), block)
    assert refused.kind == "refused" and "BlockDeviceCarrier" in str(refused.reason)


@pytest.mark.rule("B-45", "C-66")
def test_evictable_takes_no_block_device(open_device: Open) -> None:
    block = open_device().allocate(2)
    for tiers in ((cpu([1, 2]), block), (block, cpu([1, 2]))):
        with pytest.raises(TypeError, match="BlockDeviceCarrier"):
            Evictable(*tiers)
    assert not block.is_owned()


@pytest.mark.rule("B-51", "B-33", "G-9")
@pytest.mark.parametrize("direct", [True, False])
def test_many_sizes_and_offsets(open_device: Open, direct: bool) -> None:
    device = open_device(2**24, direct=direct)
    random = np.random.default_rng(3)
    for count in (1, 127, 128, 129, 1023, 1024, 1025, 300_000):
        for offset in (0, 1, 127):
            values = random.random(count + offset + 3, np.float32)
            source = over(CPU(0).new_like(values), flat(count), offset)
            block = device.allocate(count + 5)
            stored = sw.move(source, block)
            loaded = sw.move(stored, CPU(count))
            assert np.array_equal(loaded.numpy(), values[offset : offset + count])
            whole = device.allocate(0).new_like(values.tolist())
            part = sw.move(over(whole, flat(count), offset), CPU(count))
            assert np.array_equal(part.numpy(), values[offset : offset + count])
