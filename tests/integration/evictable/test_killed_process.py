"""Processes that are killed while they evict, and what later ones find."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

EVICT_AND_PROMOTE = """
import sys
from strideweave import CPU, Evictable, FileBacked

hierarchies = [Evictable(CPU(1 << 18), FileBacked()) for _ in range(3)]
for hierarchy in hierarchies:
    hierarchy[(1 << 18) - 1] = 1.5
print("ready", flush=True)
while True:
    for hierarchy in hierarchies:
        hierarchy.evict()
    for hierarchy in hierarchies:
        hierarchy.promote()
        assert hierarchy[(1 << 18) - 1] == 1.5
"""

USE = (
    "from strideweave import FileBacked; carrier = FileBacked().new_like([1.0]); print(carrier[0])"
)


def started(program: str, directory: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(directory)},
        stdout=subprocess.PIPE,
        text=True,
    )


def kill_at_a_random_moment(directory: Path, longest_seconds: float) -> None:
    process = started(EVICT_AND_PROMOTE, directory)
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(random.uniform(0, longest_seconds))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


def check_later_start(directory: Path) -> None:
    """A later process has a directory of its own, reads what it wrote, and cleans up."""
    assert len(list(directory.iterdir())) >= 1
    done = started(USE, directory)
    printed, _ = done.communicate(timeout=60)
    assert (done.returncode, printed) == (0, "1.0\n")
    assert list(directory.iterdir()) == []


@pytest.mark.rule("G-10", "C-58")
def test_a_process_killed_during_an_eviction_leaves_nothing_to_read(tmp_path: Path) -> None:
    kill_at_a_random_moment(tmp_path, 0.1)
    check_later_start(tmp_path)


@pytest.mark.slow
@pytest.mark.rule("G-10", "C-58")
def test_fifty_processes_killed_at_random_moments(tmp_path: Path) -> None:
    for _ in range(50):
        kill_at_a_random_moment(tmp_path, 0.3)
        if random.random() < 0.5:
            check_later_start(tmp_path)
    kill_at_a_random_moment(tmp_path, 0.1)
    check_later_start(tmp_path)
