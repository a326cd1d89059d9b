"""The storage dtypes that the shipped carriers accept."""

from typing import Any

import pytest

import strideweave as sw

D = sw.DType
STORED = (D.Float32, D.Int32, D.Bool)
REFUSED = [entry for entry in D.registered()[:21] if entry not in STORED]

carriers = pytest.mark.parametrize(
    ("carrier_class", "content"), [(sw.Generic, [1.0]), (sw.CPU, 1)], ids=["Generic", "CPU"]
)


@pytest.mark.rule("D-41", "D-42")
@carriers
def test_exactly_three_dtypes_are_stored(carrier_class: Any, content: object) -> None:
    carrier = carrier_class(content)
    assert carrier.dtype() is D.Float32, "the constructor default"
    supported = [entry for entry in D.registered() if carrier.supports_storage_dtype(entry)]
    assert supported == list(STORED)
    with pytest.raises(TypeError, match="must be a DType, got 'x'"):
        carrier.supports_storage_dtype("x")


@pytest.mark.rule("D-41", "D-43")
@carriers
@pytest.mark.parametrize("dtype", REFUSED, ids=lambda dtype: dtype.name)
def test_other_descriptors_are_refused_before_storage_exists(
    carrier_class: Any, content: object, dtype: sw.DType
) -> None:
    expected = r"DType\.Float32, DType\.Int32, DType\.Bool"
    with pytest.raises(ValueError, match=rf"{carrier_class.__name__} .*{expected}"):
        carrier_class(content, dtype=dtype)


@pytest.mark.rule("D-43")
@carriers
def test_other_objects_are_a_type_error(carrier_class: Any, content: object) -> None:
    with pytest.raises(
        TypeError, match=rf"{carrier_class.__name__} dtype must be a DType, got 'x'"
    ):
        carrier_class(content, dtype="x")


@pytest.mark.rule("C-16", "D-43")
@carriers
@pytest.mark.parametrize("dtype", REFUSED, ids=lambda dtype: dtype.name)
def test_factories_refuse_what_the_carrier_does_not_report(
    carrier_class: Any, content: object, dtype: sw.DType
) -> None:
    carrier = carrier_class(content)
    expected = rf"{carrier_class.__name__} .*DType\.Float32, DType\.Int32, DType\.Bool"
    assert not carrier.supports_storage_dtype(dtype)
    with pytest.raises(ValueError, match=expected):
        carrier.new_like([1.0], dtype=dtype)
    with pytest.raises(ValueError, match=expected):
        carrier.allocate_like(1, dtype=dtype)


@pytest.mark.rule("C-16")
@carriers
@pytest.mark.parametrize("dtype", STORED, ids=lambda dtype: dtype.name)
def test_factories_accept_what_the_carrier_reports(
    carrier_class: Any, content: object, dtype: sw.DType
) -> None:
    carrier = carrier_class(content)
    assert carrier.supports_storage_dtype(dtype)
    assert carrier.new_like([True] if dtype is D.Bool else [1], dtype=dtype).dtype() is dtype
    assert carrier.allocate_like(1, dtype=dtype).dtype() is dtype
    assert carrier_class([] if isinstance(content, list) else 0, dtype=dtype).dtype() is dtype
