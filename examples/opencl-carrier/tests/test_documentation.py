"""The blocks of README.md and the examples of docstrings run."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import strideweave_opencl

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")

# In a process of its own: packs are registered before a carrier is made.
RUNNER = """
import doctest, re, sys
from pathlib import Path
names = {"__name__": "readme"}
blocks = re.findall(r"^```python\\n(.*?)^```$", Path(sys.argv[1]).read_text(), re.M | re.S)
for block in blocks:
    if ">>>" in block:
        test = doctest.DocTestParser().get_doctest(block, names, "README.md", None, 0)
        if doctest.DocTestRunner().run(test, clear_globs=False).failed:
            sys.exit(1)
        names.update(test.globs)
    else:
        exec(compile(block, "README.md", "exec"), names)
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True)


def test_the_readme_runs() -> None:
    ran = run("-W", "error", "-c", RUNNER, str(README))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(BLOCK.findall(README.read_text())) > 10


def test_the_carrier_of_the_readme_passes_the_kit(tmp_path: Path) -> None:
    blocks = [block for block in BLOCK.findall(README.read_text()) if ">>>" not in block]
    (tmp_path / "test_slab.py").write_text("\n".join(blocks))
    ran = run("-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "TestSlab: Slab" in ran.stdout and "skipped" not in ran.stdout


def test_relative_links_lead_somewhere() -> None:
    targets = LINK.findall(BLOCK.sub("", README.read_text()))
    assert targets and all((ROOT / target).exists() for target in targets)


@pytest.mark.parametrize(
    "name",
    [
        module.name
        for module in pkgutil.walk_packages(strideweave_opencl.__path__, "strideweave_opencl.")
    ],
)
def test_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
