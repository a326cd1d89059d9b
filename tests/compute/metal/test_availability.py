"""What constructing Metal says where MLX or its device is not there, with everything pretended."""

import importlib
import platform
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from strideweave import DType, Metal

VARIABLE = "STRIDEWEAVE_METAL_DEVICE"
runtime: Any = importlib.import_module("strideweave.carriers.metal.runtime")

Pretend = Callable[..., list[str]]


def mlx(has_gpu: bool) -> SimpleNamespace:
    """Stand in for ``mlx.core``."""
    metal = SimpleNamespace(is_available=lambda: has_gpu)
    return SimpleNamespace(__version__="9.8.7", metal=metal, cpu="a CPU", gpu="a GPU")


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Pretend:
    """Pretend a machine; gives the names that were imported from then on."""

    def machine(
        system: str = "Darwin",
        processor: str = "arm64",
        installed: bool = True,
        core: Any = None,
        device: str | None = None,
    ) -> list[str]:
        imported: list[str] = []

        def import_module(name: str) -> Any:
            imported.append(name)
            if isinstance(core, Exception):
                raise core
            return core

        monkeypatch.setattr(runtime, "_loaded", None)
        monkeypatch.setattr(platform, "system", lambda: system)
        monkeypatch.setattr(platform, "machine", lambda: processor)
        monkeypatch.setattr(runtime, "find_spec", lambda name: object() if installed else None)
        monkeypatch.setattr(runtime, "import_module", import_module)
        if device is None:
            monkeypatch.delenv(VARIABLE, raising=False)
        else:
            monkeypatch.setenv(VARIABLE, device)
        monkeypatch.setenv("MLX_ENABLE_TF32", "1")
        return imported

    return machine


@pytest.mark.rule("MT-3", "MT-52")
def test_arguments_are_checked_before_anything_is_loaded(pretend: Pretend) -> None:
    imported = pretend(device="neither", installed=False)
    arguments: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        ("4", {"dtype": DType.Float64}, TypeError, "^Metal: size must be an integer, got '4'"),
        (2.0, {}, TypeError, "^Metal: size must be an integer"),
        (-1, {"dtype": "Float32"}, ValueError, "size must be non-negative"),
        (1, {"dtype": "Float32"}, TypeError, "^Metal dtype must be a DType"),
        (1, {"dtype": DType.Float64}, ValueError, "^Metal cannot store"),
        (1, {}, RuntimeError, f"{VARIABLE} must be 'gpu' or 'cpu', got 'neither'"),
    ]
    for size, options, error, text in arguments:
        with pytest.raises(error, match=text):
            Metal(size, **options)
    assert imported == []


@pytest.mark.rule("MT-3", "MT-52")
@pytest.mark.parametrize(
    "machine", [("Linux", "x86_64"), ("Darwin", "x86_64"), ("Linux", "arm64")], ids=str
)
@pytest.mark.parametrize("device", [None, "gpu"])
@pytest.mark.parametrize("installed", [True, False])
def test_a_machine_without_metal_says_how_to_choose_the_cpu_device(
    pretend: Pretend, machine: tuple[str, str], device: str | None, installed: bool
) -> None:
    imported = pretend(*machine, installed=installed, device=device)
    with pytest.raises(RuntimeError) as caught:
        Metal(4)
    text = str(caught.value)
    assert machine[0] in text and machine[1] in text and f"{VARIABLE}=cpu" in text
    assert "pip install 'strideweave-compute[metal]'" in text and imported == []


@pytest.mark.rule("MT-3", "MT-52")
@pytest.mark.parametrize("device", [None, "gpu", "cpu"])
def test_missing_mlx_says_what_to_install(pretend: Pretend, device: str | None) -> None:
    imported = pretend(installed=False, device=device)
    with pytest.raises(RuntimeError, match=r"'mlx'.*pip install 'strideweave-compute\[metal\]'"):
        Metal(4)
    assert imported == []


@pytest.mark.rule("MT-3", "MT-52")
def test_a_broken_mlx_is_chained(pretend: Pretend) -> None:
    broken = OSError("libmlx.so: cannot open")
    assert pretend(core=broken) == []
    with pytest.raises(RuntimeError, match=r"'mlx'.*libmlx\.so.*pip install") as caught:
        Metal(4)
    assert caught.value.__cause__ is broken


@pytest.mark.rule("MT-3", "MT-52")
def test_mlx_without_a_gpu_says_how_to_choose_the_cpu_device(pretend: Pretend) -> None:
    imported = pretend(core=mlx(has_gpu=False))
    with pytest.raises(RuntimeError, match=rf"MLX 9\.8\.7 finds no Metal GPU.*{VARIABLE}=cpu"):
        Metal(4)
    assert imported == ["mlx.core"]


@pytest.mark.rule("MT-3", "MT-17")
def test_the_device_is_chosen_once_and_a_failure_leaves_nothing(
    pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(core=mlx(has_gpu=True), installed=False)
    with pytest.raises(RuntimeError, match="not installed"):
        runtime.load()
    imported = pretend(core=mlx(has_gpu=True))
    loaded = runtime.load()
    assert (loaded.device, loaded.version, imported) == ("a GPU", "9.8.7", ["mlx.core"])
    assert runtime.os.environ["MLX_ENABLE_TF32"] == "0"  # set before the import
    monkeypatch.setenv(VARIABLE, "cpu")
    assert runtime.load() is loaded and imported == ["mlx.core"]
    pretend("Linux", "x86_64", core=mlx(has_gpu=False), device="cpu")
    assert runtime.load().device == "a CPU"
