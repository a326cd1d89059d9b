"""Resident memory of operations on tensors larger than their capacity."""

import sys
from collections.abc import Callable

import pytest

Program = Callable[..., str]

PROGRAM = """
import resource
import sys
from pathlib import Path

import strideweave as sw
from strideweave import CPU, FileBacked, Parameter, Tensor, TiledEvictable
from strideweave.friendly import column_major, ones

COLUMNS, TILE, CAPACITY = 512 * 48, 512, 16  # 96 MiB, of which 32 MiB fit


def tiled(rows, columns, tile):
    seed = FileBacked().allocate_like(rows * columns)
    carrier = TiledEvictable(
        CPU(0), seed, (1, columns // tile), (rows, tile), primary_capacity=CAPACITY
    )
    return Tensor(carrier, 0, column_major(rows, columns))


def peak_mebibytes():
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    status = Path("/proc/self/status").read_text()  # ru_maxrss counts what started this process too
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def backward(batch, weight):
    product = sw.matmul(batch, weight)
    product.backward(ones(8, weight.shape.top_level[0]))
    return product


OPERATIONS = {
    "relu": lambda batch, weight: sw.relu(weight),
    "add": lambda batch, weight: sw.add(weight, weight),
    "reduce_sum": lambda batch, weight: sw.reduce_sum(weight, "row column -> row"),
    "matmul": lambda batch, weight: sw.matmul(batch, weight),
    "backward": lambda batch, weight: backward(batch, Parameter(weight)),
}
"""


@pytest.mark.rule("TE-40", "TE-84", "TE-85", "TE-96")
@pytest.mark.parametrize(
    ("name", "carriers"),  # a gradient is as large as the weight, with a capacity of its own
    [("relu", 1), ("add", 1), ("reduce_sum", 1), ("matmul", 1), ("backward", 2)],
)
def test_the_peak_is_capacity_plus_a_fifth_and_the_result(
    run_program: Program, name: str, carriers: int
) -> None:
    run_program(
        f"""{PROGRAM}
operate = OPERATIONS[{name!r}]
operate(tiled(8, 64, 16), tiled(64, 64, 16))  # loads what the first use loads
start = peak_mebibytes()
batch, weight = tiled(8, COLUMNS, TILE), tiled(1024, COLUMNS, TILE)
result = operate(batch, weight)
grown = peak_mebibytes() - start
allowed = {carriers} * CAPACITY * 2 * 1.2 + result.size() * 4 / 2**20
assert grown < allowed, (grown, allowed)
assert grown > CAPACITY * 2 * 0.9, "the peak was not seen"
stats = weight.carrier.residency_stats()
found_again = ({carriers} - 1) * (CAPACITY - 2)  # all but those at work and arriving
read = {carriers} * 96 * 2**20 - found_again * 2 * 2**20
assert stats.bytes_out == 0 and stats.bytes_in == read, stats
"""
    )


@pytest.mark.rule("TE-40", "TE-84", "TE-85")
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_the_peak_of_a_product_in_two_threads_is_the_same(run_program: Program) -> None:
    run_program(
        f"""{PROGRAM}
import ctypes

from strideweave import TileSelection
from strideweave.carriers.tiled_evictable import streaming

OUTER, INNER, MANY = 1024, 512, 48


def outer_tiled(tiles):
    carrier = TiledEvictable(
        CPU(0), FileBacked(), (tiles, 1), (OUTER, INNER), primary_capacity=CAPACITY
    )
    for number in range(tiles):
        carrier.update(ones(OUTER, INNER), TileSelection([[number], [0]]))
    carrier.evict(TileSelection([range(tiles), [0]]))
    return Tensor(carrier, 0, column_major(tiles * OUTER, INNER))


streaming.MANY_READ = OUTER * INNER
lent = []
lend = streaming.Lanes.finish
streaming.Lanes.finish = lambda lanes: lent.append(lend(lanes)) or lent[-1]
batch = tiled(8, INNER, INNER)
sw.matmul(batch, outer_tiled(3))  # loads what the first use loads
start = peak_mebibytes()
weight = outer_tiled(MANY)
before = weight.carrier.residency_stats()
if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
    libc.malloc_trim(0)
Path("/proc/self/clear_refs").write_text("5")  # the peak of the product, not of its operands
result = sw.matmul(batch, weight)
grown = peak_mebibytes() - start
assert lent == [True, True]
allowed = CAPACITY * 2 * 1.2 + result.size() * 4 / 2**20
assert CAPACITY < grown < allowed, (grown, allowed)  # half of the tiles may find freed memory
after = weight.carrier.residency_stats()
assert after.bytes_out == before.bytes_out, (before, after)
assert after.bytes_in - before.bytes_in == MANY * OUTER * INNER * 4, (before, after)
"""
    )
