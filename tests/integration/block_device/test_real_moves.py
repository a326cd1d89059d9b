"""Moves to and from real block devices, healthy and failing."""

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, BlockDevice, Layout, Tensor

Attach = Callable[..., tuple[str, Path]]
Mount = Callable[[str], Path]
SLOTS = 2**20


def over(carrier: sw.Carrier, count: int) -> Tensor:
    return Tensor(carrier, 0, Layout.leaf(count, 1))


def source_of(count: int) -> Tensor:
    values = np.random.default_rng(count).random(count, np.float32)
    return over(CPU(0).new_like(values), count)


@pytest.mark.rule("B-51", "B-33", "B-38", "G-9", "R-26")
@pytest.mark.parametrize("options", [(), ("-b", "4096")])
@pytest.mark.parametrize("direct", [None, False])
@pytest.mark.parametrize("change", [-1, 0, 1])
@pytest.mark.parametrize("blocks", [1, 3, 600])
def test_moved_bytes_are_there_for_another_process(
    attach_block_device: Attach,
    run_program: Callable[..., str],
    options: tuple[str, ...],
    direct: bool | None,
    change: int,
    blocks: int,
) -> None:
    path, _ = attach_block_device(*options)
    with BlockDevice(path, direct=direct) as device:
        count = blocks * device.logical_block_size // 4 + change
        source = source_of(count)
        expected = source.numpy().copy()
        first = device.allocate(3)
        stored = sw.move(source, device.allocate(count))
        printed = run_program(
            """
            import hashlib, os

            with open(os.environ["NODE"], "rb", buffering=0) as node:
                node.seek(int(os.environ["START"]))
                rest, digest = int(os.environ["LENGTH"]), hashlib.sha256()
                while rest:
                    read = node.read(rest)
                    digest.update(read)
                    rest -= len(read)
            print(digest.hexdigest())
            """,
            NODE=path,
            START=str(stored.carrier.device_offset_bytes),  # type: ignore[attr-defined]
            LENGTH=str(count * 4),
        )
        assert printed.strip() == hashlib.sha256(expected.tobytes()).hexdigest()
        loaded = sw.move(stored, CPU(count))
        assert np.array_equal(loaded.numpy(), expected)
        del stored, loaded, source, first


@pytest.mark.rule("B-52", "B-24", "B-27", "G-9", "G-10")
@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("kept", [0, 8192])
def test_a_truncated_backing_file(attach_block_device: Attach, direct: bool, kept: int) -> None:
    path, image = attach_block_device()
    device = BlockDevice(path, direct=direct)
    stored = sw.move(source_of(8192), device.allocate(8192))
    device.flush()
    os.truncate(image, kept)
    descriptor = os.open(path, os.O_RDONLY)
    fcntl.ioctl(descriptor, 0x1261)  # BLKFLSBUF
    os.close(descriptor)
    target = CPU(8192)
    with pytest.raises(OSError) as failure:
        sw.move(stored, target)
    assert (failure.value.errno, failure.value.filename) == (errno.EIO, path)
    assert device.is_faulted() and not stored.carrier.is_released() and target.version == 1
    if not direct:  # directly, the device may have put anything into the target's memory
        found = over(target, 8192).numpy()
        completed = np.count_nonzero(found)
        assert np.array_equal(found[:completed], source_of(8192).numpy()[:completed])
        assert completed <= kept // 4


@pytest.mark.rule("B-52", "B-38", "G-10")
@pytest.mark.parametrize("direct", [True, False])
def test_a_full_backing_store(
    mount_in_memory: Mount, attach_block_device: Attach, direct: bool
) -> None:
    path, _ = attach_block_device(size=2**25, folder=mount_in_memory("size=1m"))
    device = BlockDevice(path, direct=direct)
    destination, source = device.allocate(SLOTS, empty=True), source_of(SLOTS)
    expected = source.numpy().copy()
    with pytest.raises(OSError) as failure:
        sw.move(source, destination)
    assert failure.value.errno in (errno.EIO, errno.ENOSPC) and failure.value.filename == path
    assert device.is_faulted() and destination.version == 1
    assert np.array_equal(source.numpy(), expected) and not source.carrier.is_owned()


@pytest.mark.slow
@pytest.mark.rule("B-13", "B-38", "G-9")
def test_a_large_span_through_a_real_device(attach_block_device: Attach) -> None:
    count = 2**26 + 1  # 256 MiB and a tail
    path, _ = attach_block_device(size=2**29)
    for direct in (True, False):
        with BlockDevice(path, direct=direct) as device:
            source = source_of(count)
            expected = source.numpy().copy()
            stored = sw.move(source, device.allocate(count))
            assert np.array_equal(sw.move(stored, CPU(count)).numpy(), expected)
            del stored, source
