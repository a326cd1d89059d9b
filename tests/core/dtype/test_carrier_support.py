"""How carriers answer whether they can store a dtype."""

from collections.abc import Callable

import pytest

import strideweave as sw
from strideweave.testing import ArrayCarrier

D = sw.DType
STORED = (D.Float32, D.Int32, D.Bool)


class Shelf(sw.Carrier):
    """A definition-free carrier of one Float32 slot with the default dtype hook."""

    def size(self) -> int:
        return 1

    def dtype(self) -> sw.DType:
        return D.Float32


class WideShelf(Shelf):
    def _supports_storage_dtype(self, dtype: sw.DType) -> bool:
        return dtype is D.Float64 or super()._supports_storage_dtype(dtype)


def supported(carrier: sw.Carrier, extension: sw.DType) -> set[sw.DType]:
    candidates = (*D.registered()[:21], extension)
    return {dtype for dtype in candidates if carrier.supports_storage_dtype(dtype)}


@pytest.mark.rule("D-42", "D-5")
def test_answers_are_structural_and_by_identity(fresh_name: Callable[[], str]) -> None:
    extension = sw.SimpleDType(fresh_name(), bits=32, supertype=D.Floating)
    assert supported(ArrayCarrier(1, dtype=D.Int32), extension) == set(STORED)
    assert supported(Shelf(), extension) == {D.Float32}
    assert supported(WideShelf(), extension) == {D.Float32, D.Float64}


@pytest.mark.rule("D-42")
@pytest.mark.parametrize("make", [Shelf, lambda: ArrayCarrier(1, dtype=D.Int32)])
@pytest.mark.parametrize("value", ["Float32", None, float])
def test_a_query_needs_a_descriptor(make: Callable[[], sw.Carrier], value: object) -> None:
    with pytest.raises(TypeError, match="dtype must be a DType, got"):
        make().supports_storage_dtype(value)  # type: ignore[arg-type]  # the fault under test


@pytest.mark.rule("D-42")
def test_a_query_changes_nothing_and_ignores_release() -> None:
    carrier = ArrayCarrier(0, dtype=D.Float32, mutable=False)
    version = carrier.version
    assert carrier.supports_storage_dtype(D.Bool)
    carrier.release()
    assert carrier.supports_storage_dtype(D.Bool)
    assert not carrier.supports_storage_dtype(D.Floating)
    assert carrier.version == version
    assert carrier.dtype() is D.Float32


@pytest.mark.rule("D-43")
@pytest.mark.parametrize("dtype", ["Float32", D.Any, D.Float64, D.MXFP4])
def test_a_definition_backed_class_refuses_other_dtypes_with_a_type_error(dtype: object) -> None:
    with pytest.raises(TypeError, match="ArrayCarrier"):
        ArrayCarrier(1, dtype=dtype)  # type: ignore[arg-type]  # the fault under test
