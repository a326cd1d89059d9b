"""Hypothesis profiles (few cases in every run, many in ``nox -s slow``), and shared fixtures."""

import itertools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from types import FrameType
from typing import Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=50, deadline=None)
settings.register_profile(
    "slow", max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow]
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


Outcome = tuple[str, Any]
Interleave = Callable[..., Iterator[tuple[Any, Outcome, Outcome]]]


@pytest.fixture
def interleaved() -> Interleave:
    """Run two actions against each other in every order of steps that two threads can give.

    ``interleaved(prepare, first, second)`` runs ``first(subject)`` on a fresh subject as many times
    as it executes lines about carriers, each time with ``second(subject)`` on another thread at the
    next of them. A second action that waits for the first is left to. It gives the subject and the
    outcome of each action: ``("ok", result)``, or the class name of its exception and its text.
    """

    def run(
        prepare: Callable[[], Any], first: Callable[[Any], Any], second: Callable[[Any], Any]
    ) -> Iterator[tuple[Any, Outcome, Outcome]]:
        for line in itertools.count(1):
            subject = prepare()
            outcomes = _interrupted_at(line, partial(first, subject), partial(second, subject))
            if outcomes is None:
                assert line > 1, "the first action runs no line about carriers"
                return
            yield subject, *outcomes

    return run


def _interrupted_at(
    line: int, first: Callable[[], Any], second: Callable[[], Any]
) -> tuple[Outcome, Outcome] | None:
    """Run one action, and another at its nth line; None where it has no such line."""
    ended: list[Outcome] = []
    thread = threading.Thread(target=lambda: ended.append(_outcome(second)))
    remaining = line

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal remaining
        if f"{os.sep}carriers{os.sep}" not in frame.f_code.co_filename:
            return None
        if event in ("line", "return"):
            remaining -= 1
            if remaining == 0:
                thread.start()
                thread.join(0.01)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        found = _outcome(first)
    finally:
        sys.settrace(before)
    if remaining > 0:
        return None
    thread.join(20)
    assert ended, "the second action hangs"
    return found, ended[0]


def _outcome(action: Callable[[], Any]) -> Outcome:
    try:
        return "ok", action()
    except Exception as error:
        return type(error).__name__, str(error)


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


@pytest.fixture
def open_device(tmp_path: Path) -> Callable[..., Any]:
    """Open a fresh file as a BlockDevice of the given sizes; ``direct`` opens it twice."""
    package = "strideweave.carriers.block_device"
    device_class = import_module(package).BlockDevice
    geometry_class = import_module(f"{package}.geometry").Geometry
    node_class = import_module(f"{package}.opening").OpenNode
    numbers = itertools.count()

    def open_one(
        capacity: int = 2**20, logical: int = 512, physical: int = 4096, direct: bool = False
    ) -> Any:
        path = tmp_path / f"device{next(numbers)}"
        path.touch()
        os.truncate(path, capacity)
        descriptor = os.open(path, os.O_RDWR)
        second = os.open(path, os.O_RDWR) if direct else None
        geometry = geometry_class(capacity, logical, physical)
        return device_class._adopt(node_class(str(path), descriptor, second, geometry))

    return open_one


class DeviceCalls:
    """The system calls for block devices that were made, and what the next ones do.

    ``log`` has one ``(name, bytes, offset)`` per call and ``descriptors`` what it was made on;
    ``closed`` has the closed descriptors, as devices of other tests may be collected at any time.
    ``plan`` holds, by name, what the next calls do: move at most that many bytes, or raise; a plan
    of None is a call like any other.
    """

    NAMES = ("_pread_into", "_pwrite_from", "_fdatasync", "_fsync", "_close")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[str, int, int]] = []
        self.descriptors: list[int] = []
        self.closed: list[int] = []
        self.plan: dict[str, list[Any]] = {name: [] for name in self.NAMES}
        system = import_module("strideweave.carriers.block_device.system")
        for name in self.NAMES:
            monkeypatch.setattr(system, name, self._wrapped(name, getattr(system, name)))

    def _wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(descriptor: int, *arguments: Any) -> Any:
            self._note(name, descriptor, *arguments)
            plan = self.plan[name].pop(0) if self.plan[name] else None
            if isinstance(plan, BaseException):
                if name == "_close":  # the system closes even so
                    with suppress(OSError):
                        call(descriptor)
                raise plan
            if plan is None:
                return call(descriptor, *arguments)
            view, offset = arguments
            return call(descriptor, view[:plan], offset) if plan else 0

        return run

    def _note(self, name: str, descriptor: int, view: Any = b"", offset: int = 0) -> None:
        if name == "_close":
            self.closed.append(descriptor)
        else:
            self.log.append((name, len(view), offset))
            self.descriptors.append(descriptor)

    def take(self) -> list[tuple[str, int, int]]:
        """Give the calls since the last time."""
        log, self.log, self.descriptors = self.log, [], []
        return log


@pytest.fixture
def device_calls(monkeypatch: pytest.MonkeyPatch) -> DeviceCalls:
    """Log and script the system calls for block devices."""
    return DeviceCalls(monkeypatch)


def without_privilege(variable: str, reason: str) -> NoReturn:
    """Skip the running test, or fail it where an environment variable demands it."""
    if variable in os.environ:
        pytest.fail(reason)
    pytest.skip(f"{reason} ({variable} makes this a failure)")
