"""``strideweave new-carrier``; tests/packaging installs what it writes."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

FILES = [
    "README.md",
    "pyproject.toml",
    "src/acme_ram/__init__.py",
    "src/acme_ram/carrier.py",
    "src/acme_ram/patterns.py",
    "src/acme_ram/py.typed",
    "tests/test_conformance.py",
    "tests/test_patterns.py",
]


def files_below(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def test_writes_a_distribution_and_says_what_is_next(ask: Any, tmp_path: Path) -> None:
    answer = ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    assert (answer.status, answer.errors) == (0, "")
    assert files_below(tmp_path / "acme_ram") == FILES
    assert f"  cd {tmp_path / 'acme_ram'}\n  python -m pip install" in answer.output
    assert [name for name in FILES if f"  {name}\n" not in answer.output] == []


def test_nothing_is_left_to_fill_in(ask: Any, tmp_path: Path) -> None:
    ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    texts = [(tmp_path / "acme_ram" / name).read_text() for name in FILES]
    assert [text for text in texts if "$" in text] == []


def test_advertises_the_carrier_for_this_version(ask: Any, tmp_path: Path) -> None:
    ask("new-carrier", "acme-ram", "--into", str(tmp_path))
    project = tomllib.loads((tmp_path / "acme_ram/pyproject.toml").read_text())["project"]
    assert project["name"] == "acme-ram"
    assert project["dependencies"] == [f"strideweave-core~={version('strideweave-core')}"]
    assert project["entry-points"]["strideweave.carriers"] == {"AcmeRam": "acme_ram:AcmeRam"}


@pytest.mark.rule("R-1")
def test_the_carrier_computes(ask: Any, tmp_path: Path) -> None:
    ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    program = (
        "import sys; sys.path.insert(0, 'src')\n"
        "import strideweave as sw\n"
        "from acme_ram import AcmeRam\n"
        "x = sw.friendly.tensor([-1.0, 2.0, 3.0], carrier=AcmeRam)\n"
        "print(sw.relu(x).tolist(), sw.explain('relu', x).winner.kernel_id)\n"
    )
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=tmp_path / "acme_ram", capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("[0.0, 2.0, 3.0] acme_ram.relu\n", "")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("AcmeRam", "NAME must be lower-case words joined by '_', such as acme_ram, got 'AcmeRam'"),
        ("acme ram", "NAME must be lower-case words"),
        ("1ram", "NAME must be lower-case words"),
        ("../ram", "NAME must be lower-case words"),
        ("_ram", "NAME must be lower-case words"),
        ("", "NAME must be lower-case words"),
        ("class", "'class' is a name of Python itself"),
        ("array", "'array' is a name of Python itself"),
        ("strideweave", "'strideweave' reads as a part of StrideWeave"),
        ("strideweave_gpu", "'strideweave_gpu' reads as a part of StrideWeave"),
        ("tests", "'tests' is taken by the tests of the distribution"),
        ("numpy", "'numpy' is taken by a library"),
        ("mlx", "'mlx' is taken by a library"),
        ("hypothesis", "a module 'hypothesis' is installed already"),
        ("kernel_pack", "the class would be called KernelPack, which its modules"),
        ("final", "the class would be called Final, which its modules"),
        ("slab", "plugin-slab 2.0 already advertises a carrier Slab"),
    ],
)
def test_refuses_a_name(name: str, message: str, ask: Any, shelf: Any, tmp_path: Path) -> None:
    shelf.carrier("Slab", "")
    target = tmp_path / "target"
    target.mkdir()
    answer = ask("new-carrier", name, "--into", str(target))
    assert (answer.status, answer.output) == (2, "")
    assert message in answer.errors
    assert files_below(target) == []


def test_never_touches_what_exists(ask: Any, tmp_path: Path) -> None:
    ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    kept = tmp_path / "acme_ram/README.md"
    kept.write_text("mine")
    answer = ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    assert answer.status == 2
    assert answer.errors == (
        f"strideweave new-carrier: {tmp_path / 'acme_ram'} exists; nothing was written\n"
    )
    assert kept.read_text() == "mine"


def test_a_missing_parent_is_named(ask: Any, tmp_path: Path) -> None:
    answer = ask("new-carrier", "acme_ram", "--into", str(tmp_path / "absent"))
    assert answer.status == 2
    assert "absent/acme_ram: No such file or directory" in answer.errors


def test_a_failure_while_writing_leaves_nothing_behind(
    ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Path.write_text

    def fill_up(path: Path, *arguments: Any, **keywords: Any) -> int:
        if path.name == "patterns.py":
            raise OSError(28, "No space left on device")
        return written(path, *arguments, **keywords)

    monkeypatch.setattr(Path, "write_text", fill_up)
    answer = ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    assert answer.status == 2
    assert "cannot write into" in answer.errors and "No space left on device" in answer.errors
    assert list(tmp_path.iterdir()) == []


def imported_classes(source: str) -> set[str]:
    return {
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name[0].isupper() and not alias.name.isupper()
    }


def test_a_class_never_has_the_name_of_what_its_modules_import(ask: Any, tmp_path: Path) -> None:
    ask("new-carrier", "acme_ram", "--into", str(tmp_path))
    sources = [(tmp_path / "acme_ram" / name).read_text() for name in FILES if name.endswith(".py")]
    classes = sorted(set().union(*map(imported_classes, sources)) - {"AcmeRam"})
    assert {"Ability", "StorageProvider"} <= {*classes}
    for name in classes:
        package = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        answer = ask("new-carrier", package, "--into", str(tmp_path))
        assert f"the class would be called {name}, which its modules import" in answer.errors
