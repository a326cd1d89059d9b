"""TiledEvictable over files beside bare reading and writing, beside NumPy and beside its peers.

Every round runs each job twice and times the second run, with the other jobs in between, so that
all of them meet the same disturbances; the figures are medians of the rounds. The pages of all
files stay in memory, where moving a tile costs most beside the bare system call; with ``--cold``
the system forgets them before each run. Run it with ``python benchmarks/tiered.py``; the exit
status tells whether every target is kept. Dask takes part where it is installed.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy
from measuring import PAUSE_SECONDS, print_heading, print_ratio

import strideweave as sw
from strideweave.friendly import column_major

Array: TypeAlias = numpy.ndarray[Any, numpy.dtype[numpy.float32]]
Medians: TypeAlias = dict[str, float]

BATCH, COLUMNS, TILE_ROWS, TILES, CAPACITY = 64, 16384, 256, 64, 16
TILE_SLOTS = TILE_ROWS * COLUMNS  # 16 MiB
ROWS = TILE_ROWS * TILES  # 1 GiB
MOVED = 16  # 256 MiB
TRANSFER_TARGET = 1 / 0.85
PRODUCT_TARGET = 1.5


def _nothing() -> None:
    """Need no preparation."""


@dataclass(frozen=True)
class Job:
    """Something to measure.

    Attributes:
        run: What is timed.
        prepare: What has to happen before each time, untimed.
    """

    run: Callable[[], object]
    prepare: Callable[[], object] = _nothing


def _whole(carrier: sw.TiledEvictable) -> sw.TileSelection:
    return sw.TileSelection([range(count) for count in carrier.grid_shape])


def _moving_jobs(folder: Path) -> dict[str, Job]:
    """Promote clean tiles and evict dirty ones; read and write one file of the same size.

    Promotion makes the storage of the tiles, so reading takes fresh memory too. Eviction writes
    over the former values of the tiles, so writing does that too.
    """
    values = numpy.random.default_rng(7).standard_normal(TILE_SLOTS * MOVED, numpy.float32)
    carrier = sw.TiledEvictable(
        sw.CPU(0).new_like(values),
        sw.FileBacked(),
        (MOVED,),
        (TILE_SLOTS,),
        primary_capacity=MOVED,
    )
    tiles = _whole(carrier)
    read_from, written_to = folder / "read", folder / "written"
    for path in (read_from, written_to):
        values.tofile(path)

    def dirty() -> None:
        carrier.promote(tiles)
        for number in range(MOVED):
            carrier[number * TILE_SLOTS] = 1.0

    def write() -> None:
        with written_to.open("rb+", buffering=0) as file:
            _write_all(file, values)

    return {
        "promote": Job(lambda: carrier.promote(tiles), lambda: carrier.evict(tiles)),
        "read": Job(lambda: _read(read_from, numpy.empty_like(values))),
        "evict": Job(lambda: carrier.evict(tiles), dirty),
        "write": Job(write),
    }


def _read(path: Path, room: Array) -> None:
    """Read a file into some memory, again and again if that is smaller."""
    remaining = path.stat().st_size
    with path.open("rb", buffering=0) as file:
        while remaining:
            remaining -= file.readinto(room.data.cast("B"))


def _write_all(file: Any, values: Array) -> None:
    remaining = values.data.cast("B")
    while remaining:
        remaining = remaining[file.write(remaining) :]


def _product_jobs(folder: Path) -> dict[str, Job]:
    """Multiply a batch by the same weight from tiles, from memory and from a file.

    Streaming uses the storage of its tiles again, so reading uses its memory again too.
    """
    rng = numpy.random.default_rng(7)
    batch = rng.standard_normal((BATCH, COLUMNS), numpy.float32)
    weight = rng.standard_normal((ROWS, COLUMNS), numpy.float32)
    path = folder / "weight"
    weight.tofile(path)
    left, right = _tiled_operands(batch, weight)
    expected = batch @ weight.T
    room = numpy.zeros(TILE_SLOTS, numpy.float32)

    def mapped() -> Array:
        return numpy.memmap(path, numpy.float32, "r", shape=weight.shape)

    jobs = {
        "raw read": Job(lambda: _read(path, room)),
        "numpy": Job(lambda: batch @ weight.T),
        "tiles": Job(lambda: left @ right),
        "memmap": Job(lambda: batch @ mapped().T),
    }
    if find_spec("dask"):
        jobs["dask"] = Job(_dask_product(batch, mapped))
    for name in jobs.keys() - {"raw read"}:
        found = numpy.asarray(jobs[name].run())
        assert numpy.allclose(found, expected, rtol=1e-3, atol=1e-3), name
    return jobs


def _tiled_operands(batch: Array, weight: Array) -> tuple[sw.Tensor, sw.Tensor]:
    tiles = sw.TiledEvictable(
        sw.CPU(0),
        sw.FileBacked(),
        (TILES, 1),
        (TILE_ROWS, COLUMNS),
        primary_capacity=CAPACITY,
    )
    for number in range(TILES):
        rows = weight[number * TILE_ROWS : (number + 1) * TILE_ROWS]
        compact = sw.from_numpy(numpy.asfortranarray(rows))
        tiles.update(compact, sw.TileSelection([[number], [0]]))
    tiles.evict(_whole(tiles))
    whole = sw.TiledEvictable(
        sw.CPU(0).new_like(batch.ravel("F")), sw.FileBacked(), (1, 1), batch.shape
    )
    return (
        sw.Tensor(whole, 0, column_major(BATCH, COLUMNS)),
        sw.Tensor(tiles, 0, column_major(ROWS, COLUMNS)),
    )


def _dask_product(batch: Array, mapped: Callable[[], Array]) -> Callable[[], Any]:
    dask = import_module("dask.array")

    def chunk(block_info: Any) -> Array:
        (start, stop), _ = block_info[None]["array-location"]
        return mapped()[start:stop]

    def product() -> Any:
        chunks = ((TILE_ROWS,) * TILES, (COLUMNS,))
        weight = dask.map_blocks(chunk, chunks=chunks, dtype=batch.dtype, meta=batch[:0])
        return (dask.from_array(batch, chunks=batch.shape) @ weight.T).compute()

    return product


def _forget_pages(folder: Path) -> None:
    """Let the system forget the pages of all files of this process."""
    probe = sw.FileBacked()
    for path in [*folder.iterdir(), *probe.path.parent.iterdir()]:
        with path.open("rb+", buffering=0) as file:
            os.fsync(file.fileno())  # only pages that are written can be forgotten
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    probe.release()


def _measure(jobs: dict[str, Job], rounds: int, settle: Callable[[], object]) -> Medians:
    samples: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            time.sleep(PAUSE_SECONDS)
            job.prepare()
            job.run()
            job.prepare()
            settle()
            started = time.perf_counter()
            job.run()
            samples[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in samples.items()}


def _report(times: Medians) -> int:
    """Print all ratios; those with the peers have no target."""
    print_heading()
    slower = max(times["raw read"], times["numpy"])
    kept = [
        print_ratio("promote, to reading", times["promote"], times["read"], TRANSFER_TARGET),
        print_ratio("evict, to writing", times["evict"], times["write"], TRANSFER_TARGET),
        print_ratio("product, to reading or NumPy", times["tiles"], slower, PRODUCT_TARGET),
    ]
    for peer, title in (("memmap", "numpy.memmap"), ("dask", "Dask array")):
        if peer in times:
            print_ratio(f"product, to {title}", times["tiles"], times[peer], None)
    return 0 if all(kept) else 1


def main() -> int:
    """Measure everything and print the ratios.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--cold", action="store_true", help="read everything from the disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settle = (lambda: _forget_pages(folder)) if options.cold else _nothing
        times = _measure(_moving_jobs(folder), options.rounds, settle)
        times |= _measure(_product_jobs(folder), options.rounds, settle)
    print(f"pages of the files are {'read from disk' if options.cold else 'in memory'}")
    print(
        f"promote {_speed(times['promote'], MOVED)}, evict {_speed(times['evict'], MOVED)}, "
        f"product {_speed(times['tiles'], TILES)}"
    )
    return _report(times)


def _speed(seconds: float, tiles: int) -> str:
    return f"{tiles * TILE_SLOTS * 4 / seconds / 1e9:.2f} GB/s"


if __name__ == "__main__":
    sys.exit(main())
