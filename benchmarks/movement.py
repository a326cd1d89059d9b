"""Moves between CPU and files or block devices beside the bare system calls for the same bytes.

With files both sides create, fill and delete one of the temporary directory, or read one into
fresh memory. With a block device, a loop device that the program attaches, both sides store to and
load from fixed places, and a store ends when the device has taken the bytes. Run it with
``python benchmarks/movement.py``; the exit status tells whether every target is kept.
"""

import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import numpy
from measuring import Comparison, report

import strideweave as sw

Array: TypeAlias = numpy.ndarray[Any, numpy.dtype[numpy.float32]]

SLOTS = 1 << 26  # 256 MiB
LAYOUT = sw.Layout.leaf(SLOTS, 1)
TARGET = 1.2


def _values() -> Array:
    return numpy.random.default_rng(7).standard_normal(SLOTS, numpy.float32)


@contextmanager
def _new_file(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
        os.unlink(path)


def _transfer_bare(
    call: Callable[[int, Sequence[memoryview], int], int],
    descriptor: int,
    remaining: memoryview,
    position: int,
) -> None:
    while remaining:
        count = call(descriptor, [remaining], position)
        remaining, position = remaining[count:], position + count


def _write_bare(descriptor: int, values: Array) -> None:
    _transfer_bare(os.pwritev, descriptor, values.data.cast("B"), 0)


def _read_bare(descriptor: int) -> Array:
    values = numpy.empty(SLOTS, numpy.float32)
    _transfer_bare(os.preadv, descriptor, values.data.cast("B"), 0)
    return values


def _file_comparisons(folder: Path, descriptor: int, values: Array) -> list[Comparison]:
    source = sw.Tensor(sw.CPU(0).new_like(values), 0, LAYOUT)
    stored = sw.copy(source, sw.FileBacked())
    hierarchy = sw.Evictable(sw.CPU(0).new_like(values), sw.FileBacked())

    def write() -> None:
        file = sw.FileBacked()
        sw.copy(source, file)
        file.release()

    def write_bare() -> None:
        with _new_file(folder / "written") as fresh:
            _write_bare(fresh, values)

    def read() -> sw.Tensor:
        return sw.copy(stored, sw.CPU(SLOTS, empty=True))

    def evict_and_promote() -> None:
        hierarchy.evict()
        hierarchy.promote()

    def write_and_read_bare() -> None:
        with _new_file(folder / "written") as fresh:
            _write_bare(fresh, values)
            _read_bare(fresh)

    assert numpy.array_equal(numpy.asarray(read()), _read_bare(descriptor))
    return [
        Comparison("CPU to file, 256 MiB", write, write_bare, TARGET),
        Comparison("file to CPU, 256 MiB", read, lambda: _read_bare(descriptor), TARGET),
        Comparison("evict and promote, 256 MiB", evict_and_promote, write_and_read_bare, TARGET),
    ]


@contextmanager
def _attached(folder: Path) -> Iterator[list[str]]:
    """Attach a block device with room for both sides, where this is permitted."""
    image = folder / "image"
    image.touch()
    os.truncate(image, SLOTS * 4 * 2)
    if shutil.which("losetup") is None:
        print("block devices are left out: there is no losetup")
        yield []
        return
    command = ["losetup", "--find", "--show", str(image)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"block devices are left out: {done.stderr.strip()}")
        yield []
        return
    node = done.stdout.strip()
    try:
        yield [node]
    finally:
        subprocess.run(["losetup", "--detach", node], check=True)


@contextmanager
def _opened(device: sw.BlockDevice) -> Iterator[int]:
    """Open the node again for transfers of the same kind."""
    descriptor = os.open(device.path, os.O_RDWR | (os.O_DIRECT if device.direct_io else 0))
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _device_comparisons(device: sw.BlockDevice, descriptor: int, values: Array) -> list[Comparison]:
    """Compare buffered or direct transfers with bare ones of the same kind, from the same memory.

    Large storage of CPU starts at a page, which direct transfers need, as does that of the peer.
    """
    source = sw.Tensor(sw.CPU(0).new_like(values), 0, LAYOUT)
    stored = sw.copy(source, device.allocate(SLOTS, empty=True))
    target = sw.CPU(SLOTS)
    start, room = SLOTS * 4, memoryview(mmap.mmap(-1, SLOTS * 4))
    room[:] = values.data.cast("B")

    def store_bare() -> None:
        _transfer_bare(os.pwritev, descriptor, room, start)
        if not device.direct_io:
            os.fdatasync(descriptor)

    def load_bare() -> None:
        _transfer_bare(os.preadv, descriptor, room, start)

    store_bare()
    room[:] = bytes(SLOTS * 4)
    load_bare()
    assert numpy.array_equal(numpy.asarray(sw.copy(stored, target)), values)
    assert room == values.data.cast("B")
    kind = "direct" if device.direct_io else "buffered"
    store = partial(sw.copy, source, stored.carrier)
    load = partial(sw.copy, stored, target)
    return [
        Comparison(f"CPU to device, {kind}, 256 MiB", store, store_bare, TARGET),
        Comparison(f"device to CPU, {kind}, 256 MiB", load, load_bare, TARGET),
    ]


def _measure_files(folder: Path, values: Array) -> int:
    with _new_file(folder / "stored") as descriptor:
        _write_bare(descriptor, values)
        return report(_file_comparisons(folder, descriptor, values))


def _measure_device(folder: Path, values: Array) -> int:
    status = 0
    with _attached(folder) as nodes:
        for node, direct in product(nodes, (False, None)):
            with sw.BlockDevice(node, direct=direct) as device, _opened(device) as descriptor:
                status |= report(_device_comparisons(device, descriptor, values))
    return status


def main() -> int:
    """Measure the moves and print the ratios.

    Returns:
        The exit status.
    """
    values = _values()
    with tempfile.TemporaryDirectory() as name:
        return _measure_files(Path(name), values) | _measure_device(Path(name), values)


if __name__ == "__main__":
    sys.exit(main())
