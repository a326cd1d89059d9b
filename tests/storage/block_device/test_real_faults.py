"""Faults of real devices: a truncated, a read-only and a full backing store."""

import errno
import fcntl
import os
import struct
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strideweave import BlockDevice
from strideweave.carriers import spans

Attach = Callable[..., tuple[str, Path]]
Mount = Callable[[str], Path]

BLKFLSBUF = 0x1261
BLKROSET = 0x125D
SLOTS = 2**20


@contextmanager
def other_descriptor(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def truncated(device: Any, image: Path, length: int) -> None:
    """Cut the backing file, and drop what the system has cached of the device."""
    device.flush()
    os.truncate(image, length)
    with other_descriptor(device.path) as descriptor:
        fcntl.ioctl(descriptor, BLKFLSBUF)


def ones(count: int) -> "array[float]":
    return array("f", [1.0]) * count


@pytest.mark.rule("B-24", "B-27", "B-29", "B-38", "G-9", "G-10")
@pytest.mark.parametrize("options", [(), ("-b", "4096")])
@pytest.mark.parametrize("direct", [True, False])
def test_a_read_of_what_is_gone(
    attach_block_device: Attach, options: tuple[str, ...], direct: bool
) -> None:
    path, image = attach_block_device(*options)
    device = BlockDevice(path, direct=direct)
    carrier = device.allocate(0).new_like([1.0] * SLOTS)
    truncated(device, image, 0)
    out = array("f", [7.0]) * SLOTS
    with pytest.raises(OSError) as failure:
        spans.read_span(carrier, 0, out)
    assert (failure.value.errno, failure.value.filename) == (errno.EIO, path)
    assert device.is_faulted() and set(out) == {7.0}
    with pytest.raises(RuntimeError, match="faulted"):
        carrier[0]
    carrier.release()


@pytest.mark.rule("B-27", "B-29", "G-10")
def test_a_slot_that_is_gone(attach_block_device: Attach) -> None:
    path, image = attach_block_device()
    device = BlockDevice(path)
    carrier = device.allocate(4096)
    truncated(device, image, 0)
    with pytest.raises(OSError) as failure:
        carrier[0]
    assert (failure.value.errno, failure.value.filename) == (errno.EIO, path)
    assert device.is_faulted()


@pytest.mark.rule("B-24", "B-27", "G-9")
@pytest.mark.parametrize("direct", [True, False])
def test_a_read_that_falls_short(attach_block_device: Attach, direct: bool) -> None:
    path, image = attach_block_device()
    device = BlockDevice(path, direct=direct)
    carrier = device.allocate(0).new_like([1.0] * 8192)
    truncated(device, image, 8192)
    out = array("f", [7.0]) * 8192
    with pytest.raises(OSError, match="Input/output"):
        spans.read_span(carrier, 0, out)
    assert device.is_faulted()
    completed = np.count_nonzero(np.asarray(out) == 1.0)
    assert out.tolist() == [1.0] * completed + [7.0] * (8192 - completed)
    assert completed in (0, 2048)


@pytest.mark.rule("B-27", "B-22", "G-10")
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(
    ("act", "versions"),
    [
        (lambda carrier: carrier.set_value(0, 1.0), 1),
        (lambda carrier: spans.write_span(carrier, 0, ones(2048)), 1),
        (lambda carrier: carrier.new_like([1.0]), 0),
        (lambda carrier: carrier.device.allocate(2048), 0),
    ],
)
def test_a_device_that_became_read_only(
    attach_block_device: Attach, direct: bool, act: Callable[[Any], Any], versions: int
) -> None:
    path, _ = attach_block_device()
    device = BlockDevice(path, direct=direct)
    carrier = device.allocate(2048)
    with other_descriptor(path) as descriptor:
        try:
            fcntl.ioctl(descriptor, BLKROSET, struct.pack("i", 1))
            with pytest.raises(OSError) as failure:
                act(carrier)
        finally:
            fcntl.ioctl(descriptor, BLKROSET, struct.pack("i", 0))  # outlives losetup --detach
    assert failure.value.errno in (errno.EPERM, errno.EROFS)
    assert failure.value.filename == path
    assert device.is_faulted() and carrier.version == versions


@pytest.mark.rule("B-38", "B-12", "B-27", "G-10")
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(
    "act",
    [
        lambda carrier: spans.write_span(carrier, 0, ones(SLOTS)),
        lambda carrier: carrier.new_like(ones(SLOTS)),
        lambda carrier: carrier.device.allocate(SLOTS).size(),
    ],
)
def test_a_full_backing_store_fails_the_bulk_write(
    mount_in_memory: Mount,
    attach_block_device: Attach,
    direct: bool,
    act: Callable[[Any], Any],
) -> None:
    path, _ = attach_block_device(size=2**25, folder=mount_in_memory("size=1m"))
    device = BlockDevice(path, direct=direct)
    carrier = device.allocate(SLOTS, empty=True)
    with pytest.raises(OSError) as failure:
        act(carrier)
    assert failure.value.errno in (errno.EIO, errno.ENOSPC) and failure.value.filename == path
    assert device.is_faulted() and carrier.extent_bytes == 4 * SLOTS
    with pytest.raises(RuntimeError, match="faulted"):
        device.flush()


@pytest.mark.rule("B-37", "B-38", "G-10")
@pytest.mark.parametrize("ending", ["flush", "close", "bulk write"])
def test_a_full_backing_store_fails_scalar_writes_later(
    mount_in_memory: Mount, attach_block_device: Attach, ending: str
) -> None:
    path, _ = attach_block_device(size=2**25, folder=mount_in_memory("size=64k"))
    device = BlockDevice(path, direct=False)
    carrier = device.allocate(2**20, empty=True)
    for slot in range(0, 2**20, 1024):
        carrier[slot] = 1.0
    assert not device.is_faulted()
    with pytest.raises(OSError) as failure:
        if ending == "flush":
            device.flush()
        elif ending == "bulk write":
            spans.write_span(carrier, 0, ones(1))
        else:
            del carrier
            device.close()
    assert failure.value.errno in (errno.EIO, errno.ENOSPC) and failure.value.filename == path
    assert device.is_closed() if ending == "close" else device.is_faulted()
