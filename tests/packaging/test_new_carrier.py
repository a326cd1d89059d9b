"""A carrier author's first hour, over the wheel of core alone."""

from collections.abc import Callable
from pathlib import Path
from subprocess import run as start
from typing import Any, Protocol

import pytest


class Environment(Protocol):
    @property
    def folder(self) -> Path: ...
    @property
    def python(self) -> Path: ...
    def install(self, *arguments: str | Path) -> None: ...


def run(environment: Environment, *words: str, cwd: Path | None = None) -> str:
    """Run a program of an environment; everything it prints is in the message if it fails."""
    program = environment.python.parent / words[0]
    result = start([program, *words[1:]], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, f"{words} failed:\n{result.stdout}\n{result.stderr}"
    return result.stdout


@pytest.fixture(scope="module")
def authoring(wheels: dict[str, Path], new_environment: Callable[..., Any]) -> Environment:
    """What an author has: core, its kit, mypy, and no other layer."""
    environment: Environment = new_environment("--seed")
    environment.install(f"strideweave-core[testing] @ {wheels['core'].as_uri()}", "mypy>=1.15")
    return environment


@pytest.fixture(scope="module")
def distribution(authoring: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The new distribution, exactly as it was written, installed by pip."""
    folder = tmp_path_factory.mktemp("authoring")
    run(authoring, "strideweave", "new-carrier", "acme_ram", cwd=folder)
    run(authoring, "python", "-m", "pip", "install", "--quiet", "-e", "acme_ram", cwd=folder)
    return folder / "acme_ram"


def test_it_passes_the_conformance_kit(authoring: Environment, distribution: Path) -> None:
    output = run(authoring, "pytest", cwd=distribution)
    assert "TestAcmeRam: AcmeRam, kit " in output
    assert " passed in " in output and "skipped" not in output


def test_it_type_checks(authoring: Environment, distribution: Path) -> None:
    output = run(authoring, "mypy", "--strict", cwd=distribution)
    assert output == "Success: no issues found in 5 source files\n"


def test_the_command_finds_it(authoring: Environment, distribution: Path) -> None:
    assert run(authoring, "strideweave", "carriers") == (
        "CARRIER  DISTRIBUTION    ENTRY POINT       IMPORT\n"
        "AcmeRam  acme-ram 0.1.0  acme_ram:AcmeRam  ok\n"
    )
    words = ("--carrier", "AcmeRam", "--dtype", "Float32", "--layout", "4:2")
    assert run(authoring, "strideweave", "explain", "relu", *words).startswith(
        "carrier     AcmeRam\n"
        "operands    Float32 4:2\n"
        "capability  advertised\n"
        "winner      reference:relu\n"
        "\n"
        "relu\n"
        "  plan: (Float32 as Float32) -> Float32, binary32\n"
        "  result: Float32 4:1\n"
        "  declined (the operand is a view): acme_ram.relu (preference 1)\n"
        "  runs: reference:relu (preference 0)\n"
    )
    assert run(authoring, "strideweave", "routes") == (
        "AcmeRam -> AcmeRam\n  elementwise\n  gradient: elementwise\n"
    )


def test_the_doctor_names_the_layers_to_install(authoring: Environment, distribution: Path) -> None:
    lines = run(authoring, "strideweave", "doctor").splitlines()
    assert lines[1:6] == [
        "layers",
        "  strideweave-core     0.1.0",
        "  strideweave-storage  missing: python -m pip install strideweave-storage",
        "  strideweave-compute  missing: python -m pip install strideweave-compute",
        "  strideweave-tiered   missing: python -m pip install strideweave-tiered",
    ]
    assert "  numpy              missing: python -m pip install strideweave-storage" in lines
    assert lines[lines.index("carriers") + 1].startswith("  AcmeRam  ok, computes ")
    assert lines[-1] == "no problems"


def test_the_wheel_of_it_holds_the_carrier_alone(
    authoring: Environment, distribution: Path, tmp_path: Path
) -> None:
    words = ("pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), ".")
    run(authoring, "python", "-m", *words, cwd=distribution)
    (wheel,) = tmp_path.glob("acme_ram-0.1.0-*.whl")
    names = run(authoring, "python", "-m", "zipfile", "-l", str(wheel))
    for name in ("__init__.py", "carrier.py", "patterns.py", "py.typed"):
        assert f"acme_ram/{name}" in names
    assert "test_conformance" not in names


@pytest.mark.rule("C-1")
def test_the_command_works_without_numpy_and_the_kit(core_only: Environment) -> None:
    assert run(core_only, "strideweave", "--version") == "strideweave 0.1.0\n"
    assert "\nno problems\n" in run(core_only, "strideweave", "doctor")
    words = ("relu", "--carrier", "strideweave.testing:ArrayCarrier", "--dtype", "Float32")
    assert "winner      reference:relu\n" in run(core_only, "strideweave", "explain", *words)
    assert run(core_only, "python", "-m", "strideweave", "ops", "relu").startswith("relu\n")
