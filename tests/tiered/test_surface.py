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
PUBLIC = {
    "strideweave.carriers",
    "strideweave.carriers.dtype",
    "strideweave.carriers.extension",
    "strideweave.carriers.move",
    "strideweave.carriers.operation_capability",
    "strideweave.carriers.operation_policy",
    "strideweave.layout",
    "strideweave.operation",
    "strideweave.tensor",
}
# What core shares with the layers above it, each with the rule that asks for it.
SHARED = {
    "strideweave.autograd.buffers": "A-35: gradients on the primal's class",
    "strideweave.autograd.fold": "TE-95: sums over broadcast modes",
    "strideweave.carriers.class_record": "TE-52: whether a class has a definition",
    "strideweave.carriers.latch": "TE-84: the end of a borrowed thread",
    "strideweave.carriers.move.claims": "TE-14, TE-62: the ownership of requests",
    "strideweave.carriers.move.handles": "TE-3: making handles",
    "strideweave.carriers.move.pool": "TE-56: the shared threads",
    "strideweave.carriers.move.preparation": "TE-63: growing an empty destination",
    "strideweave.carriers.move.request": "TE-52: copies whose route is chosen before",
    "strideweave.carriers.move.routes": "TE-52: which copies are permitted",
    "strideweave.carriers.normalization": "TE-25: values as the dtype holds them",
    "strideweave.carriers.spans": "TE-51: bulk access",
    "strideweave.host": "TE-55: strided copies over spans",
    "strideweave.layout.construction": "TE-10: canonical layouts",
    "strideweave.layout.enumeration": "TE-55: element access where there are no spans",
    "strideweave.operation.definition": "TE-80: which operations are registered",
    "strideweave.operation.evaluation": "S-1: values of gradients",
    "strideweave.operation.gradient": "A-35: the type of a recorded call",
    "strideweave.operation.operation": "TE-80: which operations are registered",
    "strideweave.operation.recording": "TE-53: no profile of transfers",
    "strideweave.ops.metadata": "TE-84: layouts of blocks",
    "strideweave.ops.nesting": "TE-84: shapes of blocks",
    "strideweave.tensor.access": "TE-85: element access where there are no spans",
    "strideweave.tensor.boundary": "TE-28: Tensors of several subtensors",
    "strideweave.tensor.tensor": "TE-81: Tensors over storage that was checked",
}
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


def imports(path: Path) -> Iterator[str]:
    """Yield every module of core that a source imports, and every name with its module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in PUBLIC | SHARED.keys() else node.module
                assert not alias.name.startswith("_"), whole


@pytest.mark.rule("TE-58")
def test_sources_import_public_paths_and_what_core_shares() -> None:
    used = {
        module
        for path in SOURCES
        for module in imports(path)
        if module.split(".")[0] == "strideweave" and not module.startswith(tiled_evictable.__name__)
    }
    assert used - PUBLIC == SHARED.keys()
    assert not any(part.startswith("_") for module in used for part in module.split("."))
