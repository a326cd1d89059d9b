"""Hypothesis profiles (few cases in every run, many in ``nox -s slow``), and shared fixtures."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile(
    "slow", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")

Program = Callable[..., str]
Mount = Callable[[str], Path]


@pytest.fixture
def run_program() -> Program:
    """Run a program in a fresh interpreter, with environment variables, and give its output.

    The program must end well and leave standard error empty.
    """

    def run(text: str, **environment: str) -> str:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", dedent(text)],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def mount_in_memory(tmp_path: Path) -> Iterator[Mount]:
    """Mount a file system in memory with the given options, for the time of the test.

    Without the privilege the test is skipped, unless ``STRIDEWEAVE_REQUIRE_MOUNTS`` is set.
    """
    with ExitStack() as mounted:

        def mount(options: str) -> Path:
            point = tmp_path / f"mount{len(os.listdir(tmp_path))}"
            point.mkdir()
            done = subprocess.run(
                ["mount", "-t", "tmpfs", "-o", options, "strideweave", point],
                capture_output=True,
                text=True,
            )
            if done.returncode != 0:
                reason = f"mounting needs a privilege: {done.stderr.strip()}"
                if "STRIDEWEAVE_REQUIRE_MOUNTS" in os.environ:
                    pytest.fail(reason)
                pytest.skip(reason)
            mounted.callback(subprocess.run, ["umount", "--lazy", point], check=True)
            return point

        yield mount
