"""The transfer loop: whole calls, short results, interruptions, and the direct middle."""

import errno
import hashlib
import mmap
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strideweave import BlockDevice
from strideweave.carriers import spans
from strideweave.carriers.block_device import system, transfers

Open = Callable[..., Any]
Attach = Callable[..., tuple[str, Path]]


def floats(count: int) -> Any:
    return np.random.default_rng(count).random(count, np.float32)


def aligned(count: int) -> Any:
    """Give room for floats that starts at a page."""
    raw = np.zeros(count * 4 + mmap.PAGESIZE, np.uint8)
    start = -raw.__array_interface__["data"][0] % mmap.PAGESIZE
    return raw[start : start + count * 4].view(np.float32)


def unaligned(count: int) -> Any:
    return aligned(count + 1)[1:]


@pytest.mark.rule("B-23", "B-25", "B-26", "B-38")
def test_a_span_is_one_call(open_device: Open, device_calls: Any) -> None:
    carrier = open_device().allocate(100_000)
    values = floats(70_000)
    device_calls.take()
    assert spans.write_span(carrier, 3, values.data)
    assert device_calls.take() == [("_pwrite_from", 280_000, 12), ("_fdatasync", 0, 0)]
    out = np.zeros_like(values)
    assert spans.read_span(carrier, 3, out.data)
    assert device_calls.take() == [("_pread_into", 280_000, 12)]
    assert np.array_equal(out, values) and carrier._host_array() is None


@pytest.mark.rule("B-26", "C-26", "G-4")
def test_a_bulk_write_is_one_version_that_is_there_when_it_starts(
    open_device: Open, device_calls: Any
) -> None:
    carrier = open_device().allocate(4)
    spans.write_span(carrier, 0, array("f", [1, 2]))
    assert carrier.version == 1
    spans.read_span(carrier, 0, array("f", [0]))
    assert carrier.version == 1
    device_calls.plan["_pwrite_from"] = [OSError(5, "gone")]
    with pytest.raises(OSError, match="gone"):
        spans.write_span(carrier, 0, array("f", [1, 2]))
    assert carrier.version == 2


@pytest.mark.rule("B-26", "C-40")
def test_released_carriers_offer_no_spans(open_device: Open) -> None:
    carrier = open_device().allocate(4)
    carrier.release()
    assert not spans.write_span(carrier, 0, array("f", [1]))
    assert not spans.read_span(carrier, 0, array("f", [1]))


@pytest.mark.rule("B-23", "B-28")
def test_a_span_outside_the_payload_never_reaches_the_system(
    open_device: Open, device_calls: Any
) -> None:
    carrier = open_device().allocate(4)  # 4 slots of payload in an extent of 1024
    device_calls.take()
    for start, count in [(0, 5), (4, 1), (-1, 1), (5, 0)]:
        for transfer in (spans.read_span, spans.write_span):
            with pytest.raises(IndexError):
                transfer(carrier, start, array("f", [0] * count))
    assert not device_calls.log and carrier.version == 0
    spans.write_span(carrier, 4, array("f"))
    spans.read_span(carrier, 4, array("f"))
    assert not device_calls.log


@pytest.mark.rule("B-24")
def test_short_results_are_continued(open_device: Open, device_calls: Any) -> None:
    carrier = open_device().allocate(10)
    device_calls.take()
    device_calls.plan["_pwrite_from"] = [5, InterruptedError(), 1, None]
    spans.write_span(carrier, 0, array("f", range(10)))
    assert device_calls.take() == [
        ("_pwrite_from", 40, 0),
        ("_pwrite_from", 35, 5),
        ("_pwrite_from", 35, 5),
        ("_pwrite_from", 34, 6),
        ("_fdatasync", 0, 0),
    ]
    device_calls.plan["_pread_into"] = [7, InterruptedError(), 30, None]
    out = array("f", [9] * 10)
    spans.read_span(carrier, 0, out)
    assert [offset for _, _, offset in device_calls.take()] == [0, 7, 7, 37]
    assert out.tolist() == list(range(10)) and not carrier.device.is_faulted()


@pytest.mark.rule("B-24", "B-27", "G-9")
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_zero_result_is_an_error_and_not_zeros(
    open_device: Open, device_calls: Any, kind: str
) -> None:
    device = open_device()
    carrier = device.allocate(10)
    name = "_pread_into" if kind == "read" else "_pwrite_from"
    device_calls.plan[name] = [6, 0]
    transfer = spans.read_span if kind == "read" else spans.write_span
    with pytest.raises(RuntimeError) as failure:
        transfer(carrier, 0, array("f", [0] * 10))
    assert str(failure.value) == f"incomplete block-device {kind}: completed 6 of 40 bytes"
    assert device.is_faulted()


@pytest.mark.rule("B-24", "G-9")
def test_a_file_that_ends_early(open_device: Open) -> None:
    carrier = open_device().allocate(2000)
    Path(carrier.device.path).write_bytes(bytes(6))
    with pytest.raises(RuntimeError, match="completed 6 of 8000 bytes"):
        spans.read_span(carrier, 0, array("f", [0] * 2000))


@pytest.mark.rule("B-24")
def test_a_call_is_never_too_long(
    open_device: Open, device_calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert transfers.MOST_BYTES_PER_CALL == 2**31 - 4096
    monkeypatch.setattr(transfers, "MOST_BYTES_PER_CALL", 1000)
    carrier = open_device().allocate(600)
    device_calls.take()
    spans.write_span(carrier, 0, array("f", range(600)))
    lengths = [length for name, length, _ in device_calls.take() if name == "_pwrite_from"]
    assert lengths == [1000, 1000, 400]
    assert carrier[599] == 599.0


@pytest.mark.rule("B-32", "B-33", "B-38")
def test_a_range_is_split_at_blocks(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1000, empty=True)
    direct = device._arena._channel._node.direct_descriptor
    values = floats(900)
    spans.write_span(carrier, 3, values.data)
    head, tail = 512 - 12, (3612 - 512) % 512
    flags = [descriptor == direct for descriptor in device_calls.descriptors]
    assert device_calls.take() == [
        ("_pwrite_from", head, 12),
        ("_pwrite_from", 3600 - head - tail, 512),
        ("_pwrite_from", tail, 3612 - tail),
        ("_fdatasync", 0, 0),
    ]
    assert flags == [False, True, False, False]
    out = np.zeros_like(values)
    spans.read_span(carrier, 3, out.data)
    flags = [descriptor == direct for descriptor in device_calls.descriptors]
    assert flags == [False, True, False] and np.array_equal(out, values)
    assert device_calls.take()[1] == ("_pread_into", 3600 - head - tail, 512)


@pytest.mark.rule("B-38", "B-32")
def test_whole_blocks_need_no_synchronization(open_device: Open, device_calls: Any) -> None:
    carrier = open_device(direct=True).allocate(1024)
    assert device_calls.take() == [("_pwrite_from", 4096, 0)]
    spans.write_span(carrier, 128, floats(128).data)
    assert device_calls.take() == [("_pwrite_from", 512, 512)]


@pytest.mark.rule("B-33")
def test_slots_and_short_ranges_are_buffered(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1024, empty=True)
    buffered = device._arena._channel._node.descriptor
    carrier[0] = 1.0
    spans.write_span(carrier, 64, floats(127).data)
    spans.write_span(carrier, 1, floats(200).data)  # longer than a block, without a whole one
    spans.read_span(carrier, 0, floats(127).data)
    assert carrier[0] == 1.0
    assert set(device_calls.descriptors) == {buffered}


@pytest.mark.rule("B-32")
def test_unaligned_memory_goes_through_one_page_aligned_buffer(
    open_device: Open, device_calls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = []
    address_of = transfers._address
    step = transfers._Transfer.step

    def observed(transfer: Any, descriptor: int, view: Any) -> int:
        addresses.append(address_of(view))
        return step(transfer, descriptor, view)

    monkeypatch.setattr(transfers._Transfer, "step", observed)
    slots = (2 * transfers.BOUNCE_BYTES + 8192) // 4
    carrier = open_device(2**25, direct=True).allocate(slots, empty=True)
    values, out = unaligned(slots), unaligned(slots)
    values[:] = floats(slots)
    spans.write_span(carrier, 0, values.data)
    spans.read_span(carrier, 0, out.data)
    lengths = [transfers.BOUNCE_BYTES, transfers.BOUNCE_BYTES, 8192]
    assert [length for _, length, _ in device_calls.take()] == lengths * 2
    assert len(set(addresses)) == 1 and addresses[0] % 4096 == 0
    assert np.array_equal(out, values)


@pytest.mark.rule("B-32", "B-25")
def test_aligned_memory_is_transferred_in_place(open_device: Open, device_calls: Any) -> None:
    slots = (2 * transfers.BOUNCE_BYTES) // 4
    device = open_device(2**25, direct=True)
    carrier = device.allocate(slots, empty=True)
    values, out = aligned(slots), aligned(slots)
    values[:] = floats(slots)
    spans.write_span(carrier, 0, values.data)
    assert device_calls.take() == [("_pwrite_from", slots * 4, 0)]
    spans.read_span(carrier, 0, out.data)
    assert device_calls.take() == [("_pread_into", slots * 4, 0)]
    assert device._arena._channel._bounce is None and np.array_equal(out, values)


@pytest.mark.rule("B-32", "B-33")
def test_only_whole_pages_are_read_in_place(open_device: Open, device_calls: Any) -> None:
    device = open_device(direct=True)
    page = mmap.PAGESIZE
    carrier = device.allocate(page // 2, empty=True)
    values = floats(page // 2)
    spans.write_span(carrier, 0, values.data)
    device_calls.take()
    out = aligned((page + 1028) // 4)  # a page, two blocks and a slot
    spans.read_span(carrier, 0, out.data)
    assert device_calls.take() == [
        ("_pread_into", page, 0),
        ("_pread_into", 1024, page),
        ("_pread_into", 4, page + 1024),
    ]
    assert np.array_equal(out, values[: len(out)])
    spans.read_span(carrier, 1, out.data)  # the memory of the first whole block begins at no page
    assert [length for _, length, _ in device_calls.take()] == [508, page + 512, 8]
    assert np.array_equal(out, values[1 : 1 + len(out)])


@pytest.mark.rule("B-32", "B-52")
def test_a_failed_direct_read_leaves_unaligned_memory_alone(
    open_device: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    carrier = open_device(direct=True).allocate(1024)

    def spoiling(descriptor: int, view: Any, offset: int) -> int:
        view[:] = bytes(len(view))  # as systems do with what they could not read
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(system, "_pread_into", spoiling)
    out = unaligned(1024)
    out[:] = 7.0
    with pytest.raises(OSError, match="gone"):
        spans.read_span(carrier, 0, out.data)
    assert set(out) == {7.0}


@pytest.mark.rule("B-33", "B-24")
@pytest.mark.parametrize("memory", [aligned, unaligned])
def test_after_short_direct_results(open_device: Open, device_calls: Any, memory: Any) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1024, empty=True)
    direct = device._arena._channel._node.direct_descriptor
    values, out = memory(1024), memory(1024)
    values[:] = floats(1024)
    device_calls.plan["_pwrite_from"] = [1024, 700]
    spans.write_span(carrier, 0, values.data)
    flags = [descriptor == direct for descriptor in device_calls.descriptors]
    assert flags == [True, True, False, False]
    assert [offset for _, _, offset in device_calls.take()] == [0, 1024, 1724, 0]
    device_calls.plan["_pread_into"] = [1024, 700]
    spans.read_span(carrier, 0, out.data)
    flags = [descriptor == direct for descriptor in device_calls.descriptors]
    assert flags == [True, True, False] and np.array_equal(out, values)
    assert device.direct_io


@pytest.mark.rule("B-36", "B-33")
@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP])
@pytest.mark.parametrize("memory", [aligned, unaligned])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_refusal_switches_direct_transfers_off(
    open_device: Open, device_calls: Any, code: int, memory: Any, kind: str
) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1030, empty=True)
    values, out = memory(1030), memory(1030)
    values[:] = floats(1030)
    if kind == "read":
        spans.write_span(carrier, 0, values.data)
        device_calls.take()
        device_calls.plan["_pread_into"] = [1024, OSError(code, "no direct")]
        spans.read_span(carrier, 0, out.data)
    else:
        device_calls.plan["_pwrite_from"] = [1024, OSError(code, "no direct")]
        spans.write_span(carrier, 0, values.data)
        assert device_calls.log[-1] == ("_fdatasync", 0, 0)
        spans.read_span(carrier, 0, out.data)
    assert not device.direct_io and not device.is_faulted()
    assert [offset for _, _, offset in device_calls.log][:3] == [0, 1024, 1024]
    assert np.array_equal(out, values)
    device_calls.take()
    spans.read_span(carrier, 0, out.data)
    assert device_calls.take() == [("_pread_into", 4120, 0)]


@pytest.mark.rule("B-36", "B-27")
@pytest.mark.parametrize("error", [OSError(errno.EIO, "gone"), PermissionError(errno.EPERM, "no")])
def test_other_errors_of_direct_calls_are_final(
    open_device: Open, device_calls: Any, error: OSError
) -> None:
    device = open_device(direct=True)
    carrier = device.allocate(1024, empty=True)
    device_calls.plan["_pwrite_from"] = [error]
    with pytest.raises(type(error)) as failure:
        spans.write_span(carrier, 0, floats(1024).data)
    assert failure.value is error and failure.value.filename == device.path
    assert device.is_faulted() and device.direct_io and len(device_calls.log) == 1


@pytest.mark.rule("B-36", "B-27")
def test_a_refusal_of_a_buffered_call_is_final(open_device: Open, device_calls: Any) -> None:
    device = open_device()
    carrier = device.allocate(1, empty=True)
    device_calls.plan["_pwrite_from"] = [OSError(errno.EINVAL, "no")]
    with pytest.raises(OSError, match="no"):
        carrier[0] = 1.0
    assert device.is_faulted()


@pytest.mark.rule("B-34")
@pytest.mark.parametrize("direct", [True, False])
def test_bytes_outside_the_range_are_never_written(open_device: Open, direct: bool) -> None:
    device = open_device(16384, direct=direct)
    path = Path(device.path)
    path.write_bytes(bytes([0xAA]) * 16384)
    held = device.allocate(1024, empty=True)
    carrier = device.allocate(1100)  # the payload of 4400 bytes becomes zeros, and no more
    assert path.read_bytes() == bytes([0xAA]) * 4096 + bytes(4400) + bytes([0xAA]) * (8192 - 304)
    spans.write_span(carrier, 5, floats(1000).data)
    expected = bytes(20) + floats(1000).tobytes() + bytes(380)
    assert path.read_bytes()[4096 : 4096 + 4400] == expected
    assert path.read_bytes()[:4096] == bytes([0xAA]) * 4096
    assert path.read_bytes()[4096 + 4400 :] == bytes([0xAA]) * (8192 - 304) and held.size() == 1024


@pytest.mark.rule("B-31", "B-32", "B-33", "B-35")
@pytest.mark.parametrize("options", [(), ("-b", "4096")])
def test_both_descriptors_of_a_real_device_agree(
    attach_block_device: Attach, options: tuple[str, ...]
) -> None:
    path, _ = attach_block_device(*options)
    with BlockDevice(path, direct=True) as device:
        carrier = device.allocate(5000)
        expected = np.zeros(5000, np.float32)
        random = np.random.default_rng(5)
        for round_number in range(60):
            start = int(random.integers(0, 4990))
            count = int(random.integers(1, 5000 - start + 1))
            values = random.random(count, np.float32)
            spans.write_span(carrier, start, values.data)
            expected[start : start + count] = values
            slot = int(random.integers(0, 5000))
            carrier[slot] = expected[slot] = round_number
            out = np.zeros(5000, np.float32)
            spans.read_span(carrier, 0, out.data)
            assert np.array_equal(out, expected)
            assert carrier[slot] == round_number
        assert device.direct_io and not device.is_faulted()
        del carrier


@pytest.mark.rule("B-33", "B-34", "G-9")
@pytest.mark.parametrize("options", [(), ("-b", "4096")])
@pytest.mark.parametrize("direct", [True, False])
def test_every_byte_reaches_a_real_device(
    attach_block_device: Attach,
    run_program: Callable[..., str],
    options: tuple[str, ...],
    direct: bool,
) -> None:
    path, _ = attach_block_device(*options)
    device = BlockDevice(path, direct=direct)
    block = device.logical_block_size
    lengths = [
        4,
        block - 4,
        block,
        block + 4,
        *(factor * block + rest for factor in (3, 2048 * 512 // block) for rest in (-4, 0, 4)),
    ]
    held, ranges = [], []
    digest = hashlib.sha256()
    for length in lengths:
        for offset in (0, 4, block - 4):
            slots = (offset + length) // 4
            carrier = device.allocate(slots + 7)
            values = unaligned(length // 4)
            values[:] = floats(length // 4)
            spans.write_span(carrier, offset // 4, values.data)
            ranges.append((carrier.device_offset_bytes + offset, length))
            digest.update(values.tobytes())
            held.append(carrier)
    device.flush()
    printed = run_program(
        """
        import hashlib, json, os

        digest = hashlib.sha256()
        with open(os.environ["NODE"], "rb", buffering=0) as node:
            for start, length in json.loads(os.environ["RANGES"]):
                node.seek(start)
                rest = length
                while rest:
                    read = node.read(rest)
                    assert read
                    digest.update(read)
                    rest -= len(read)
        print(digest.hexdigest())
        """,
        NODE=path,
        RANGES=str([list(entry) for entry in ranges]),
    )
    assert printed.strip() == digest.hexdigest()
    carriers = list(zip(held, ranges, strict=True))
    for carrier, (start, length) in carriers:
        out = unaligned(length // 4)
        spans.read_span(carrier, (start - carrier.device_offset_bytes) // 4, out.data)
        assert np.array_equal(out, floats(length // 4))
