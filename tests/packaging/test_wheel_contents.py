"""No two wheels share a path, and the tool that checks it notices when they do."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest


@pytest.fixture(scope="module")
def problems_of(root: Path) -> Callable[[list[Path]], list[str]]:
    spec = importlib.util.spec_from_file_location("check_wheels", root / "tools/check_wheels.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    checker: Callable[[list[Path]], list[str]] = module.problems_of
    return checker


def make_wheel(
    folder: Path, name: str, code: list[str], *, version: str = "1", requires: str = ""
) -> Path:
    path = folder / f"{name}.whl"
    metadata = f"Name: {name}\nVersion: {version}\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    with ZipFile(path, "w") as archive:
        archive.writestr(f"{name}-{version}.dist-info/METADATA", metadata)
        for entry in code:
            archive.writestr(entry, "")
    return path


CORE = ["strideweave/__init__.py", "strideweave/carriers/__init__.py", "strideweave/py.typed"]
CPU = ["strideweave/carriers/cpu/__init__.py", "strideweave/carriers/cpu/py.typed"]


def test_built_wheels_can_share_the_namespace(
    wheels: dict[str, Path], problems_of: Callable[[list[Path]], list[str]]
) -> None:
    assert problems_of(list(wheels.values())) == []


def test_accepts_a_core_and_a_layer(
    tmp_path: Path, problems_of: Callable[[list[Path]], list[str]]
) -> None:
    core = make_wheel(tmp_path, "strideweave-core", CORE)
    layer = make_wheel(tmp_path, "strideweave-compute", CPU, requires="strideweave-core==1")
    assert problems_of([core, layer]) == []


@pytest.mark.parametrize(
    ("code", "options", "complaint"),
    [
        (
            [*CPU, CORE[2]],
            {},
            "strideweave/py.typed is in strideweave-core and strideweave-compute",
        ),
        ([CPU[0]], {}, "carriers/cpu lacks py.typed"),
        (
            ["strideweave/extra.py"],
            {},
            "strideweave/extra.py is outside strideweave/carriers/NAME/",
        ),
        (CPU, {"version": "2"}, "the versions differ"),
        (CPU, {"requires": "strideweave-core>=1"}, "strideweave-core>=1 does not pin ==1"),
    ],
)
def test_complains_about_a_layer(
    code: list[str],
    options: dict[str, str],
    complaint: str,
    tmp_path: Path,
    problems_of: Callable[[list[Path]], list[str]],
) -> None:
    core = make_wheel(tmp_path, "strideweave-core", CORE)
    layer = make_wheel(tmp_path, "strideweave-compute", code, **options)
    assert any(complaint in problem for problem in problems_of([core, layer]))


def test_complains_about_code_in_the_umbrella(
    tmp_path: Path, problems_of: Callable[[list[Path]], list[str]]
) -> None:
    umbrella = make_wheel(tmp_path, "strideweave", ["strideweave/__init__.py"])
    assert any("metadata only" in problem for problem in problems_of([umbrella]))
