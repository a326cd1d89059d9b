"""Construction, slots and factories of Generic."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from strideweave import DType, Generic

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


def slots(carrier: Any) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("C-47", "50/E-9")
def test_generic_owns_its_values() -> None:
    source = [1.0, 2.0]
    carrier = Generic(source, dtype=FLOAT)
    source[0] = 9.0
    assert slots(carrier) == [1.0, 2.0]
    assert slots(Generic(iter([1, 2]), dtype=INT)) == [1, 2]
    assert carrier.supports_storage_dtype(BOOL) and not carrier.supports_storage_dtype(
        DType.Float64
    )


@pytest.mark.rule("C-47", "D-43", "50/E-25")
def test_the_dtype_is_checked_before_the_values() -> None:
    consumed = []

    def values() -> Any:
        consumed.append(True)
        yield 1.0

    with pytest.raises(ValueError, match=r"Generic cannot store .*Any.*DType.Float32"):
        Generic(values(), dtype=DType.Any)
    with pytest.raises(TypeError, match="Generic dtype must be a DType"):
        Generic(values(), dtype="Float32")  # type: ignore[arg-type]  # refused at run time
    assert not consumed
    assert Generic([1]).dtype() is FLOAT


@pytest.mark.rule("C-47")
def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match=r"values must be iterable, got 3 \(int\)"):
        Generic(3)  # type: ignore[arg-type]  # refused at run time
    with pytest.raises(TypeError, match="positional"):
        Generic([1.0], True)  # type: ignore[call-arg]  # refused at run time


@pytest.mark.rule("C-47")
@pytest.mark.parametrize(("given", "mutable"), [(1, True), ([], False), ("x", True), (None, False)])
def test_mutable_is_coerced(given: Any, mutable: bool) -> None:
    assert Generic([1.0], mutable=given).is_mutable() is mutable


NORMALIZED: list[tuple[DType, Any, Any]] = [
    (FLOAT, 0.1, 0.10000000149011612),
    (FLOAT, True, 1.0),
    (FLOAT, 1e300, math.inf),
    (FLOAT, -1e300, -math.inf),
    (FLOAT, Fraction(1, 2), 0.5),
    (FLOAT, np.float64(0.1), 0.10000000149011612),
    (FLOAT, 2**24 + 1, 2.0**24),
    (INT, np.int64(-7), -7),
    (INT, -(2**31), -(2**31)),
    (BOOL, True, True),
]


@pytest.mark.rule("C-21")
@pytest.mark.parametrize(("dtype", "given", "stored"), NORMALIZED)
def test_values_are_normalized(dtype: DType, given: Any, stored: Any) -> None:
    carrier = Generic([given], dtype=dtype)
    written = carrier.allocate_like(1)
    written[0] = given
    for value in (carrier[0], written[0]):
        assert value == stored and type(value) is type(stored)


REFUSED: list[tuple[DType, Any, type[Exception], str]] = [
    (FLOAT, "1", TypeError, "real number"),
    (FLOAT, None, TypeError, "real number"),
    (FLOAT, 10**400, OverflowError, "too large"),
    (INT, 1.0, TypeError, "integer"),
    (INT, True, TypeError, "other than bool"),
    (INT, 2**31, OverflowError, "2147483648"),
    (BOOL, 1, TypeError, "True or False"),
    (BOOL, np.bool_(True), TypeError, "True or False"),
]


@pytest.mark.rule("C-14", "C-21", "C-28", "C-32")
@pytest.mark.parametrize(("dtype", "given", "error", "text"), REFUSED)
def test_other_values_are_refused(
    dtype: DType, given: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        Generic([given], dtype=dtype)
    carrier = Generic([], dtype=dtype).allocate_like(1)
    before = carrier[0]
    for write in (carrier.__setitem__, carrier.set_value):
        with pytest.raises(error, match=text):
            write(0, given)
    assert carrier[0] == before and carrier.version == 0


@pytest.mark.rule("C-13", "C-14", "C-15")
def test_checks_of_slot_access_come_in_order() -> None:
    carrier, fixed = Generic([1.0, 2.0]), Generic([1.0], mutable=False)
    assert carrier[True] == 2.0 and carrier.get_value(np.int8(1)) == 2.0
    reads: list[Callable[[Any], Any]] = [carrier.__getitem__, carrier.get_value]
    for read in reads:
        for index in (-1, 2, 10**30):
            with pytest.raises(IndexError, match="out of range"):
                read(index)
        with pytest.raises(TypeError, match="must be an integer"):
            read(0.0)
    writes: list[Callable[..., None]] = [fixed.__setitem__, fixed.set_value]
    for write in writes:
        with pytest.raises(TypeError, match="must be an integer"):
            write("0", 1.0)
        with pytest.raises(RuntimeError, match="not mutable"):
            write(9, "no number")
    for write in (carrier.__setitem__, carrier.set_value):
        with pytest.raises(IndexError, match="out of range"):
            write(2, "no number")
    carrier.release()
    faults: list[tuple[Any, type[Exception]]] = [(9, RuntimeError), ("0", TypeError)]
    for index, error in faults:
        with pytest.raises(error):
            carrier[index]
        with pytest.raises(error):
            carrier[index] = 1.0


@pytest.mark.rule("C-26", "C-28")
def test_every_write_is_one_version() -> None:
    carrier = Generic([1.0, 2.0])
    carrier[0] = 3.0
    carrier.set_value(1, 4)
    assert carrier.version == 2 and slots(carrier) == [3.0, 4.0]


@pytest.mark.rule("C-31", "C-35", "50/E-8")
def test_new_like_is_independent() -> None:
    prototype = Generic([1.0], mutable=False)
    prototype.release()
    made = prototype.new_like(iter([4, 5]), mutable=False, dtype=INT)
    assert type(made) is Generic and slots(made) == [4, 5] and made.dtype() is INT
    assert made.version == 0 and not made.is_mutable() and prototype.new_like([]).size() == 0
    with pytest.raises(TypeError, match="real number"):
        prototype.new_like([None])
    with pytest.raises(TypeError, match="iterable"):
        prototype.new_like(None)  # type: ignore[arg-type]  # refused at run time


@pytest.mark.rule("C-33")
def test_allocate_like_fills_with_zero() -> None:
    prototype = Generic([1.0])
    for dtype, zero in ((FLOAT, 0.0), (INT, 0), (BOOL, False)):
        made = prototype.allocate_like(2, dtype=dtype, empty=True)
        assert slots(made) == [zero, zero] and type(made[0]) is type(zero)
    for size, error in (("2", TypeError), (-1, ValueError), (2**62, OverflowError)):
        with pytest.raises(error, match=r"size|slots"):
            prototype.allocate_like(size)  # type: ignore[arg-type]  # refused at run time
    with pytest.raises(ValueError, match="cannot store"):
        prototype.allocate_like(1, dtype=DType.Float64)
