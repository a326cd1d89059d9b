"""What the package offers, and what its sources keep away from."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import strideweave as sw
from strideweave import Tensor, TiledEvictable, TileSelection, TileSet
from strideweave.carriers import tiled_evictable

SOURCES = sorted(Path(tiled_evictable.__file__).parent.glob("*.py"))
CONCRETE = {"Generic", "CPU", "Metal", "FileBacked", "BlockDeviceCarrier", "Evictable"}
CONCRETE_MODULES = {"generic", "cpu", "metal", "file_backed", "block_device", "evictable"}


@pytest.mark.rule("TE-1", "TE-2")
def test_module_exports_exactly_the_public_names() -> None:
    assert tiled_evictable.__all__ == [
        "AwaitProjection",
        "AwaitResidency",
        "ResidencyPlan",
        "ResidencyPolicy",
        "TileSelection",
        "TileSet",
        "TiledEvictable",
        "TiledResidencyFacet",
    ]
    for name in tiled_evictable.__all__:
        assert getattr(sw, name) is getattr(tiled_evictable, name)
    for name in ("LRUResidency", "PinnedResidency", "ResidencyStats"):
        assert hasattr(tiled_evictable, name)


@pytest.mark.rule("TE-3")
@pytest.mark.parametrize("handle_class", [sw.AwaitProjection, sw.AwaitResidency])
def test_handles_come_from_the_framework_only(handle_class: type[Any]) -> None:
    with pytest.raises(TypeError, match="created by the framework"):
        handle_class()
    assert issubclass(handle_class, sw.AwaitResult)
    assert not hasattr(handle_class, "__await__")


@pytest.mark.rule("TE-3", "TE-81")
def test_a_handle_is_no_operand(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,))
    tensor = full(carrier)
    handle = carrier.project(tensor, TileSelection([[0]]))
    with pytest.raises(TypeError):
        sw.add(tensor, handle)
    with pytest.raises(TypeError):
        sw.relu(carrier.promote_async(TileSet()))


@pytest.mark.rule("TE-4", "C-5")
def test_the_class_is_closed() -> None:
    with pytest.raises(TypeError, match="closed carrier implementation"):
        type("Mine", (TiledEvictable,), {})
    assert getattr(TiledEvictable, "__final__", False)


def names(path: Path) -> Iterator[str]:
    """Yield every name that a source mentions, but for its texts."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from node.module.split(".")
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (part for alias in node.names for part in alias.name.split("."))


@pytest.mark.rule("TE-58")
def test_no_source_names_a_concrete_carrier_or_numpy() -> None:
    assert len(SOURCES) > 20
    imported = {
        part
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
        for part in node.module.split(".")
    }
    mentioned = {name for path in SOURCES for name in names(path)}
    assert mentioned & CONCRETE == set()
    assert imported & (CONCRETE_MODULES | {"numpy"}) == set()
    assert "numpy" not in mentioned
