"""One slot at a time: values, versions, and the order of the checks."""

import struct
from collections.abc import Callable
from numbers import Real
from pathlib import Path
from typing import Any

import pytest

from strideweave import BlockDeviceCarrier
from strideweave.carriers.block_device import system

Open = Callable[..., Any]
READS: list[Callable[..., Any]] = [BlockDeviceCarrier.get_value, BlockDeviceCarrier.__getitem__]
WRITES: list[Callable[..., Any]] = [BlockDeviceCarrier.set_value, BlockDeviceCarrier.__setitem__]


@pytest.mark.rule("B-21")
def test_values_are_binary32_in_host_order(open_device: Open) -> None:
    device = open_device()
    carrier = device.allocate(5)
    carrier[0], carrier[1], carrier[2], carrier[3] = 1.1, 1e300, -1e300, True
    assert [carrier[slot] for slot in range(5)] == [
        1.100000023841858,
        float("inf"),
        float("-inf"),
        1.0,
        0.0,
    ]
    assert type(carrier[3]) is float
    image = struct.pack("=5f", 1.1, float("inf"), float("-inf"), 1.0, 0.0)
    assert Path(device.path).read_bytes()[:20] == image


@pytest.mark.rule("B-21")
def test_a_signed_zero_and_a_nan_survive(open_device: Open) -> None:
    carrier = open_device().allocate(2)
    carrier[0], carrier[1] = -0.0, float("nan")
    assert str(carrier[0]) == "-0.0" and carrier[1] != carrier[1]


@pytest.mark.rule("B-22", "C-26")
@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_one_version(open_device: Open, device_calls: Any, write: Any) -> None:
    carrier = open_device().allocate(2)
    device_calls.take()
    write(carrier, 1, 2.5)
    assert carrier.version == 1 and device_calls.take() == [("_pwrite_from", 4, 4)]
    assert carrier[1] == 2.5 and carrier.version == 1


@pytest.mark.rule("B-22", "B-27", "G-4")
@pytest.mark.parametrize("write", WRITES)
def test_a_failed_write_has_advanced_the_version_before(
    open_device: Open, monkeypatch: pytest.MonkeyPatch, write: Any
) -> None:
    device = open_device()
    carrier = device.allocate(2)
    seen = []

    class Failing(OSError):
        def __init__(self) -> None:
            super().__init__(5, "gone")

    def observe(*arguments: Any) -> int:
        seen.append(carrier.version)
        raise Failing

    monkeypatch.setattr(system, "_pwrite_from", observe)
    with pytest.raises(Failing):
        write(carrier, 0, 2.5)
    assert seen == [1] and carrier.version == 1 and device.is_faulted()


def released(carrier: Any) -> None:
    carrier.release()


def faulted(carrier: Any) -> None:
    carrier.device._arena.is_faulted = True


def closed(carrier: Any) -> None:
    carrier.device._arena.is_closed = True


def owned(carrier: Any) -> None:
    carrier._claim_ownership()


@pytest.mark.rule("B-28", "C-13", "C-15")
@pytest.mark.parametrize("read", READS)
def test_the_order_of_the_checks_of_a_read(open_device: Open, device_calls: Any, read: Any) -> None:
    order: list[tuple[Callable[[Any], None], str]] = [
        (faulted, "faulted"),
        (closed, "closed"),
        (released, "released"),
    ]
    carrier = open_device().allocate(2)
    device_calls.take()
    with pytest.raises(IndexError, match=r"slot 2 is out of range.*2 slots"):
        read(carrier, 2)
    for index in (-1, 2**70):
        with pytest.raises(IndexError):
            read(carrier, index)
    for change, message in order:  # each condition is reported before those of earlier rounds
        change(carrier)
        with pytest.raises(RuntimeError, match=message):
            read(carrier, 9)
    with pytest.raises(TypeError, match="slot index must be an integer, got '0'"):
        read(carrier, "0")
    assert not device_calls.log


@pytest.mark.rule("B-22", "B-28", "C-14", "C-15")
@pytest.mark.parametrize("write", WRITES)
def test_the_order_of_the_checks_of_a_write(
    open_device: Open, device_calls: Any, write: Any
) -> None:
    carrier = open_device().allocate(2)
    device_calls.take()
    with pytest.raises(TypeError, match="real number"):
        write(carrier, 0, "x")
    with pytest.raises(OverflowError):
        write(carrier, 0, 10**400)
    with pytest.raises(IndexError, match="slot 2"):
        write(carrier, 2, "x")
    order: list[tuple[Callable[[Any], None], str]] = [
        (owned, "not mutable"),
        (faulted, "faulted"),
        (closed, "closed"),
    ]
    for change, message in order:
        change(carrier)
        with pytest.raises(RuntimeError, match=message):
            write(carrier, 9, "x")
    with pytest.raises(TypeError, match="slot index"):
        write(carrier, "0", "x")
    gone = open_device().allocate(1, mutable=False)
    with pytest.raises(RuntimeError, match="not mutable"):
        write(gone, 9, "x")
    gone.release()
    with pytest.raises(RuntimeError, match="released"):
        write(gone, 9, "x")
    assert carrier.version == gone.version == 0
    assert [entry for entry in device_calls.log if entry[0] == "_pwrite_from"] == [
        ("_pwrite_from", 4, 0)  # the zeros of the second carrier
    ]


@pytest.mark.rule("B-28")
def test_refused_access_does_not_fault(open_device: Open) -> None:
    device = open_device()
    carrier = device.allocate(1, mutable=False)
    attempts: list[Callable[[], Any]] = [
        lambda: carrier[1],
        lambda: carrier["x"],
        lambda: carrier.set_value(0, 1.0),
        lambda: carrier.new_like(["x"]),
        lambda: device.allocate(10**9),
    ]
    for attempt in attempts:
        with pytest.raises((IndexError, TypeError, RuntimeError, MemoryError)):
            attempt()
    assert not device.is_faulted() and carrier[0] == 0.0


@pytest.mark.rule("B-22", "B-16")
@pytest.mark.parametrize(
    ("change", "message"),
    [(released, "released"), (faulted, "faulted"), (owned, "owned")],
)
def test_a_value_that_changes_the_preconditions(
    open_device: Open, device_calls: Any, change: Any, message: str
) -> None:
    carrier = open_device().allocate(1)
    device_calls.take()

    class Value:
        def __float__(self) -> float:
            change(carrier)
            return 1.0

    Real.register(Value)
    with pytest.raises(RuntimeError, match=message):
        carrier[0] = Value()
    assert carrier.version == 0 and not device_calls.log
