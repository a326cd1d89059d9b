"""What the shared ``__init__`` files export."""

import ast
from pathlib import Path

import pytest

SOURCE = Path("packages/strideweave-core/src/strideweave")


@pytest.mark.rule("C-1")
@pytest.mark.parametrize("path", [SOURCE / "__init__.py", SOURCE / "carriers/__init__.py"], ids=str)
def test_lazy_names_equal_the_ones_that_type_checkers_see(path: Path, root: Path) -> None:
    tree = ast.parse((root / path).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    visible = {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    tables = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in block.orelse
        if isinstance(node, ast.Assign)
    }
    lazy = {name: module for name, (module, _) in tables["_OPTIONAL"].items()}
    lazy |= tables.get("_DEFERRED", {})
    lazy |= dict.fromkeys(tables.get("_DEFERRED_MODULES", ()), "strideweave")
    assert lazy == visible


@pytest.mark.rule("C-1")
@pytest.mark.parametrize("path", [SOURCE / "__init__.py", SOURCE / "carriers/__init__.py"], ids=str)
def test_lazy_names_come_from_the_distribution_that_ships_the_module(
    path: Path, root: Path
) -> None:
    tree = ast.parse((root / path).read_text())
    (table,) = (
        ast.literal_eval(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_OPTIONAL"
    )
    for module, distribution in table.values():
        folder = root / "packages" / distribution / "src" / Path(*module.split("."))
        assert (folder / "__init__.py").is_file()
