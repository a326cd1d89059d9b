"""The ``console`` blocks of the guides show what their commands print."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
PAGES = [path for path in sorted(ROOT.glob("docs/*.md")) if BLOCK.search(path.read_text())]
MACHINE = (
    (re.compile(r"^CPython .*", re.M), "CPython on this machine"),
    (re.compile(r"^  (processor|block devices) .*", re.M), r"  \1"),
    (re.compile(r"\b\d+\.\d+[\w.]*"), "VERSION"),
    (re.compile(r"unavailable: .*"), "unavailable"),
    (re.compile(r"(?<=\S)  +"), "  "),  # columns are as wide as the versions in them
)


def sessions(page: Path) -> list[tuple[str, str]]:
    """Give each command of a page with what the page shows below it."""
    found = []
    for block in BLOCK.findall(page.read_text()):
        for session in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = session.partition("\n")
            found.append((command, output))
    return found


def without_machine(text: str) -> str:
    """Mask versions and what else differs from machine to machine."""
    for pattern, replacement in MACHINE:
        text = pattern.sub(replacement, text)
    return text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for command, shown in sessions(page):
        program, *words = shlex.split(command)
        assert program == "strideweave"
        result = subprocess.run(
            [sys.executable, "-m", "strideweave", *words],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert (command, without_machine(result.stdout)) == (command, without_machine(shown))


def test_the_pages_show_the_doctor_and_explanations() -> None:
    commands = [command.split()[1] for page in PAGES for command, _ in sessions(page)]
    assert {"doctor", "explain", "layout", "ops", "routes", "carriers", "new-carrier"} <= {
        *commands
    }
