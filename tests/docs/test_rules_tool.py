"""tools/rules.py compares the rules of the contract with the markers of tests."""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INDEX = """
| Document | What it fixes | Rules, examples |
| --- | --- | --- |
| `10-layout.md` | layouts | `L-n` |
| `50-carriers.md` | carriers | `C-n`, `E-n` |
| `60-movement.md` | movement | `M-n`, `E-n` |
"""
LAYOUT = "**L-1 Names.** See C-1 and **C-2**.\n\n- **L-2** Second.\n\n| L-4 | a row |\n"
CARRIERS = "- **C-1** One.\n- **C-2** Two.\n\n    c = CPU(2)  # E-1 zero\n    c[0]  # E-2 read\n"

Report = Callable[[Path, Path], tuple[list[str], list[str]]]


@pytest.fixture(scope="module")
def report() -> Report:
    spec = importlib.util.spec_from_file_location("rules", ROOT / "tools/rules.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Report = module.report
    return found


class Repository:
    """A small contract and a test folder that names some of its rules."""

    def __init__(self, folder: Path) -> None:
        self.contract, self.tests = folder / "contract", folder / "tests"
        self.contract.mkdir()
        self.tests.mkdir()
        (self.contract / "README.md").write_text(INDEX)
        (self.contract / "10-layout.md").write_text(LAYOUT)
        (self.contract / "50-carriers.md").write_text(CARRIERS)
        (self.contract / "60-movement.md").write_text("- **M-1** Move.  # E-1 bulk\n")
        self.defer('"L-1..L-9" = "later"\n"C-1..C-2" = "later"\n"M-1" = "later"')
        self.name("50/E-1", "50/E-2", "60/E-1")

    def defer(self, text: str) -> None:
        (self.contract / "deferred.toml").write_text(text)

    def name(self, *rules: str) -> None:
        marker = f"@pytest.mark.rule({', '.join(map(repr, rules))})"
        (self.tests / "test_some.py").write_text(f"{marker}\ndef test_some(): ...\n")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_accepts_rules_that_are_tested_or_deferred(repository: Repository, report: Report) -> None:
    table, problems = report(repository.contract, repository.tests)
    assert problems == []
    assert [line.split() for line in table] == [
        ["10-layout.md", *"3 rules 0 tested 3 deferred".split()],
        ["50-carriers.md", *"4 rules 2 tested 2 deferred".split()],
        ["60-movement.md", *"2 rules 1 tested 1 deferred".split()],
    ]


def test_complains_about_a_marker_that_names_no_rule(
    repository: Repository, report: Report
) -> None:
    repository.name("50/E-1", "50/E-2", "60/E-1", "L-3", "E-1")
    _, problems = report(repository.contract, repository.tests)
    assert [problem.split("names ")[1] for problem in problems] == [
        "'L-3', which is no rule of the contract",
        "'E-1', which is no rule of the contract",
    ]
    assert problems[0].startswith("test_some.py:1:")


def test_lists_rules_that_no_test_names(repository: Repository, report: Report) -> None:
    repository.defer('"L-2" = "later"\n"C-1..C-2" = "later"')
    _, problems = report(repository.contract, repository.tests)
    assert problems == [
        "10-layout.md: no test names L-1, L-4",
        "60-movement.md: no test names M-1",
    ]


def test_lists_consecutive_rules_as_a_range(repository: Repository, report: Report) -> None:
    repository.defer('"M-1" = "later"')
    repository.name("50/E-1", "60/E-1", "C-1", "L-1")
    _, problems = report(repository.contract, repository.tests)
    assert problems == [
        "10-layout.md: no test names L-2..L-4",
        "50-carriers.md: no test names 50/E-2, C-2",
    ]


def test_complains_about_a_deferred_rule_that_a_test_names(
    repository: Repository, report: Report
) -> None:
    repository.name("50/E-1", "50/E-2", "60/E-1", "M-1")
    _, problems = report(repository.contract, repository.tests)
    assert problems == ["test_some.py:1: names M-1, which deferred.toml still lists"]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ('"L-7" = "later"', "'L-7' covers no rule"),
        ('"L-1..M-1" = "later"', "'L-1..M-1' covers no rule"),
        ('"everything..L-2" = "later"', "'everything..L-2' covers no rule"),
        ('"L-2" = " "', "'L-2' needs a reason"),
    ],
)
def test_complains_about_a_useless_entry(
    entry: str, problem: str, repository: Repository, report: Report
) -> None:
    repository.defer(entry)
    _, problems = report(repository.contract, repository.tests)
    assert f"deferred.toml: {problem}" in problems


def test_a_marker_must_spell_its_rules_out(repository: Repository, report: Report) -> None:
    (repository.tests / "test_some.py").write_text("pytestmark = pytest.mark.rule(*RULES)\n")
    _, problems = report(repository.contract, repository.tests)
    assert "test_some.py:1: the marker names '*RULES', which is no rule of the contract" in problems


def test_complains_about_a_number_that_two_rules_carry(
    repository: Repository, report: Report
) -> None:
    (repository.contract / "50-carriers.md").write_text(f"{CARRIERS}- **C-2** Another.\n")
    _, problems = report(repository.contract, repository.tests)
    assert problems == ["50-carriers.md: 2 entries are numbered C-2"]
