"""Ordinary files in the place of block devices, and control over every system call."""

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from strideweave import BlockDevice
from strideweave.carriers.block_device import system
from strideweave.carriers.block_device.geometry import Geometry
from strideweave.carriers.block_device.opening import OpenNode

NAMES = ("_pread_into", "_pwrite_from", "_fdatasync", "_fsync", "_close")


@pytest.fixture
def open_file(tmp_path: Path) -> Callable[..., Any]:
    """Open a fresh file as a device of the given sizes; ``direct`` opens it twice."""
    numbers = itertools.count()

    def open_one(
        capacity: int = 2**20, logical: int = 512, physical: int = 4096, direct: bool = False
    ) -> Any:
        path = tmp_path / f"device{next(numbers)}"
        path.touch()
        os.truncate(path, capacity)
        node = OpenNode(
            str(path),
            os.open(path, os.O_RDWR),
            os.open(path, os.O_RDWR) if direct else None,
            Geometry(capacity, logical, physical),
        )
        return BlockDevice._adopt(node)

    return open_one


class Calls:
    """The system calls that were made, and what the next ones do.

    ``log`` has one ``(name, bytes, offset)`` per call and ``descriptors`` what it was made on;
    ``closed`` has the closed descriptors, as devices of other tests may be collected at any time.
    ``plan`` holds, by name, what the next calls do: move at most that many bytes, or raise; a plan
    of None is a call like any other.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log: list[tuple[str, int, int]] = []
        self.descriptors: list[int] = []
        self.closed: list[int] = []
        self.plan: dict[str, list[Any]] = {name: [] for name in NAMES}
        for name in NAMES:
            monkeypatch.setattr(system, name, self._wrapped(name, getattr(system, name)))

    def _wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        moves = name in ("_pread_into", "_pwrite_from")

        def run(descriptor: int, *arguments: Any) -> Any:
            if name == "_close":
                self.closed.append(descriptor)
            else:
                self.log.append((name, len(arguments[0]), arguments[1]) if moves else (name, 0, 0))
                self.descriptors.append(descriptor)
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

    def take(self) -> list[tuple[str, int, int]]:
        """Give the calls since the last time."""
        log, self.log, self.descriptors = self.log, [], []
        return log


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)
