"""The example of experts that do not all fit into fast memory."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "experts.py"
EXPERT_BYTES = 64 * (64 + 1 + 10) * 4


class Row(NamedTuple):
    """A line of the table that the example prints."""

    samples_per_second: float
    hits: float
    misses: float
    megabytes_read: float
    megabytes_written: float
    seconds_waited: float


def run_example(*arguments: str, timeout: int = 110) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # tests run side by side
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def rows_of(output: str) -> dict[str, Row]:
    found = re.findall(r"^(all|two|one) experts? +([\d. ]+)$", output, re.M)
    return {name: Row(*map(float, numbers.split())) for name, numbers in found}


@pytest.mark.rule("TE-44", "TE-74", "TE-92", "TE-93", "G-13")
def test_example_trains_alike_with_any_capacity(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    picture = tmp_path / "residency.svg"
    run = run_example(
        "--epochs", "2", "--hidden", "64", "--accuracy", "0.8", "--picture", str(picture)
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"^all \d+ losses are the same, whatever was in memory$", run.stdout, re.M)
    accuracy = re.search(r"^test accuracy (\S+)$", run.stdout, re.M)
    assert accuracy is not None and float(accuracy[1]) >= 0.8

    rows = rows_of(run.stdout)
    acquired = {row.hits + row.misses for row in rows.values()}
    assert len(acquired) == 1, "every capacity serves the same requests"
    assert rows["all"].misses == 16 and rows["all"].megabytes_written == 0
    assert rows["all"].misses < rows["two"].misses < rows["one"].misses
    for row in rows.values():
        assert row.megabytes_read == pytest.approx(row.misses * EXPERT_BYTES / 1e6, abs=0.06)
        assert row.samples_per_second > 0 and row.seconds_waited > 0

    drawn = re.findall(r"^ {0,2}(\d+) ([#o.-]+)$", run.stdout, re.M)
    assert [int(expert) for expert, _ in drawn] == [*range(16)]
    for batch in zip(*(marks for _, marks in drawn), strict=True):
        assert batch.count("#") == 2 and batch.count(".") == 14
    svg = ElementTree.parse(picture).getroot()
    shapes = svg.iter("{http://www.w3.org/2000/svg}rect")
    cells = [shape for shape in shapes if shape.get("height") == "7"]
    assert len(cells) == 3 * 16 * len(drawn[0][1])


@pytest.mark.slow
def test_example_reaches_its_accuracy_as_it_is_shown(tmp_path: Path) -> None:
    run = run_example("--picture", str(tmp_path / "residency.svg"), timeout=1100)
    assert run.returncode == 0, run.stdout + run.stderr
    accuracy = re.search(r"^test accuracy (\S+)$", run.stdout, re.M)
    assert accuracy is not None and float(accuracy[1]) >= 0.95
