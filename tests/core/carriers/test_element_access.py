"""Reading and writing single slots: order of checks, normalization, versions."""

from fractions import Fraction
from typing import Any

import pytest

from strideweave import Carrier, DType

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool


class Listed(Carrier):
    """A definition-free carrier over a list, as in the guide for definition-free classes."""

    def __init__(self, values: list[float], *, bumps: bool = False) -> None:
        super().__init__()
        self.values = values
        self.bumps = bumps

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> DType:
        return FLOAT32

    def get_value(self, index: Any) -> Any:
        return self.values[index]

    def _is_mutable(self) -> bool:
        return True

    def set_value(self, index: Any, value: Any) -> None:
        if value is None:
            raise ValueError("no value")
        self.values[index] = value
        if self.bumps:
            self._increment_version()


class Position:
    def __index__(self) -> int:
        return 1


@pytest.fixture(params=["definition-backed", "definition-free"])
def carrier(request: pytest.FixtureRequest, workshop: Any) -> Any:
    """Two slots holding 1.0 and 2.0, at version 0."""
    if request.param == "definition-free":
        return Listed([1.0, 2.0])
    return workshop.defined()(1, dtype=FLOAT32).new_like([1.0, 2.0])


@pytest.mark.rule("C-13")
def test_reading_accepts_any_index(carrier: Any) -> None:
    assert (carrier[0], carrier[True], carrier[Position()]) == (1.0, 2.0, 2.0)


@pytest.mark.rule("C-13", "50/E-3")
def test_reading_checks_type_then_release_then_range(carrier: Any) -> None:
    for bad in (-1, 2, 10**30, -(10**30)):
        with pytest.raises(IndexError, match=rf"slot {bad} is out of range .* 2 slots"):
            carrier[bad]
    with pytest.raises(TypeError, match=r"slot index must be an integer, got '0' \(str\)"):
        carrier["0"]
    carrier.release()
    with pytest.raises(TypeError, match="slot index"):
        carrier["0"]
    with pytest.raises(RuntimeError, match="released and cannot be read"):
        carrier[99]


@pytest.mark.rule("C-14", "C-26")
def test_writing_advances_the_version_once(carrier: Any) -> None:
    carrier[1] = 5.0
    assert (carrier[0], carrier[1], carrier.version) == (1.0, 5.0, 1)


@pytest.mark.rule("C-14", "C-28", "G-4")
def test_a_refused_write_changes_nothing(carrier: Any) -> None:
    token = carrier._claim_ownership()
    with pytest.raises(TypeError, match="slot index"):
        carrier["0"] = 9.0
    with pytest.raises(RuntimeError, match=r"owned.*not mutable"):
        carrier[99] = 9.0
    carrier._relinquish_ownership(token)
    with pytest.raises(IndexError, match="out of range"):
        carrier[2] = None
    assert (carrier[0], carrier[1], carrier.version) == (1.0, 2.0, 0)
    carrier.release()
    with pytest.raises(RuntimeError, match="released and cannot be written"):
        carrier[99] = 9.0


@pytest.mark.rule("C-14", "50/E-4")
def test_immutability_comes_before_the_range(workshop: Any) -> None:
    carrier = workshop.defined()(2, dtype=FLOAT32, mutable=False)
    with pytest.raises(RuntimeError, match="not mutable"):
        carrier[9] = 1.0
    with pytest.raises(RuntimeError, match="not mutable"):
        carrier.set_value(9, 1.0)
    assert carrier.version == 0


@pytest.mark.rule("C-15")
def test_the_methods_of_a_definition_backed_carrier_are_its_indexing(workshop: Any) -> None:
    carrier = workshop.defined()(2, dtype=INT32)
    carrier.set_value(1, 7)
    assert (carrier.get_value(1), carrier.version) == (7, 1)
    for bad in (-1, 2):
        with pytest.raises(IndexError):
            carrier.get_value(bad)
        with pytest.raises(IndexError):
            carrier.set_value(bad, 1)
    with pytest.raises(TypeError):
        carrier.get_value("0")
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier.get_value(0)
    with pytest.raises(RuntimeError, match="released"):
        carrier.set_value(0, 1)


@pytest.mark.rule("C-27", "50/E-23")
def test_a_definition_free_set_value_may_advance_the_version_itself() -> None:
    for bumps in (False, True):
        carrier = Listed([1.0, 2.0], bumps=bumps)
        carrier[0] = 3.0
        assert carrier.version == 1
    silent = Listed([1.0])
    silent.set_value(0, 2.0)
    assert (silent.version, silent[0]) == (0, 2.0)
    with pytest.raises(ValueError, match="no value"):
        silent[0] = None
    assert silent.version == 0


@pytest.mark.rule("C-27")
def test_supports_storage_dtype_of_a_definition_free_class_claims_its_own() -> None:
    carrier = Listed([1.0])
    assert carrier.supports_storage_dtype(FLOAT32) and not carrier.supports_storage_dtype(INT32)
    with pytest.raises(TypeError, match=r"Listed.*dtype must be a DType, got 'x'"):
        carrier.supports_storage_dtype("x")  # type: ignore[arg-type]


INFINITY = float("inf")


@pytest.mark.rule("C-21", "S-18")
@pytest.mark.parametrize(
    ("dtype", "value", "stored"),
    [
        (FLOAT32, 0.1, 0.10000000149011612),
        (FLOAT32, True, 1.0),
        (FLOAT32, 2**24 + 1, 16777216.0),
        (FLOAT32, Fraction(1, 3), 0.3333333432674408),
        (FLOAT32, 1e300, INFINITY),
        (FLOAT32, -1e300, -INFINITY),
        (FLOAT32, 3.4028235677973366e38, INFINITY),  # the midpoint to the next power rounds to even
        (FLOAT32, 3.4028234663852886e38, 3.4028234663852886e38),
        (FLOAT32, 1.401298464324817e-45, 1.401298464324817e-45),
        (FLOAT32, -0.0, -0.0),
        (INT32, -(2**31), -(2**31)),
        (INT32, 2**31 - 1, 2**31 - 1),
        (BOOL, True, True),
        (BOOL, False, False),
    ],
)
def test_values_are_normalized_for_the_dtype(
    workshop: Any, dtype: DType, value: object, stored: Any
) -> None:
    carrier = workshop.defined()(1, dtype=dtype)
    carrier[0] = value
    assert type(carrier[0]) is type(stored)
    assert str(carrier[0]) == str(stored)
    assert str(carrier.new_like([value])[0]) == str(stored)


@pytest.mark.rule("C-21")
@pytest.mark.parametrize(
    ("dtype", "value", "kind", "message"),
    [
        (FLOAT32, "1", TypeError, r"Float32 slot takes a real number, got '1' \(str\)"),
        (FLOAT32, None, TypeError, "Float32 slot"),
        (FLOAT32, 1j, TypeError, "Float32 slot"),
        (FLOAT32, 10**400, OverflowError, "too large"),
        (INT32, 1.0, TypeError, r"Int32 slot takes an integer other than bool, got 1.0 \(float\)"),
        (INT32, True, TypeError, "Int32 slot"),
        (INT32, 2**31, OverflowError, "got 2147483648"),
        (INT32, -(2**31) - 1, OverflowError, "got -2147483649"),
        (BOOL, 1, TypeError, r"Bool slot takes True or False, got 1 \(int\)"),
        (BOOL, 0.0, TypeError, "Bool slot"),
    ],
)
def test_values_the_dtype_does_not_take_change_nothing(
    workshop: Any, dtype: DType, value: object, kind: type[Exception], message: str
) -> None:
    carrier = workshop.defined()(1, dtype=dtype)
    before = carrier[0]
    with pytest.raises(kind, match=message):
        carrier[0] = value
    assert (carrier[0], carrier.version) == (before, 0)


@pytest.mark.rule("C-21")
def test_nan_is_stored(workshop: Any) -> None:
    carrier = workshop.defined()(1, dtype=FLOAT32)
    carrier[0] = float("nan")
    assert carrier[0] != carrier[0]


@pytest.mark.rule("C-21", "R-18")
@pytest.mark.parametrize(
    ("dtype", "held", "read"),
    [(FLOAT32, 0.1, 0.10000000149011612), (FLOAT32, 3, 3.0), (INT32, 4, 4)],
)
def test_what_a_provider_reads_is_normalized(
    workshop: Any, dtype: DType, held: object, read: object
) -> None:
    storage = workshop.storage(read=lambda carrier, index: held)
    value = workshop.defined(storage=storage)(1, dtype=dtype)[0]
    assert (type(value), value) == (type(read), read)


@pytest.mark.rule("C-21")
def test_values_of_other_dtypes_pass_unchanged(workshop: Any) -> None:
    storage = workshop.storage(supports_dtype=lambda carrier, dtype: dtype is DType.E4M3)
    carrier = workshop.defined(storage=storage)(1, dtype=DType.E4M3)
    value = object()
    carrier[0] = value
    assert carrier[0] is value and carrier.new_like([value])[0] is value
