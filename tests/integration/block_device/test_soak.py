"""Many threads over the carriers of one real device: no wrong value, no overlap, no hang."""

import gc
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, BlockDevice, Layout, Tensor

Attach = Callable[..., tuple[str, Path]]


def filled(number: int, count: int) -> Tensor:
    return Tensor(CPU(0).new_like(np.full(count, number, np.float32)), 0, Layout.leaf(count, 1))


def round_trip(device: BlockDevice, rng: random.Random) -> None:
    """Store a value, read and change it, and load it again, in one of many ways."""
    number, count = rng.randrange(1000), rng.randrange(1, 20_000)
    destination = device.allocate(count + rng.randrange(3), empty=rng.random() < 0.5)
    stored = sw.move_async(filled(number, count), destination).wait(60)
    slot = rng.randrange(count)
    assert destination[slot] == number
    destination[slot] = number + 0.5
    if rng.random() < 0.3:
        copied = sw.copy(stored, CPU(count))
        assert set(copied.tolist()) <= {number, number + 0.5}
    if rng.random() < 0.1:
        device.flush()
    if rng.random() < 0.2:
        dropped = device.allocate(rng.randrange(5000))
        dropped.myself = dropped  # type: ignore[attr-defined]  # a cycle
        return
    handle = sw.move_async(stored, CPU(count))
    if rng.random() < 0.2:
        return  # the handle is dropped
    loaded = handle.wait(60).numpy()
    assert loaded[slot] == number + 0.5 and np.count_nonzero(loaded != number) == 1
    assert destination.is_released()


@pytest.mark.slow
@pytest.mark.rule("B-8", "B-15", "B-19", "B-40", "G-4", "G-6", "G-14", "M-27")
@pytest.mark.parametrize("direct", [True, False])
def test_sixteen_threads_on_one_device(
    attach_block_device: Attach, keep_busy: Callable[..., None], direct: bool
) -> None:
    path, _ = attach_block_device()
    device = BlockDevice(path, direct=direct)
    done: list[None] = []

    def act(rng: random.Random) -> None:
        with sw.no_grad():
            round_trip(device, rng)
        done.append(None)

    keep_busy(act, threads=16, seconds=30.0)
    assert done and not device.is_faulted()
    deadline = time.monotonic() + 60  # dropped handles end by themselves
    while not device.is_closed():
        gc.collect()
        try:
            device.close()
        except RuntimeError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
