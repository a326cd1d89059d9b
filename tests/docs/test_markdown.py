"""The Python blocks of the Markdown files run, and relative links lead somewhere."""

import doctest
import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    *ROOT.glob("*.md"),
    *ROOT.glob("packages/*/README.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("examples/*.md"),
]
if "STRIDEWEAVE_METAL_DEVICE" not in os.environ:  # nothing chooses a device for Metal
    FILES.remove(ROOT / "docs/metal.md")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_run(path: Path) -> None:
    names: dict[str, object] = {"__name__": "example"}
    for block in BLOCK.findall(path.read_text()):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, names, path.name, str(path), 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            assert runner.failures == 0
            names.update(test.globs)
        else:
            exec(compile(block, str(path), "exec"), names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(path: Path) -> None:
    targets = LINK.findall(path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_readme_shows_a_program() -> None:
    assert BLOCK.findall((ROOT / "README.md").read_text())
