"""Flush, release, collection and close."""

import errno
import gc
import os
import weakref
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from strideweave import BlockDevice, DType
from strideweave.carriers import spans
from strideweave.carriers.block_device import system
from strideweave.carriers.block_device.geometry import Geometry
from strideweave.carriers.block_device.opening import OpenNode

Open = Callable[..., Any]


def descriptors(device: Any) -> list[int]:
    node = device._arena._channel._node
    return [entry for entry in (node.direct_descriptor, node.descriptor) if entry is not None]


@pytest.mark.rule("B-37")
def test_flush_synchronizes_and_changes_no_version(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1, empty=True)
    carrier[0] = 1.0
    device.flush()
    assert device_calls.take()[1:] == [("_fsync", 0, 0)] and carrier.version == 1
    device.flush()
    assert device_calls.take() == [("_fsync", 0, 0)]


@pytest.mark.rule("B-37")
def test_flush_of_a_closed_device(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    device.close()
    device._arena.is_faulted = True
    with pytest.raises(RuntimeError, match="closed"):
        device.flush()


@pytest.mark.rule("B-37", "G-10")
def test_the_first_failing_flush_is_final(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    device.allocate(1)
    device_calls.plan["_fsync"] = [OSError(errno.EIO, "lost")]
    with pytest.raises(OSError, match="lost"):
        device.flush()
    device_calls.take()
    with pytest.raises(RuntimeError, match="faulted"):
        device.flush()
    assert device.is_faulted() and not device_calls.log


@pytest.mark.rule("B-37")
@pytest.mark.parametrize("code", [None, errno.ENOTSUP, errno.ENOTTY, errno.EIO])
def test_a_full_flush_on_macos(monkeypatch: pytest.MonkeyPatch, code: int | None) -> None:
    commands: list[tuple[int, int]] = []
    synchronized: list[int] = []

    def fcntl(descriptor: int, command: int) -> int:
        commands.append((descriptor, command))
        if code is not None:
            raise OSError(code, "no")
        return 0

    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("fcntl.fcntl", fcntl)
    monkeypatch.setattr(os, "fsync", synchronized.append)
    if code == errno.EIO:
        with pytest.raises(OSError, match="no"):
            system._fsync(7)
    else:
        system._fsync(7)
    assert commands == [(7, 51)]
    assert synchronized == ([7] if code in (errno.ENOTSUP, errno.ENOTTY) else [])


@pytest.mark.rule("B-23")
def test_systems_without_vector_calls(monkeypatch: pytest.MonkeyPatch, open_device: Open) -> None:
    monkeypatch.setattr(system, "_HAS_VECTORS", False)
    carrier = open_device().allocate(9)
    spans.write_span(carrier, 2, array("f", [1, 2, 3]))
    out = array("f", [0] * 9)
    spans.read_span(carrier, 0, out)
    assert out.tolist() == [0, 0, 1, 2, 3, 0, 0, 0, 0] and carrier[3] == 2.0


@pytest.mark.rule("B-39", "C-30", "R-26")
def test_release(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    carrier = device.allocate(5, mutable=False)
    device_calls.take()
    carrier.release()
    carrier.release()
    assert not device_calls.log
    assert carrier.is_released() and not carrier.is_mutable() and carrier.device is device
    assert (carrier.size(), carrier.device_offset_bytes, carrier.extent_bytes) == (0, 0, 0)
    assert carrier.dtype() is DType.Float32 and carrier.supports_storage_dtype(DType.Float32)
    accesses: list[Callable[[], Any]] = [lambda: carrier[0], lambda: carrier.set_value(0, 1.0)]
    for access in accesses:
        with pytest.raises(RuntimeError, match="released"):
            access()
    other = device.allocate(5)
    assert other.device_offset_bytes == 0
    carrier.release()  # it has nothing left to free
    assert device.allocate(5).device_offset_bytes == 4096


@pytest.mark.rule("B-39", "C-29")
def test_an_owned_carrier_is_not_released(open_device: Open) -> None:
    device = open_device()
    carrier = device.allocate(5)
    token = carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    assert carrier.size() == 5 and device.allocate(1).device_offset_bytes == 4096
    carrier._relinquish_ownership(token)
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier._claim_ownership()


@pytest.mark.rule("B-40", "B-19")
def test_collecting_a_carrier_frees_its_extent_once(open_device: Open) -> None:
    device = open_device(16384)
    device.allocate(4096)
    carrier = device.allocate(1)
    carrier.myself = carrier  # a cycle
    assert carrier.device_offset_bytes == 0
    del carrier
    gc.collect()
    first, second = device.allocate(1), device.allocate(1)
    assert (first.device_offset_bytes, second.device_offset_bytes) == (0, 4096)
    first.release()
    del first
    assert [device.allocate(1).device_offset_bytes for _ in range(3)] == [0, 0, 0]


@pytest.mark.rule("B-40")
def test_a_carrier_keeps_its_device(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    watched, expected = weakref.ref(device), descriptors(device)
    carrier = device.allocate(1)
    del device
    carrier[0] = 2.5
    assert carrier[0] == 2.5 and carrier.device is watched() and device_calls.closed == []
    assert expected == descriptors(carrier.device)


@pytest.mark.rule("B-41")
def test_close_needs_every_carrier_object_gone(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    carrier, expected = device.allocate(1), descriptors(device)
    carrier.release()
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"Carrier object exists \(1 of them"):
            device.close()
    assert not device.is_closed() and device_calls.closed == []
    assert carrier.new_like([3.0])[0] == 3.0
    del carrier
    device.close()
    assert device.is_closed() and device_calls.closed == expected
    device.close()
    assert device_calls.closed == expected


@pytest.mark.rule("B-41", "B-37", "B-14")
def test_a_closed_device(open_device: Open) -> None:
    device = open_device()
    device.close()
    for refused in (lambda: device.allocate(1), device.flush):
        with pytest.raises(RuntimeError, match="is closed"):
            refused()
    assert device.capacity_bytes == 2**20 and not device.is_faulted()


@pytest.mark.rule("B-41", "B-38", "G-10")
@pytest.mark.parametrize(
    ("act", "synchronizes"),
    [
        (lambda carrier: carrier[0], False),
        (lambda carrier: carrier.set_value(0, 1.0), True),
        (lambda carrier: (carrier.set_value(0, 1.0), carrier.device.flush()), False),
        (lambda carrier: (carrier.set_value(0, 1.0), carrier.new_like([1.0])), False),
        (lambda carrier: spans.write_span(carrier, 0, array("f", [1.0])), False),
    ],
)
def test_close_stores_what_was_written_slot_by_slot(
    open_device: Open, device_calls: Any, act: Callable[[Any], Any], synchronizes: bool
) -> None:
    device = open_device()
    carrier = device.allocate(1, empty=True)
    act(carrier)
    del carrier
    device_calls.take()
    device.close()
    assert device_calls.take() == [("_fsync", 0, 0)] * synchronizes


@pytest.mark.rule("B-38", "B-41")
def test_a_direct_write_stores_no_earlier_slot(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1024, empty=True)
    carrier[0] = 1.0
    spans.write_span(carrier, 128, array("f", [2.0] * 128))
    del carrier
    device_calls.take()
    device.close()
    assert device_calls.take() == [("_fsync", 0, 0)]


@pytest.mark.rule("B-41", "G-10")
@pytest.mark.parametrize("failing", [["_fsync"], ["_close"], ["_fsync", "_close"]])
@pytest.mark.parametrize("direct", [True, False])
def test_a_failing_close_is_reported_and_final(
    open_device: Open, device_calls: Any, failing: list[str], direct: bool
) -> None:
    device = open_device(direct=direct)
    expected = descriptors(device)
    carrier = device.allocate(1, empty=True)
    carrier[0] = 1.0
    del carrier
    for name in failing:
        device_calls.plan[name] = [OSError(errno.EIO, f"{name} failed")]
    with pytest.raises(OSError, match=f"{failing[-1]} failed") as failure:
        device.close()
    assert failure.value.filename == device.path
    assert device.is_closed() and device_calls.closed == expected
    device.close()
    assert device_calls.closed == expected
    for descriptor in expected:
        with pytest.raises(OSError):
            os.fstat(descriptor)


@pytest.mark.rule("B-41")
def test_a_faulted_device_closes_without_synchronizing(
    open_device: Open, device_calls: Any
) -> None:
    device = open_device()
    carrier = device.allocate(1)
    carrier[0] = 1.0
    device_calls.plan["_pread_into"] = [OSError(errno.EIO, "gone")]
    with pytest.raises(OSError, match="gone"):
        carrier[0]
    del carrier
    gc.collect()  # the frames of the error know the carrier
    device_calls.take()
    device.close()
    assert not device_calls.log and len(device_calls.closed) == 1


@pytest.mark.rule("B-42")
def test_a_device_as_a_context(open_device: Open) -> None:
    device = open_device()
    with device as entered:
        assert entered is device and device.allocate(1)[0] == 0.0
    assert device.is_closed()
    with pytest.raises(KeyError, match="mine"), open_device() as device:
        raise KeyError("mine")
    assert device.is_closed()
    assert device.__exit__(None, None, None) is False


@pytest.mark.rule("B-42")
def test_a_close_failure_has_the_error_of_the_block_as_context(open_device: Open) -> None:
    device = open_device()
    mine = KeyError("mine")
    with pytest.raises(RuntimeError, match="Carrier object exists") as failure, device:
        carrier = device.allocate(1)
        raise mine
    assert failure.value.__context__ is mine and carrier[0] == 0.0 and not device.is_closed()


@pytest.mark.rule("B-40", "G-10")
@pytest.mark.parametrize("with_carrier", [True, False])
def test_a_forgotten_device_is_closed(tmp_path: Any, device_calls: Any, with_carrier: bool) -> None:
    path = tmp_path / "device"
    path.write_bytes(bytes(4096))
    descriptor = os.open(path, os.O_RDWR)
    device = BlockDevice._adopt(OpenNode(str(path), descriptor, None, Geometry(4096, 512, 512)))
    if with_carrier:
        carrier: Any = device.allocate(1)
        carrier[0] = 1.0
        carrier.myself = carrier
        del carrier
    del device
    gc.collect()
    assert device_calls.closed.count(descriptor) == 1
