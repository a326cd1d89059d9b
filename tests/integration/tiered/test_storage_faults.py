"""Tiles in files: memory that stays bounded, disks that fill up, and files that go away."""

from collections.abc import Callable
from pathlib import Path

import pytest

Mount = Callable[[str], Path]
Program = Callable[..., str]


PEAK = """
import resource, sys
from pathlib import Path

def peak():
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    status = Path("/proc/self/status").read_text()  # ru_maxrss counts the parent's memory too
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10
"""


@pytest.mark.rule("TE-98", "G-10", "G-3")
def test_a_full_disk_keeps_tiles_dirty_and_a_retry_works(
    mount_in_memory: Mount, run_program: Program
) -> None:
    run_program(
        """
        import errno
        from strideweave import CPU, FileBacked, TiledEvictable, TileSet

        filler = FileBacked()
        seed = CPU(2**16)
        carrier = TiledEvictable(seed, FileBacked(), (2,), (2**15,))
        carrier[2**16 - 1] = 1.5
        filler._allocate(220_000)  # of 262,144 slots on the disk
        both = TileSet([(0,), (1,)])
        for _ in range(3):
            try:
                carrier.evict(both)
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
            else:
                raise AssertionError("no error")
            assert carrier.primary_tiles == both and carrier[2**16 - 1] == 1.5
            assert carrier.dirty_tiles == TileSet([(1,)]) and carrier.version == 1
        filler._allocate(0)
        carrier.evict(both)
        assert carrier.secondary_tiles == both and carrier[2**16 - 1] == 1.5
        carrier.release()
        """,
        TMPDIR=str(mount_in_memory("size=1m")),
    )


@pytest.mark.rule("TE-84", "TE-85")
def test_a_streaming_operation_stays_within_its_capacity(run_program: Program) -> None:
    run_program(
        PEAK
        + """
import strideweave as sw
from strideweave import CPU, FileBacked, Layout, Shape, Stride, Tensor, TiledEvictable

MEBI = 2**20
tile, count, capacity = 2 * MEBI, 24, 2  # 8 MiB per tile, 192 MiB in files
store = FileBacked()
store._allocate(tile * count)
carrier = TiledEvictable(CPU(0), store, (1, count), (1024, 2048), primary_capacity=capacity)
tensor = Tensor(carrier, 0, Layout(Shape(1024, 2048 * count), Stride(1, 1024)))
with sw.no_grad():
    sw.reduce_sum(tensor, "a b -> a")  # loads what the first use loads
    before = peak()
    total = sw.reduce_sum(tensor, "a b -> a")
    grown = peak() - before
assert grown < capacity * 8 * 0.2, grown  # the first call had the capacity already
stats = carrier.residency_stats()
assert stats.bytes_out == 0 and stats.bytes_in == 2 * tile * count * 4
"""
    )


PROGRAM = """
import strideweave as sw
from strideweave import CPU, FileBacked, Layout, Shape, Stride, Tensor, TiledEvictable

MEBI = 2**20

def measure(columns, count, capacity):
    def tensor(rows):
        store = FileBacked()
        store._allocate(rows * columns * count)
        grid, tile = (1, count), (rows, columns)
        carrier = TiledEvictable(CPU(0), store, grid, tile, primary_capacity=capacity)
        return Tensor(carrier, 0, Layout(Shape(rows, columns * count), Stride(1, rows)))

    x = tensor(1024)
    y = tensor(16 if OPERATION == "matmul" else 1024)
    calls = {
        "add": lambda: sw.add(x, y),
        "mul": lambda: sw.mul(x, y),
        "scaled": lambda: sw.mul(x, 2.0),
        "elementwise_mul": lambda: sw.elementwise_mul(x, y),
        "relu": lambda: sw.relu(x),
        "reduce_sum": lambda: sw.reduce_sum(x, "a b -> b"),
        "matmul": lambda: sw.matmul(y, x),
    }
    before = peak()
    result = calls[OPERATION]()
    forward = peak() - before
    result.backward(result.detach())
    both = peak() - before
    used = [t.carrier for t in (x, y) if t.grad is not None]
    capacities = sum(capacity * carrier.tile_shape[0] * columns * 4 for carrier in used) / MEBI
    results = result.carrier.size() * 4 / MEBI
    # Each gradient holds as many tiles as its operand in primary memory.
    return forward, capacities * 1.2 + results, both, capacities * 2.2 + results

measure(4, 4, 2)  # loads what the first use loads
forward, forward_limit, both, both_limit = measure(512, 32, 16)  # tiles of 2 MiB, 64 MiB in all
assert forward < forward_limit, (forward, forward_limit)
assert both < both_limit, (both, both_limit)
assert forward > 0.6 * forward_limit and both > 0.6 * both_limit, "the peak was not seen"
"""


@pytest.mark.rule("TE-84", "TE-85", "TE-96")
@pytest.mark.parametrize(
    "operation", ["add", "mul", "scaled", "elementwise_mul", "relu", "reduce_sum", "matmul"]
)
def test_forward_and_backward_stay_within_the_capacity(
    run_program: Program, operation: str
) -> None:
    """Capacity, a fifth of it, and the results; dense operands would take 64 MiB each."""
    run_program(f"OPERATION = {operation!r}\n{PEAK}{PROGRAM}")


@pytest.mark.rule("TE-14", "TE-100", "C-60")
def test_files_disappear_with_their_carrier(run_program: Program) -> None:
    run_program(
        """
        import gc, os
        from strideweave import CPU, FileBacked, TiledEvictable, TileSet

        store = FileBacked()
        folder = store.path.parent
        start = len(os.listdir(folder))
        carrier = TiledEvictable(CPU(8), store, (4,), (2,))
        carrier.evict(TileSet([(0,), (1,), (2,)]))
        assert len(os.listdir(folder)) == start + 3
        carrier.promote(TileSet([(0,)]))
        carrier[0] = 1.0
        assert len(os.listdir(folder)) == start + 3  # the room of tile 0 waits for its eviction
        carrier.evict(TileSet([(0,)]))
        assert len(os.listdir(folder)) == start + 3 and carrier[0] == 1.0
        del carrier
        gc.collect()
        assert len(os.listdir(folder)) == start and not store.is_owned()
        carrier = TiledEvictable(CPU(8), store, (4,), (2,))
        carrier.evict(TileSet([(3,)]))
        carrier.release()
        assert len(os.listdir(folder)) == start - 1
        """
    )


@pytest.mark.rule("TE-35", "C-60")
def test_a_forked_child_evicts_to_files_of_its_own(run_program: Program) -> None:
    run_program(
        """
        import os
        from strideweave import CPU, FileBacked, TiledEvictable, TileSet

        carrier = TiledEvictable(CPU(4), FileBacked(), (2,), (2,))
        both = TileSet([(0,), (1,)])
        carrier.evict(both)
        carrier.promote(both)
        carrier[0] = 1.0
        child = os.fork()
        if child == 0:
            carrier[1] = 2.0
            carrier.evict(both)
            values = [carrier[slot] for slot in range(4)]
            os._exit(0 if values == [1.0, 2.0, 0.0, 0.0] else 1)
        assert os.waitpid(child, 0)[1] == 0
        carrier.evict(both)
        assert [carrier[slot] for slot in range(4)] == [1.0, 0.0, 0.0, 0.0]
        """
    )


@pytest.mark.rule("TE-40", "C-60", "G-14")
def test_a_forked_child_promotes_to_storage_of_its_own(run_program: Program) -> None:
    run_program(
        """
        import os
        from strideweave import CPU, FileBacked, TiledEvictable, TileSet

        values = [float(slot) for slot in range(8)]
        carrier = TiledEvictable(
            FileBacked(), CPU(0).new_like(values), (4,), (2,), primary_capacity=1
        )
        carrier.promote(TileSet([(0,)]))
        child = os.fork()
        if child == 0:
            for number in (1, 2, 3):  # the file that tile 0 leaves is the parent's
                carrier.promote(TileSet([(number,)]))
            os._exit(0 if [carrier[slot] for slot in range(8)] == values else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert [carrier[slot] for slot in range(8)] == values
        """
    )
