"""The checks before a DLPack capsule is made, in order, on carriers that describe themselves."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
import strideweave.host as host
from strideweave import DType, Layout, Tensor
from strideweave.testing import ArrayCarrier

Levels = Callable[..., Tensor]
Described = Callable[..., Tensor]
GOOD = {"pointer": 4096, "device_type": 2, "device_id": 5}
NO_VERSION: Any = 3  # refused, unless something else is refused before


@pytest.fixture
def described(plane_carrier: Any) -> Described:
    """Build a Tensor whose carrier describes its storage as told, or raises that."""

    def build(info: object = GOOD, dtype: DType = DType.Float32) -> Tensor:
        class Described(plane_carrier):  # type: ignore[misc]  # a class that a fixture gives
            def dlpack_info(self) -> Any:
                if isinstance(info, Exception):
                    raise info
                return info

        return Tensor(Described([0] * 4, dtype), 0, Layout.parse("4:1"))

    return build


@pytest.mark.rule("T-18", "M-41")
def test_several_subtensors_are_refused_first(levels: Levels) -> None:
    for export in (lambda t: t.__dlpack__(copy=True, max_version=3), Tensor.__dlpack_device__):
        with pytest.raises(NotImplementedError, match=r"^Multi-subtensor Tensor DLPack export is"):
            export(levels())


@pytest.mark.rule("M-43", "M-41")
@pytest.mark.parametrize("copy", [True, 1, "yes"])
def test_a_copy_is_refused_before_the_carrier_is_asked(described: Described, copy: Any) -> None:
    with pytest.raises(BufferError, match="never copies"):
        described(OSError("asked")).__dlpack__(copy=copy)


@pytest.mark.rule("M-41", "M-47")
def test_what_the_hook_raises_propagates_unchanged(described: Described) -> None:
    error = OSError("no description")
    for export in (
        lambda t: t.__dlpack__(copy=False, dl_device=3, max_version=3),
        Tensor.__dlpack_device__,
    ):
        with pytest.raises(OSError) as caught:
            export(described(error))
        assert caught.value is error


@pytest.mark.rule("M-47", "G-17")
def test_a_class_without_the_hook_exports_nothing() -> None:
    tensor = Tensor(ArrayCarrier(2, dtype=DType.Float32), 0, Layout.parse("2:1"))
    for export in (Tensor.__dlpack__, Tensor.__dlpack_device__):
        with pytest.raises(BufferError, match="ArrayCarrier does not export its storage; move or"):
            export(tensor)


@pytest.mark.rule("M-41")
@pytest.mark.parametrize(
    ("info", "error", "text"),
    [
        (None, TypeError, r"Described.dlpack_info\(\) must return a dict, got None"),
        (3, TypeError, "must return a dict"),
        ("ab", TypeError, "must return a dict"),
        ({}, KeyError, "pointer"),
        ({"pointer": 1, "device_id": 0}, KeyError, "device_type"),
        ({"pointer": "x", "device_type": 1}, KeyError, "device_id"),
        ({**GOOD, "pointer": "x"}, TypeError, r"\['pointer'\] must be an integer, got 'x'"),
        ({**GOOD, "device_type": 1.0}, TypeError, r"\['device_type'\] must be an integer"),
        ({**GOOD, "device_id": True}, TypeError, r"\['device_id'\] must be an integer"),
        ({**GOOD, "pointer": 0}, BufferError, "Described has no storage to export"),
    ],
)
def test_a_wrong_description_is_named(
    described: Described, info: object, error: type[Exception], text: str
) -> None:
    for export in (lambda t: t.__dlpack__(dl_device=3, max_version=3), Tensor.__dlpack_device__):
        with pytest.raises(error, match=text):
            export(described(info))


@pytest.mark.rule("M-41", "T-5")
@pytest.mark.parametrize("dtype", [DType.Float32, DType.Bool, DType.Float64])
def test_the_device_is_what_the_hook_says(described: Described, dtype: DType) -> None:
    assert described(dtype=dtype).__dlpack_device__() == (2, 5)
    pairs = [("pointer", 1), ("device_type", 1), ("device_id", 0), ("extra", object())]
    assert described(pairs, dtype=dtype).__dlpack_device__() == (1, 0)


@pytest.mark.rule("M-43")
@pytest.mark.parametrize(
    ("device", "error", "text"),
    [
        (1, TypeError, "dl_device must be a tuple, list or None, got int"),
        ("12", TypeError, "dl_device must be a tuple, list or None"),
        ((2,), ValueError, "dl_device must be a pair"),
        ((2, 5, 0), ValueError, "dl_device must be a pair"),
        ((2, 5.0), TypeError, r"dl_device\[1\] must be an integer, got 5.0"),
        ((2, True), TypeError, r"dl_device\[1\] must be an integer"),
        ([1, 0], BufferError, r"on device \(2, 5\), dl_device asks for \(1, 0\)"),
    ],
)
def test_the_device_asked_for_is_checked_before_the_dtype(
    described: Described, device: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        described(dtype=DType.Bool).__dlpack__(dl_device=device, max_version=NO_VERSION)


@pytest.mark.rule("M-43", "G-17")
@pytest.mark.parametrize("dtype", [DType.Bool, DType.Float64, DType.E4M3])
def test_the_dtype_is_checked_before_the_version(described: Described, dtype: DType) -> None:
    with pytest.raises(BufferError, match=f"takes Float32 and Int32.*holds {dtype.name}"):
        described(dtype=dtype).__dlpack__(dl_device=(2, 5), max_version=NO_VERSION)


@pytest.mark.rule("M-42")
@pytest.mark.parametrize(
    ("version", "error", "text"),
    [
        (1, TypeError, "max_version must be a tuple, list or None, got int"),
        ((1,), ValueError, "max_version must be a pair"),
        ((1, -1), ValueError, "max_version must not be negative"),
        ([-1, 0], ValueError, "max_version must not be negative"),
        ((1.0, 0), TypeError, r"max_version\[0\] must be an integer"),
        ((True, 0), TypeError, r"max_version\[0\] must be an integer"),
    ],
)
def test_the_version_is_checked_last(
    described: Described, version: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        described().__dlpack__(dl_device=[2, 5], max_version=version)


@pytest.mark.rule("M-53")
def test_without_numpy_the_error_says_what_to_install(
    described: Described, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "numpy_module", lambda: None)
    with pytest.raises(ImportError, match="DLPack export needs NumPy: python -m pip install"):
        described().__dlpack__()
    with pytest.raises(ImportError, match="from_dlpack needs NumPy: python -m pip install"):
        sw.from_dlpack(described())


@pytest.mark.rule("M-52", "G-17")
@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__"])
def test_an_import_needs_both_methods(method: str) -> None:
    half = type("Half", (), {method: lambda self: (1, 0)})()
    with pytest.raises(TypeError, match=r"from_dlpack takes an object with.*Half has no __dlpack"):
        sw.from_dlpack(half)
    with pytest.raises(TypeError, match="int has no __dlpack__"):
        sw.from_dlpack(3)
