"""One lock per device: threads, re-entrancy and finalizers."""

import gc
import threading
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from numbers import Real
from typing import Any

import numpy as np
import pytest

from strideweave.carriers import spans
from strideweave.carriers.block_device import system

Open = Callable[..., Any]
BOUND = 20.0
"""Seconds after which a test gives up on something that should happen at once."""


class Gate:
    """Holds the next write in the system until the test opens it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.opened = threading.Event(), threading.Event()
        self.inside, self.most = 0, 0
        self._call = system._pwrite_from
        monkeypatch.setattr(system, "_pwrite_from", self._pwrite)

    def _pwrite(self, descriptor: int, view: Any, offset: int) -> int:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.entered.set()
        assert self.opened.wait(BOUND)
        count = self._call(descriptor, view, offset)
        self.inside -= 1
        return count


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    return Gate(monkeypatch)


def started(action: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Run an action on a thread; the list gets its result or its exception."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(action())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, outcome


@pytest.mark.rule("B-15", "B-18", "G-14")
@pytest.mark.parametrize(
    "action",
    [
        lambda first, second: second[0],
        lambda first, second: second.set_value(0, 2.0),
        lambda first, second: spans.read_span(second, 0, array("f", [0])),
        lambda first, second: second.new_like([1.0]).size(),
        lambda first, second: second.device.allocate(1, empty=True).size(),
        lambda first, second: second.device.flush(),
        lambda first, second: first.release(),
        lambda first, second: second.release(),
    ],
)
def test_everything_waits_for_a_running_transfer(
    open_device: Open, gate: Gate, action: Callable[[Any, Any], Any]
) -> None:
    device = open_device()
    first, second = device.allocate(600, empty=True), device.allocate(2, empty=True)
    writer, written = started(lambda: spans.write_span(first, 0, array("f", [1.0] * 600)))
    assert gate.entered.wait(BOUND)
    waiter, outcome = started(lambda: action(first, second))
    waiter.join(0.05)
    assert waiter.is_alive() and not outcome
    gate.opened.set()
    writer.join(BOUND)
    waiter.join(BOUND)
    assert written == [True] and not isinstance(outcome[0], BaseException)
    assert gate.most == 1


@pytest.mark.rule("B-15", "B-41")
def test_close_waits_for_a_running_transfer(open_device: Open, gate: Gate) -> None:
    device = open_device()
    carrier = device.allocate(2, empty=True)
    _, written = started(lambda: spans.write_span(carrier, 0, array("f", [1.0])))
    assert gate.entered.wait(BOUND)
    closer, outcome = started(device.close)
    closer.join(0.05)
    assert closer.is_alive()
    gate.opened.set()
    closer.join(BOUND)
    assert written == [True] and "Carrier object exists" in str(outcome[0])


@pytest.mark.rule("B-15")
def test_devices_do_not_wait_for_each_other(open_device: Open, gate: Gate) -> None:
    first, second = open_device(), open_device()
    carrier, other = first.allocate(1, empty=True), second.allocate(1, empty=True)
    writer, _ = started(lambda: carrier.set_value(0, 1.0))
    assert gate.entered.wait(BOUND)
    assert other[0] == 0.0
    gate.opened.set()
    writer.join(BOUND)


@pytest.mark.rule("B-18")
def test_an_extent_is_reused_only_after_its_transfer(open_device: Open, gate: Gate) -> None:
    device = open_device()
    carrier = device.allocate(1024, empty=True)
    values = array("f", [1.0]) * 1024
    writer, _ = started(lambda: spans.write_span(carrier, 0, values))
    assert gate.entered.wait(BOUND)
    releaser, _ = started(carrier.release)
    allocator, allocated = started(lambda: device.allocate(1024, empty=True))
    allocator.join(0.05)
    assert not carrier.is_released() and not allocated
    gate.opened.set()
    for thread in (writer, releaser, allocator):
        thread.join(BOUND)
    assert carrier.is_released() and device.allocate(1024).device_offset_bytes in (0, 4096)


@pytest.mark.rule("B-16")
@pytest.mark.parametrize("winner", ["release", "claim"])
def test_a_write_that_lost_the_race_is_refused(open_device: Open, gate: Gate, winner: str) -> None:
    device = open_device()
    blocker, carrier = device.allocate(1, empty=True), device.allocate(1, empty=True)
    holder, _ = started(lambda: blocker.set_value(0, 1.0))
    assert gate.entered.wait(BOUND)
    if winner == "claim":
        writer, outcome = started(lambda: carrier.set_value(0, 1.0))
        writer.join(0.05)  # it has passed the first checks and waits for the lock
        carrier._claim_ownership()
    else:
        releaser, _ = started(carrier.release)
        releaser.join(0.05)
        writer, outcome = started(lambda: carrier.set_value(0, 1.0))
    gate.opened.set()
    for thread in (holder, writer):
        thread.join(BOUND)
    assert carrier.version == 0 or winner == "release"
    if winner == "claim":
        assert isinstance(outcome[0], RuntimeError) and "not mutable" in str(outcome[0])


@pytest.mark.rule("B-16", "B-17")
def test_caller_code_may_use_the_same_device(open_device: Open) -> None:
    device = open_device()
    carrier, other = device.allocate(4), device.allocate(2)

    class Index:
        def __index__(self) -> int:
            other[0] = 5.0
            return 3

    class Value:
        def __float__(self) -> float:
            return float(device.allocate(0).new_like([other[0] + 1])[0])

    Real.register(Value)

    def values() -> Iterator[Any]:
        yield other[0]
        device.flush()
        yield Value()

    carrier[Index()] = Value()
    assert carrier[Index()] == 6.0 and device.allocate(Index()).size() == 3
    fresh = carrier.new_like(values())
    assert [fresh[0], fresh[1]] == [5.0, 6.0]


@pytest.mark.rule("B-17", "G-3")
def test_raising_caller_code_changes_nothing(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    carrier = device.allocate(2, empty=True)

    class Raising:
        def __index__(self) -> int:
            raise KeyError("mine")

        __float__ = __index__

        def __iter__(self) -> Iterator[float]:
            yield 1.0
            raise KeyError("mine")

    Real.register(Raising)
    raising: Any = Raising()
    attempts: list[Callable[[], Any]] = [
        lambda: carrier[raising],
        lambda: carrier.set_value(raising, 1.0),
        lambda: carrier.set_value(0, raising),
        lambda: carrier.new_like(raising),
        lambda: carrier.new_like([1.0, raising]),
        lambda: device.allocate(raising),
        lambda: carrier.allocate_like(raising),
    ]
    for attempt in attempts:
        with pytest.raises(KeyError, match="mine"):
            attempt()
    assert not device_calls.log and carrier.version == 0 and not device.is_faulted()
    assert device.allocate(1, empty=True).device_offset_bytes == 4096


class Observed:
    """Something whose collection uses the device."""

    def __init__(self, action: Callable[[], Any], outcomes: list[Any]) -> None:
        self.action, self.outcomes = action, outcomes

    def __del__(self) -> None:
        try:
            self.outcomes.append(self.action())
        except RuntimeError as error:
            self.outcomes.append(str(error))


@pytest.mark.rule("B-19", "G-14")
def test_a_finalizer_inside_a_locked_section(
    open_device: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python may collect foreign garbage in the middle of a transfer: no hang, no half step."""
    device = open_device()
    carrier, dropped, kept = (device.allocate(1) for _ in range(3))
    outcomes: list[Any] = []
    garbage = [
        Observed(dropped.release, outcomes),
        Observed(lambda: kept[0], outcomes),
        Observed(device.flush, outcomes),
    ]
    pwrite = system._pwrite_from

    def collecting(descriptor: int, view: Any, offset: int) -> int:
        garbage.clear()
        assert not dropped.is_released() or dropped.size() == 0
        return pwrite(descriptor, view, offset)

    monkeypatch.setattr(system, "_pwrite_from", collecting)
    carrier[0] = 1.0
    assert outcomes.count(None) == 1
    assert [entry for entry in outcomes if entry and "this very thread" in entry] != []
    assert carrier[0] == 1.0 and dropped.is_released() and not device.is_faulted()
    assert device.allocate(1).device_offset_bytes == 4096  # what was dropped


@pytest.mark.rule("B-19")
def test_a_carrier_collected_inside_a_locked_section(
    open_device: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = open_device()
    carrier = device.allocate(1)
    dropped = [device.allocate(1)]
    pwrite = system._pwrite_from

    def collecting(descriptor: int, view: Any, offset: int) -> int:
        dropped.clear()
        return pwrite(descriptor, view, offset)

    monkeypatch.setattr(system, "_pwrite_from", collecting)
    carrier[0] = 1.0
    assert device.allocate(1, empty=True).device_offset_bytes == 4096


@pytest.mark.rule("B-19", "B-40", "G-14")
def test_carriers_from_cycles_while_others_allocate(open_device: Open) -> None:
    device = open_device(2**22)

    def churn(seed: int) -> int:
        for round_number in range(150):
            carrier = device.allocate(1024, empty=True)
            carrier.myself = carrier
            carrier[0] = seed
            if round_number % 8 == 0:
                gc.collect()
            assert carrier[0] == seed
        return seed

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(churn, range(4), timeout=BOUND * 3)) == [0, 1, 2, 3]
    gc.collect()
    assert device.allocate(2**20).device_offset_bytes == 0  # all of it is free


@pytest.mark.rule("B-8", "B-15", "G-14")
def test_threads_keep_to_their_extents(open_device: Open) -> None:
    device = open_device(2**22, direct=True)

    def churn(seed: int) -> None:
        random = np.random.default_rng(seed)
        held: list[tuple[Any, Any]] = []
        for _ in range(60):
            count = int(random.integers(1, 3000))
            values = random.random(count, np.float32)
            carrier = device.allocate(count)
            spans.write_span(carrier, 0, values.data)
            held.append((carrier, values))
            if len(held) > 5:
                found, expected = held.pop(int(random.integers(0, len(held))))
                out = np.zeros_like(expected)
                spans.read_span(found, 0, out.data)
                assert np.array_equal(out, expected)
                if random.random() < 0.5:
                    found.release()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(churn, range(4), timeout=BOUND * 3))
    assert not device.is_faulted()
