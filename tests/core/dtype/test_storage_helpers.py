"""The helpers by which carriers accept storage dtypes."""

from collections.abc import Callable

import pytest

import strideweave as sw
from strideweave.carriers.dtype import accepts_storage_dtype, storage_zero, validate_storage_dtype

D = sw.DType
STORED = (D.Float32, D.Int32, D.Bool)


class ClaimsEquality:
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(D.Float32)


class Twin(sw.SimpleDType, abstract=False):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = sw.SimpleDType.__hash__


@pytest.mark.parametrize("dtype", STORED)
def test_an_accepted_dtype_is_returned_unchanged(dtype: sw.DType) -> None:
    assert validate_storage_dtype(dtype, carrier="Demo", accepted=STORED) is dtype
    assert accepts_storage_dtype(dtype, STORED)


def test_other_objects_are_a_type_error_naming_the_carrier() -> None:
    with pytest.raises(TypeError, match="Demo dtype must be a DType, got 'x' of type str"):
        validate_storage_dtype("x", carrier="Demo", accepted=(D.Float32,))  # type: ignore[arg-type]  # the fault


def test_a_compound_dtype_is_explained_by_planes() -> None:
    with pytest.raises(
        ValueError, match=r"Demo cannot store .*'MXFP4'.* one carrier holds one plane"
    ):
        validate_storage_dtype(D.MXFP4, carrier="Demo", accepted=STORED)


@pytest.mark.parametrize("dtype", [D.Float64, D.Any, D.E4M3, D.Floating])
def test_another_dtype_is_refused_with_the_accepted_names_in_order(dtype: sw.DType) -> None:
    expected = r"DType\.Float32, DType\.Int32, DType\.Bool$"
    with pytest.raises(ValueError, match=expected):
        validate_storage_dtype(dtype, carrier="Demo", accepted=STORED)
    reverse = r"DType\.Bool, DType\.Int32, DType\.Float32$"
    with pytest.raises(ValueError, match=reverse):
        validate_storage_dtype(dtype, carrier="Demo", accepted=STORED[::-1])


@pytest.mark.rule("D-40")
def test_claimed_equality_is_not_identity(fresh_name: Callable[[], str]) -> None:
    twin = Twin(fresh_name(), bits=32, supertype=D.Floating)
    assert twin == D.Float32
    assert not accepts_storage_dtype(twin, STORED)
    assert not accepts_storage_dtype(ClaimsEquality(), STORED)
    with pytest.raises(ValueError, match="it accepts"):
        validate_storage_dtype(twin, carrier="Demo", accepted=STORED)
    with pytest.raises(TypeError, match="must be a DType"):
        validate_storage_dtype(ClaimsEquality(), carrier="Demo", accepted=STORED)  # type: ignore[arg-type]  # the fault
    assert storage_zero(twin) is None


@pytest.mark.parametrize("value", [None, "Float32", 3, [], float, D.Float64])
def test_accepts_storage_dtype_never_raises(value: object) -> None:
    assert accepts_storage_dtype(value, STORED) is False


@pytest.mark.rule("D-26")
def test_storage_zero() -> None:
    zeros = [storage_zero(dtype) for dtype in (*STORED, D.Any, D.Float64)]
    assert zeros == [0.0, 0, False, None, None]
    assert [type(zero) for zero in zeros[:3]] == [float, int, bool]
    assert storage_zero("Float32") is None
