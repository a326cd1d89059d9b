"""Wheels built once per run, and fresh environments to install them into."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
LAYERS = ("core", "storage", "compute", "tiered")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, f"{command} failed:\n{result.stdout}\n{result.stderr}"
    return result.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip, filled by uv."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def install(self, *arguments: str | Path) -> None:
        uv("pip", "install", "--quiet", "--no-sources", "--python", self.python, *arguments)

    def evaluate(self, program: str) -> Any:
        """Run a program that prints one JSON value; the folder is empty, so nothing shadows."""
        return json.loads(run(self.python, "-W", "error", "-c", program, cwd=self.folder))


def uv(*arguments: str | Path) -> str:
    program = shutil.which("uv")
    assert program is not None, "install uv into the environment that runs tests/packaging"
    return run(program, *arguments)


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of each layer, and of the umbrella under the name ``umbrella``."""
    dist = tmp_path_factory.mktemp("dist")
    folders = {layer: ROOT / f"packages/strideweave-{layer}" for layer in LAYERS}
    built = {}
    for name, folder in {**folders, "umbrella": ROOT}.items():
        target = dist / name
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target, cwd=folder)
        (built[name],) = target.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def new_environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Environment]:
    def create(*arguments: str) -> Environment:
        folder = tmp_path_factory.mktemp("environment") / "venv"
        uv("venv", "--quiet", "--python", sys.executable, *arguments, folder)
        return Environment(folder)

    return create


@pytest.fixture(scope="session")
def core_only(wheels: dict[str, Path], new_environment: Callable[..., Environment]) -> Environment:
    environment = new_environment()
    environment.install(wheels["core"])
    return environment
