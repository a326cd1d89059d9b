"""Multiply a batch by a weight that lies on disk, with little memory.

A TiledEvictable streams the weight through a primary tier of limited capacity. `numpy.memmap` and,
where it is installed, Dask array do the same job on the same values. Each contender runs in a
process of its own, so that its peak of resident memory is its own, and compares a sample of its
results with NumPy in binary64. A row for the bare reading of the file shows what the disk gives.

The defaults multiply by 4 GiB and need 10 GB of disk; the process with the tiles has a copy::

    python examples/out_of_core_matmul.py --mebibytes 4096 --capacity 256
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

import strideweave as sw

Floats: TypeAlias = NDArray[np.float32]
T = TypeVar("T")
Product: TypeAlias = Callable[[], Floats]

MEBI = 1 << 20
BATCH, SAMPLES, REPEATS = 64, 64, 3
TILES = 8  # as many fit the capacity
TOLERANCE = 1e-5
FIRST_USE_BYTES = 16 * MEBI  # what modules, BLAS and the allocator take once
DROPS_CACHE = hasattr(os, "posix_fadvise")


class Job(NamedTuple):
    """What to multiply.

    Attributes:
        path: The file of the weight, in rows of Float32.
        rows: Outputs.
        columns: Inputs, the contracted extent.
        tile_rows: Rows of a tile, or of a chunk; all columns belong to it.
        capacity: How many tiles may be in memory.
    """

    path: str
    rows: int
    columns: int
    tile_rows: int
    capacity: int

    @property
    def tile_bytes(self) -> int:
        """The size of a tile."""
        return self.tile_rows * self.columns * 4

    @property
    def weight_bytes(self) -> int:
        """The size of the weight."""
        return self.rows * self.columns * 4

    def mapped(self) -> Floats:
        """Map the file, without reading it."""
        return np.memmap(self.path, np.float32, "r", shape=(self.rows, self.columns))

    def batch(self) -> Floats:
        """Make the left operand, the same one in every process."""
        return np.random.default_rng(1).random((BATCH, self.columns), np.float32) - np.float32(0.5)


class Outcome(NamedTuple):
    """What one contender measured.

    Attributes:
        seconds: The median of the products.
        start_bytes: Resident memory at its start, with everything imported.
        peak_bytes: The largest resident memory, preparation included.
        deviation: The largest relative deviation of the sampled results from NumPy.
    """

    seconds: float
    start_bytes: int
    peak_bytes: int
    deviation: float


def with_tiles(job: Job) -> Product:
    """Store the weight tile by tile, and multiply within the capacity."""
    weight = sw.TiledEvictable(
        primary=sw.CPU(0),
        secondary=sw.FileBacked(),
        grid_shape=(job.rows // job.tile_rows, 1),
        tile_shape=(job.tile_rows, job.columns),
        primary_capacity=job.capacity,
    )
    for row, tile in enumerate(sw.TileSelection([range(weight.grid_shape[0]), [0]]).coordinates):
        values = np.fromfile(
            job.path,
            np.float32,
            job.tile_rows * job.columns,
            offset=row * job.tile_bytes,
        ).reshape(job.tile_rows, job.columns)
        place = sw.TileSelection([[index] for index in tile])
        weight.update(sw.from_numpy(np.asfortranarray(values)), place)
        weight.evict(place)
    batch = sw.TiledEvictable(
        primary=sw.CPU(0),
        secondary=sw.FileBacked(),
        grid_shape=(1, 1),
        tile_shape=(BATCH, job.columns),
    )
    batch.update(sw.from_numpy(np.asfortranarray(job.batch())), sw.TileSelection([[0], [0]]))
    left = sw.Tensor(batch, 0, sw.friendly.column_major(BATCH, job.columns))
    right = sw.Tensor(weight, 0, sw.friendly.column_major(job.rows, job.columns))
    return lambda: (left @ right).numpy()


def with_memmap(job: Job) -> Product:
    """Multiply by the mapped file; the system reads its pages as NumPy touches them."""
    batch = job.batch()
    return lambda: batch @ job.mapped().T


def with_dask(job: Job) -> Product:
    """Multiply chunk by chunk on Dask's threads, each of which maps the file for its chunk."""
    dask = import_module("dask.array")
    batch = job.batch()
    chunks = ((job.tile_rows,) * (job.rows // job.tile_rows), (job.columns,))

    def chunk(block_info: Any) -> Floats:
        (start, stop), _ = block_info[None]["array-location"]
        return job.mapped()[start:stop]

    def product() -> Floats:
        weight = dask.map_blocks(chunk, chunks=chunks, dtype=np.float32, meta=batch[:0])
        result: Floats = (dask.from_array(batch, chunks=batch.shape) @ weight.T).compute()
        return result

    return product


CONTENDERS: dict[str, Callable[[Job], Product]] = {
    "TiledEvictable": with_tiles,
    "numpy.memmap": with_memmap,
    "Dask array": with_dask,
}


def peak_bytes() -> int:
    """Give the largest resident memory of this process so far."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = Path("/proc/self/status").read_text()  # ru_maxrss counts the starting process too
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def drop_from_cache(job: Job) -> None:
    """Let the system forget the pages of the weight and of this process's FileBacked carriers."""
    probe = sw.FileBacked()
    for path in [Path(job.path), *probe.path.parent.iterdir()]:
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)  # only pages that are written can be forgotten
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
    probe.release()


def timed(job: Job, action: Callable[[], T]) -> tuple[float, T]:
    """Give the median seconds of some runs, each from the disk where the system allows that.

    Returns:
        The seconds, and what the last run gave.
    """
    samples = []
    for _ in range(REPEATS):
        if DROPS_CACHE:
            drop_from_cache(job)
        started = time.perf_counter()
        result = action()
        samples.append(time.perf_counter() - started)
    return statistics.median(samples), result


def measure(contender: str, job: Job) -> Outcome:
    """Run one contender in this process."""
    start = peak_bytes()
    seconds, found = timed(job, CONTENDERS[contender](job))
    peak = peak_bytes()
    rows = np.random.default_rng(2).choice(job.rows, SAMPLES)
    expected = job.batch().astype(np.float64) @ job.mapped()[rows].astype(np.float64).T
    difference = np.abs(found[:, rows] - expected).max()
    return Outcome(seconds, start, peak, float(difference / np.abs(expected).max()))


def measure_apart(contender: str, job: Job) -> Outcome:
    """Run one contender in a process of its own."""
    command = [sys.executable, __file__, "--contender", contender, json.dumps(job)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(*json.loads(done.stdout))


def write_weight(job: Job) -> None:
    """Fill the file with random numbers, a few rows at a time."""
    rng = np.random.default_rng(0)
    with open(job.path, "wb") as file:
        for _ in range(0, job.rows, 8):
            (rng.random((8, job.columns), np.float32) - np.float32(0.5)).tofile(file)


def read_weight(job: Job) -> None:
    """Read the file and do nothing with it."""
    room = memoryview(bytearray(MEBI))
    with open(job.path, "rb", buffering=0) as file:
        while file.readinto(room):
            pass


def allowed_bytes(job: Job) -> int:
    """Give what streaming may take.

    That is the capacity, a tile of scratch, another that was freed and that the allocator keeps,
    the batch, the result, and a rest.
    """
    ends = BATCH * (job.columns + job.rows) * 4
    return (job.capacity + 2) * job.tile_bytes + ends + FIRST_USE_BYTES


def compare(job: Job) -> int:
    """Measure every contender, print a table, and return the exit status."""
    names = [name for name in CONTENDERS if name != "Dask array" or find_spec("dask")]
    if len(names) < len(CONTENDERS):
        print("Dask array is left out: it is not installed")
    print(f"pages of the files are {'read from disk' if DROPS_CACHE else 'in memory'} each time\n")
    print(f"{'':16}{'seconds':>8}{'GB/s':>8}{'peak MiB':>10}{'deviation':>11}")
    seconds, _ = timed(job, partial(read_weight, job))
    print(f"{'reading alone':16}{seconds:8.2f}{job.weight_bytes / seconds / 1e9:8.2f}", flush=True)
    outcomes = {}
    for name in names:
        outcome = outcomes[name] = measure_apart(name, job)
        print(
            f"{name:16}{outcome.seconds:8.2f}{job.weight_bytes / outcome.seconds / 1e9:8.2f}"
            f"{outcome.peak_bytes / MEBI:10.0f}{outcome.deviation:11.1e}",
            flush=True,
        )
    worst = max(outcome.deviation for outcome in outcomes.values())
    ours = outcomes["TiledEvictable"]
    grown, allowed = ours.peak_bytes - ours.start_bytes, allowed_bytes(job)
    print(
        f"\nTiledEvictable grew by {grown / MEBI:.0f} MiB; it may grow by {allowed / MEBI:.0f} MiB:"
        f"\ncapacity, two tiles, batch, result and {FIRST_USE_BYTES // MEBI} MiB for first use"
    )
    if worst > TOLERANCE:
        print(f"results deviate by more than {TOLERANCE}", file=sys.stderr)
    if grown > allowed:
        print("the tiles took more memory than they may", file=sys.stderr)
    return int(worst > TOLERANCE or grown > allowed)


def positive(text: str) -> int:
    """Read an argument that counts something."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def main(arguments: list[str] | None = None) -> int:
    """Prepare the job, or be one contender; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mebibytes", type=positive, default=4096, help="size of the weight")
    parser.add_argument(
        "--capacity", type=positive, default=256, help="mebibytes of tiles in memory"
    )
    parser.add_argument("--columns", type=positive, default=16384, help="inputs of the weight")
    parser.add_argument("--contender", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.contender:
        name, job = options.contender
        print(json.dumps(measure(name, Job(*json.loads(job)))))
        return 0
    row_bytes = 4 * options.columns
    tile_rows = options.capacity * MEBI // (row_bytes * TILES)
    rows = options.mebibytes * MEBI // row_bytes
    if tile_rows == 0:
        parser.error(
            f"--capacity {options.capacity} is too small: each of its {TILES} tiles takes at least "
            f"one row of --columns {options.columns}, which is {row_bytes} bytes"
        )
    if rows == 0 or rows % tile_rows:
        parser.error(
            f"the weight must be a multiple of a tile, which is 1/{TILES} of the capacity: "
            f"--mebibytes {options.mebibytes} is {rows} rows, and a tile has {tile_rows}"
        )
    with tempfile.TemporaryDirectory() as folder:
        job = Job(str(Path(folder) / "weight"), rows, options.columns, tile_rows, TILES)
        write_weight(job)
        print(f"{BATCH} x {job.columns} times {job.rows} x {job.columns}, {options.mebibytes} MiB")
        return compare(job)


if __name__ == "__main__":
    sys.exit(main())
