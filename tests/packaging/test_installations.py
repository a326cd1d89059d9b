"""Wheels, editable folders and mixtures of both give the same namespace."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest


class Environment(Protocol):
    python: Path

    def install(self, *arguments: str | Path) -> None: ...

    def evaluate(self, program: str) -> object: ...


REPORT = """
import json
import numpy
import strideweave as sw
from strideweave.carriers import carrier_names, load_carrier

total = sw.reduce_sum(sw.from_numpy(numpy.ones(4, "float32")), "a -> 1")
print(json.dumps({
    "names": [sw.CPU.__name__, sw.Generic.__name__, sw.TileSet.__name__],
    "advertised": carrier_names(),
    "same": load_carrier("CPU") is sw.CPU is sw.carriers.CPU,
    "version": sw.__version__,
    "total": total[0],
}))
"""
COMPLETE = {
    "names": ["CPU", "Generic", "TileSet"],
    "advertised": [
        *("BlockDeviceCarrier", "CPU", "Evictable", "FileBacked", "Generic", "Metal"),
        "TiledEvictable",
    ],
    "same": True,
    "version": "0.1.0",
    "total": 4.0,
}


@pytest.mark.rule("G-15", "C-1")
@pytest.mark.parametrize(
    "editable",
    [
        (),
        ("core", "storage", "compute", "tiered"),
        ("core",),
        ("storage", "tiered"),
    ],
    ids=["wheels", "editable", "editable core", "editable storage and tiered"],
)
def test_every_mixture_gives_all_layers(
    editable: tuple[str, ...],
    root: Path,
    wheels: dict[str, Path],
    new_environment: Callable[..., Environment],
) -> None:
    environment = new_environment()
    arguments: list[str | Path] = []
    for layer in ("core", "storage", "compute", "tiered"):
        folder = root / f"packages/strideweave-{layer}"
        arguments += ["-e", folder] if layer in editable else [wheels[layer]]
    environment.install(*arguments)
    assert environment.evaluate(REPORT) == COMPLETE


@pytest.mark.rule("C-1")
def test_pip_uninstall_of_one_layer_leaves_the_others(
    wheels: dict[str, Path], new_environment: Callable[..., Environment]
) -> None:
    environment = new_environment("--seed")
    environment.install(*wheels.values())
    environment.evaluate(
        "import json, subprocess, sys\n"
        "command = [sys.executable, '-m', 'pip', 'uninstall', '-y', 'strideweave-compute']\n"
        "print(json.dumps(subprocess.run(command, capture_output=True).returncode))"
    )
    program = """
import json
import strideweave as sw
from strideweave.carriers import carrier_names
try:
    sw.CPU
except ImportError as error:
    print(json.dumps([carrier_names(), sw.Generic.__name__, sw.TileSet.__name__, error.name]))
"""
    assert environment.evaluate(program) == [
        ["BlockDeviceCarrier", "Evictable", "FileBacked", "Generic", "TiledEvictable"],
        "Generic",
        "TileSet",
        "strideweave.carriers.cpu",
    ]
    (packages,) = environment.python.parents[1].glob("lib/*/site-packages")
    assert not (packages / "strideweave/carriers/cpu").exists()
    assert (packages / "strideweave/__init__.py").exists()
