"""The example that multiplies by a weight on disk."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "out_of_core_matmul.py"
ROW = re.compile(r"^(TiledEvictable|numpy\.memmap|Dask array) +(\S+) +(\S+) +(\d+) +(\S+)$", re.M)
PEERS = {"numpy.memmap"} | ({"Dask array"} if find_spec("dask") else set())


def run_example(*arguments: str, timeout: int = 110) -> str:
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.rule("TE-84", "TE-85")
def test_example_agrees_with_numpy_within_its_memory() -> None:
    output = run_example("--mebibytes", "128", "--capacity", "64", "--columns", "4096")
    rows = {name: [float(number) for number in numbers] for name, *numbers in ROW.findall(output)}
    assert rows.keys() == {"TiledEvictable"} | PEERS
    for seconds, gigabytes_per_second, peak, deviation in rows.values():
        assert gigabytes_per_second == pytest.approx(0.134 / seconds, rel=0.1, abs=0.01)
        assert peak > 0 and 0 < deviation < 1e-5
    grown = re.search(r"grew by (\d+) MiB; it may grow by (\d+) MiB:", output)
    assert grown is not None
    needed, allowed = map(int, grown.groups())
    assert 64 * 0.9 < needed <= allowed == 64 + 2 * 8 + 1 + 2 + 16


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--mebibytes", "33", "--capacity", "256"], "multiple of a tile"),
        (["--mebibytes", "1", "--capacity", "1", "--columns", "300000"], "too small"),
        (["--mebibytes", "0"], "--mebibytes: must be at least 1, got 0"),
        (["--capacity", "-4"], "--capacity: must be at least 1, got -4"),
        (["--columns", "0"], "--columns: must be at least 1, got 0"),
        (["--mebibytes", "many"], "--mebibytes: invalid"),
    ],
)
def test_example_refuses_jobs_that_cannot_be_tiled(arguments: list[str], complaint: str) -> None:
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2 and complaint in run.stderr and "Traceback" not in run.stderr


@pytest.mark.slow
@pytest.mark.rule("TE-84", "TE-85")
def test_example_multiplies_by_four_gibibytes() -> None:
    output = run_example(timeout=1100)
    assert {name for name, *_ in ROW.findall(output)} == {"TiledEvictable"} | PEERS
