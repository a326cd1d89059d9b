"""Hypothesis profiles (few cases in every run, many in ``nox -s slow``), and shared fixtures."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile(
    "slow", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")

Program = Callable[..., str]
Mount = Callable[[str], Path]
Attach = Callable[..., tuple[str, Path]]


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
                without_privilege("STRIDEWEAVE_REQUIRE_MOUNTS", f"mounting: {done.stderr.strip()}")
            mounted.callback(subprocess.run, ["umount", "--lazy", str(point)], check=True)
            return point

        yield mount


@pytest.fixture
def attach_block_device(tmp_path: Path) -> Iterator[Attach]:
    """Make sparse files block devices for the time of the test; gives node and file.

    Without the privilege the test is skipped, unless ``STRIDEWEAVE_REQUIRE_BLOCK_DEVICE`` is set.
    """
    if shutil.which("losetup") is None:
        without_privilege("STRIDEWEAVE_REQUIRE_BLOCK_DEVICE", "there is no losetup")
    with ExitStack() as attached:

        def attach(*options: str, size: int = 2**26, folder: Path = tmp_path) -> tuple[str, Path]:
            image = folder / f"image{len(os.listdir(folder))}"
            image.touch()
            os.truncate(image, size)
            done = subprocess.run(
                ["losetup", "--find", "--show", *options, image], capture_output=True, text=True
            )
            if done.returncode != 0:
                without_privilege(
                    "STRIDEWEAVE_REQUIRE_BLOCK_DEVICE", f"losetup: {done.stderr.strip()}"
                )
            node = done.stdout.strip()
            attached.callback(subprocess.run, ["losetup", "--detach", node], check=True)
            return node, image

        yield attach


def without_privilege(variable: str, reason: str) -> NoReturn:
    """Skip the running test, or fail it where an environment variable demands it."""
    if variable in os.environ:
        pytest.fail(reason)
    pytest.skip(f"{reason} ({variable} makes this a failure)")
