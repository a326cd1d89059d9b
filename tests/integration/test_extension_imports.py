"""Layers above core use the extension contract by its public names only."""

import ast
from collections.abc import Iterator
from pathlib import Path

from strideweave.carriers import extension

PACKAGES = Path(__file__).parents[2] / "packages"
SOURCES = sorted(
    path
    for package in PACKAGES.iterdir()
    if package.name != "strideweave-core"
    for path in package.glob("src/**/*.py")
)


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Yield module and name of every import from the extension package."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, ""


def test_no_layer_above_core_imports_a_private_extension_name() -> None:
    assert len(SOURCES) > 10
    private = [
        (path.name, module, name)
        for path in SOURCES
        for module, name in imported(path)
        if module.startswith("strideweave.carriers.extension")
        and (module != extension.__name__ or name not in extension.__all__)
    ]
    assert private == []
