"""The command in this process, over a chosen set of installed distributions."""

import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints, distributions
from itertools import count
from pathlib import Path

import pytest

from strideweave.cli.main import main


@dataclass(frozen=True)
class Answer:
    """What a command line gave."""

    status: int
    output: str
    errors: str


Ask = Callable[..., Answer]


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run one command line, given word by word."""

    def run(*words: str) -> Answer:
        capsys.readouterr()
        try:
            status = main(words)
        except SystemExit as leaving:
            assert isinstance(leaving.code, int)
            status = leaving.code
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return run


@dataclass(frozen=True)
class Shelf:
    """A folder of distributions, the only ones whose entry points are found."""

    folder: Path

    def distribution(self, name: str, version: str, entry_points: str = "") -> None:
        """Install metadata alone."""
        metadata = self.folder / f"{name.replace('-', '_')}-{version}.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
        (metadata / "entry_points.txt").write_text(entry_points)

    def carrier(self, name: str, source: str) -> str:
        """Install a distribution that advertises a carrier of a module with this source."""
        module = f"shelf_module_{next(_numbers)}"
        (self.folder / f"{module}.py").write_text(source)
        group = f"[strideweave.carriers]\n{name} = {module}:{name}\n"
        self.distribution(f"plugin-{name.lower()}", "2.0", group)
        return module


_numbers = count()


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """An empty shelf in place of what is installed for the interpreter that runs the tests."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def entry_points(*, group: str) -> EntryPoints:
        found: list[EntryPoint] = []
        for distribution in distributions(path=[str(folder)]):
            found += distribution.entry_points
        return EntryPoints(found).select(group=group)

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    before = {*sys.modules}
    yield Shelf(folder)
    for module in {*sys.modules} - before:
        if module.startswith("shelf_module_"):
            del sys.modules[module]
