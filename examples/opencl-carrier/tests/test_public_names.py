"""The distribution uses public names of StrideWeave only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CARRIERS = (
    "dtype extension move operation_capability operation_policy generic file_backed evictable "
    "block_device cpu metal tiled_evictable"
).split()
PUBLIC = {
    "strideweave",
    *(
        f"strideweave.{name}"
        for name in (
            "layout tensor operation functional autograd einops module nn friendly profiling "
            "testing carriers"
        ).split()
    ),
    *(f"strideweave.carriers.{name}" for name in CARRIERS),
}
FILES = sorted(
    path for folder in ("src", "examples", "tests") for path in (ROOT / folder).rglob("*.py")
)


def offences(source: str) -> Iterator[str]:
    """Name what a program takes from StrideWeave that is not public."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
            names = []
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            modules, names = [node.module or ""], [alias.name for alias in node.names]
        else:
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not _own(node):
                yield f"line {node.lineno}: .{node.attr}"
            continue
        for module in modules:
            if module.partition(".")[0] == "strideweave":
                if module not in PUBLIC:
                    yield f"line {node.lineno}: {module}"
                yield from (f"line {node.lineno}: {name}" for name in names if name.startswith("_"))


def _own(node: ast.Attribute) -> bool:
    return node.attr.startswith("__") or (
        isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def test_there_are_files_to_examine() -> None:
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file(path: Path) -> None:
    assert list(offences(path.read_text())) == []


@pytest.mark.parametrize(
    "program",
    [
        "import strideweave._record",
        "from strideweave.host import read_array",
        "from strideweave.carriers.base import Carrier",
        "from strideweave import _record",
        "carrier._increment_version()",
    ],
)
def test_what_is_not_public_is_found(program: str) -> None:
    assert list(offences(program))
