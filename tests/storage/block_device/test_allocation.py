"""Extents: where carriers lie, what they hold at first, and what is refused."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strideweave import DType
from strideweave.carriers.block_device.extents import FreeRanges

Open = Callable[..., Any]


def place(carrier: Any) -> tuple[int, int]:
    return carrier.device_offset_bytes, carrier.extent_bytes


@pytest.mark.rule("B-8")
def test_extents_are_padded(open_device: Open) -> None:
    device = open_device()
    carriers = [device.allocate(size) for size in (0, 1, 1024, 1025, 2048)]
    assert [carrier.extent_bytes for carrier in carriers] == [0, 4096, 4096, 8192, 8192]
    assert [carrier.device_offset_bytes for carrier in carriers] == [0, 0, 4096, 8192, 16384]
    assert [carrier.size() for carrier in carriers] == [0, 1, 1024, 1025, 2048]
    assert all(carrier.device is device for carrier in carriers)


@pytest.mark.rule("B-9")
def test_the_lowest_free_range_is_taken_and_neighbours_merge(open_device: Open) -> None:
    device = open_device(16384)
    a, b, c = (device.allocate(1) for _ in range(3))
    assert [place(carrier) for carrier in (a, b, c)] == [(0, 4096), (4096, 4096), (8192, 4096)]
    a.release()
    again = device.allocate(1)
    assert place(again) == (0, 4096)
    again.release()
    b.release()
    assert place(device.allocate(2048)) == (0, 8192)


@pytest.mark.rule("B-9", "B-12")
def test_a_full_device_is_an_error_without_transfers(open_device: Open, device_calls: Any) -> None:
    device = open_device(8192)
    held = [device.allocate(1, empty=True) for _ in range(2)]
    with pytest.raises(MemoryError, match="no aligned extent of 4096 bytes"):
        device.allocate(1)
    with pytest.raises(MemoryError, match="no aligned extent"):
        device.allocate(2**60)
    assert not device_calls.log and not device.is_faulted() and len(held) == 2
    assert place(device.allocate(0)) == (0, 0)


@pytest.mark.rule("B-7", "B-8")
def test_a_last_partial_block_is_not_used(open_device: Open) -> None:
    device = open_device(8192 + 512)
    device.allocate(2048).release()
    with pytest.raises(MemoryError):
        device.allocate(2049)


@pytest.mark.rule("B-9", "B-10")
def test_a_carrier_without_slots_stays_so(open_device: Open, device_calls: Any) -> None:
    carrier = open_device().allocate(0)
    assert (carrier.size(), *place(carrier)) == (0, 0, 0) and not device_calls.log
    assert not hasattr(carrier, "_allocate")
    with pytest.raises(IndexError):
        carrier[0]


@pytest.mark.rule("B-11")
def test_a_new_carrier_holds_zeros(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    device.allocate(2000).new_like([7.0] * 2000).release()
    dirty = device.allocate(2000, empty=True)
    position = dirty.device_offset_bytes
    dirty[0] = dirty[1999] = 7.0
    dirty.release()
    device_calls.take()
    clean = device.allocate(2000)
    assert device_calls.take() == [("_pwrite_from", 8000, position), ("_fdatasync", 0, 0)]
    assert [clean[slot] for slot in (0, 1000, 1999)] == [0.0] * 3 and clean.version == 0


@pytest.mark.rule("B-11")
def test_an_empty_carrier_holds_what_the_node_holds(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    first = device.allocate(3)
    first[1] = 1.5
    first.release()
    device_calls.take()
    found = device.allocate(3, empty=True)
    assert not device_calls.log
    assert found[1] == 1.5 and found.version == 0


@pytest.mark.rule("B-11")
def test_many_zeros_share_one_piece_of_memory(
    open_device: Open, device_calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strideweave.carriers.block_device.transfers.ZERO_PIECE_BYTES", 4096)
    carrier = open_device().allocate(2500)
    writes = [("_pwrite_from", 4096, 0), ("_pwrite_from", 4096, 4096), ("_pwrite_from", 1808, 8192)]
    assert device_calls.take() == [*writes, ("_fdatasync", 0, 0)]
    assert carrier[2499] == 0.0


class Indexed:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> int:
        if isinstance(self.value, Exception):
            raise self.value
        return int(self.value)


ROWS: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ("3", {"mutable": 1}, TypeError, "size must be an integer, got '3'"),
    (3.0, {"mutable": 1}, TypeError, "size must be an integer"),
    (Indexed(KeyError("mine")), {"mutable": 1}, KeyError, "mine"),
    (-1, {"mutable": 1}, ValueError, "at least 0, got -1"),
    (2**61, {"mutable": 1}, OverflowError, "2305843009213693952 slots"),
    (3, {"mutable": 1, "dtype": DType.Int32}, TypeError, "mutable must be True or False, got 1"),
    (3, {"dtype": "Float32", "empty": 1}, TypeError, "BlockDeviceCarrier.*'Float32'"),
    (3, {"dtype": DType.Int32, "empty": 1}, ValueError, "BlockDeviceCarrier.*Float32"),
    (3, {"dtype": DType.Bool, "empty": 1}, ValueError, "BlockDeviceCarrier cannot store"),
    (2**61 - 1, {"empty": 1}, TypeError, "empty must be True or False, got 1"),
    (2**61 - 1, {}, OverflowError, r"too long"),
]


@pytest.mark.rule("B-8", "B-12", "R-26")
@pytest.mark.parametrize(("size", "options", "kind", "message"), ROWS)
def test_refused_requests(
    open_device: Open,
    device_calls: Any,
    size: Any,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    device = open_device()
    prototype = device.allocate(0)
    for allocate in (device.allocate, prototype.allocate_like):
        with pytest.raises(kind, match=message):
            allocate(size, **options)
    assert not device_calls.log and place(device.allocate(1, empty=True)) == (0, 4096)


@pytest.mark.rule("B-29", "B-41")
def test_a_request_is_checked_before_the_device(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    device.close()
    for options in ({"mutable": 1}, {"dtype": DType.Int32}, {"empty": None}):
        with pytest.raises((TypeError, ValueError)):
            device.allocate(1, **options)
    with pytest.raises(RuntimeError, match="closed"):
        device.allocate(1)
    faulted = open_device()
    device_calls.plan["_pwrite_from"] = [OSError(5, "gone")]
    with pytest.raises(OSError, match="gone"):
        faulted.allocate(1)
    with pytest.raises(RuntimeError, match="faulted"):
        faulted.allocate(1)


@pytest.mark.rule("B-12", "B-27", "G-3")
@pytest.mark.parametrize("name", ["_pwrite_from", "_fdatasync"])
def test_a_failed_initialization_gives_the_range_back(
    open_device: Open, device_calls: Any, name: str
) -> None:
    device = open_device()
    neighbour = device.allocate(1)
    neighbour[0] = 1.5
    device_calls.plan[name] = [OSError(5, "gone")]
    with pytest.raises(OSError, match="gone") as failure:
        device.allocate(5)
    assert failure.value.filename == device.path
    assert device.is_faulted() and place(neighbour) == (0, 4096)
    neighbour.release()
    del neighbour
    device.close()  # although the error, and with it the frames that made the carrier, live


@pytest.mark.rule("B-12", "B-27")
def test_a_part_of_the_zeros_is_no_initialization(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    device_calls.plan["_pwrite_from"] = [8, 0]
    with pytest.raises(RuntimeError) as failure:
        device.allocate(5)
    assert "incomplete block-device initialization: completed 8 of 20 bytes" in str(failure.value)
    assert device.is_faulted()


@pytest.mark.rule("B-14", "C-31", "C-32")
def test_new_like_stores_values_in_one_transfer(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    prototype = device.allocate(2, mutable=False)
    device_calls.take()
    fresh = prototype.new_like(iter([1.1, None, 3, True]))
    assert device_calls.take() == [("_pwrite_from", 16, 4096), ("_fdatasync", 0, 0)]
    assert [fresh[slot] for slot in range(4)] == [1.100000023841858, 0.0, 3.0, 1.0]
    assert fresh.version == 0 and fresh.is_mutable() and fresh.device is device
    assert not prototype.new_like([1.0], mutable=False).is_mutable()
    assert prototype.new_like([]).size() == 0


@pytest.mark.rule("B-14", "B-25")
def test_new_like_writes_an_array_as_it_is(open_device: Open, device_calls: Any) -> None:
    prototype = open_device().allocate(0)
    values = np.random.default_rng(1).random(3000, np.float32)
    fresh = prototype.new_like(values)
    assert device_calls.take() == [("_pwrite_from", 12000, 0), ("_fdatasync", 0, 0)]
    assert fresh[2999] == values[2999]
    assert prototype.new_like(values[::2])[1] == values[2]
    assert prototype.new_like(np.array([1, 2], np.int64))[1] == 2.0


@pytest.mark.rule("B-14", "B-16", "B-17")
def test_new_like_checks_flags_before_values(open_device: Open, device_calls: Any) -> None:
    prototype = open_device().allocate(0)
    asked = []

    def values() -> Iterator[float]:
        asked.append(1)
        yield 1.0

    with pytest.raises(TypeError, match="mutable must be True or False"):
        prototype.new_like(values(), mutable=1, dtype=DType.Int32)
    with pytest.raises(ValueError, match="BlockDeviceCarrier"):
        prototype.new_like(values(), dtype=DType.Int32)
    assert not asked
    with pytest.raises(TypeError, match="BlockDeviceCarrier: values must be iterable, got 3"):
        prototype.new_like(3)
    with pytest.raises(TypeError, match="real number"):
        prototype.new_like(["x"])
    with pytest.raises(OverflowError):
        prototype.new_like([10**400])
    assert not device_calls.log


@pytest.mark.rule("B-14", "B-39", "C-30")
def test_a_released_carrier_is_a_factory(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    carrier = device.allocate(0).new_like([1.0, 2.0, 3.0])
    carrier.release()
    device_calls.take()
    held = carrier.new_like([5.0])
    like = carrier.allocate_like(2, mutable=False)
    assert held[0] == 5.0 and like[1] == 0.0 and not like.is_mutable()
    assert carrier.allocate_like(2, dtype=DType.Float32, empty=True).size() == 2
    assert [entry for entry in device_calls.log if entry[0] == "_pread_into"] == [
        ("_pread_into", 4, 0),
        ("_pread_into", 4, 4096 + 4),
    ]


@pytest.mark.rule("B-14", "B-29")
def test_factories_of_a_faulted_device(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    carrier = device.allocate(1)
    device_calls.plan["_pwrite_from"] = [OSError(5, "gone")]
    with pytest.raises(OSError, match="gone"):
        carrier.new_like([1.0])
    device_calls.take()
    factories: list[Callable[[], Any]] = [
        lambda: carrier.new_like([1.0]),
        lambda: carrier.allocate_like(1, empty=True),
    ]
    for make in factories:
        with pytest.raises(RuntimeError, match="faulted"):
            make()
    assert not device_calls.log


@pytest.mark.rule("B-13")
def test_two_objects_on_one_node_know_nothing_of_each_other(open_device: Open) -> None:
    first, second = open_device(), open_device()
    assert place(first.allocate(1)) == place(second.allocate(1)) == (0, 4096)


@pytest.mark.rule("B-8", "B-9")
@given(st.lists(st.integers(1, 9), min_size=1), st.randoms(use_true_random=False))
def test_ranges_against_a_list_of_flags(lengths: list[int], random: Any) -> None:
    free, taken, slots = FreeRanges(40), [], [False] * 40
    for length in lengths:
        start = free.take(length)
        fits = [first for first in range(41 - length) if not any(slots[first : first + length])]
        assert start == (fits[0] if fits else None)
        if start is not None:
            slots[start : start + length] = [True] * length
            taken.append((start, length))
        if taken and random.random() < 0.5:
            first, count = taken.pop(random.randrange(len(taken)))
            free.give_back(first, count)
            slots[first : first + count] = [False] * count
    for entry in taken:
        free.give_back(*entry)
    assert free.take(40) == 0 and free.take(1) is None
