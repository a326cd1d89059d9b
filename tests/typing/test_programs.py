"""Programs that type checkers accept or reject, checked against the installed packages.

A line of a rejected program that ends in ``# error: code`` must be reported with that mypy code,
and no other line may be. pyright, where it is installed, must report the same lines.
"""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from mypy import api

HERE = Path(__file__).parent
ACCEPTED = sorted((HERE / "accepted").glob("*.py"))
REJECTED = sorted((HERE / "rejected").glob("*.py"))
PROGRAMS = ACCEPTED + REJECTED
REPORT = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+): error: (?P<text>.*)\[(?P<code>[\w-]+)\]$")
EXPECTED = re.compile(r"# error: (?P<codes>[\w -]+)$")

Findings = dict[str, dict[int, set[str]]]


def expected(path: Path) -> dict[int, set[str]]:
    """Give the codes that each line of a program announces."""
    marks: dict[int, set[str]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if found := EXPECTED.search(line):
            marks[number] = set(found["codes"].split())
    return marks


@pytest.fixture(scope="session")
def mypy_findings(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """What ``mypy --strict`` reports about all programs, by file name and line."""
    cache = tmp_path_factory.mktemp("mypy")
    options = ["--strict", "--config-file=", f"--cache-dir={cache}", "--no-error-summary"]
    options += ["--no-pretty", "--hide-error-context"]
    output, errors, _ = api.run([*options, *map(str, PROGRAMS)])
    assert not errors
    findings: Findings = {path.name: {} for path in PROGRAMS}
    for line in output.splitlines():
        if ": note: " in line:
            continue
        found = REPORT.match(line)
        assert found is not None, output
        lines = findings[Path(found["path"]).name]
        lines.setdefault(int(found["line"]), set()).add(found["code"])
    return findings


def test_programs_exist() -> None:
    assert len(ACCEPTED) >= 5 and len(REJECTED) >= 4
    assert not any(expected(path) for path in ACCEPTED)
    assert all(expected(path) for path in REJECTED)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_mypy_reports_exactly_the_marked_lines(path: Path, mypy_findings: Findings) -> None:
    assert mypy_findings[path.name] == expected(path)


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is a second opinion")
def test_pyright_reports_exactly_the_marked_lines() -> None:
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    result = subprocess.run(
        [*command, *map(str, PROGRAMS)], capture_output=True, text=True, check=False, cwd=HERE
    )
    report: dict[str, Any] = json.loads(result.stdout)
    lines: dict[str, set[int]] = {path.name: set() for path in PROGRAMS}
    for entry in report["generalDiagnostics"]:
        if entry["severity"] == "error":
            lines[Path(entry["file"]).name].add(entry["range"]["start"]["line"] + 1)
    assert lines == {path.name: set(expected(path)) for path in PROGRAMS}


@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_accepted_programs_run(path: Path) -> None:
    subprocess.run([sys.executable, str(path)], check=True, cwd=HERE)
