"""Construction, slots and factories of CPU."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from strideweave import CPU, DType

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


def slots(carrier: Any) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("C-51", "50/E-1", "50/E-2", "50/E-3")
def test_owned_storage_is_zero_typed_and_versioned() -> None:
    carrier = CPU(2)
    assert slots(carrier) == [0.0, 0.0] and carrier.dtype() is FLOAT and carrier.pointer() > 0
    carrier[0] = 0.1
    assert carrier[0] == 0.10000000149011612 and carrier.version == 1
    carrier[0] = 1e300
    assert carrier[0] == math.inf
    for index in (-1, 2):
        with pytest.raises(IndexError, match="out of range"):
            carrier[index]
    with pytest.raises(TypeError, match="must be an integer"):
        carrier["0"]  # type: ignore[index]  # refused at run time
    assert carrier[True] == 0.0


@pytest.mark.rule("C-51")
@pytest.mark.parametrize(
    ("dtype", "width", "python_type"), [(FLOAT, 4, float), (INT, 4, int), (BOOL, 1, bool)]
)
def test_the_buffer_is_the_storage(dtype: DType, width: int, python_type: type) -> None:
    for empty in (False, True):
        carrier = CPU(3, dtype=dtype, empty=empty)
        buffer = carrier._host_array()
        assert buffer is not None and buffer.nbytes == 3 * width and buffer.flags.c_contiguous
        buffer[1] = 1
        assert carrier[1] == 1 and type(carrier[1]) is python_type


ORDER: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ("2", {"dtype": DType.Any, "pointer": 0}, TypeError, "size must be an integer"),
    (-1, {"dtype": "Float32", "pointer": 0}, TypeError, "dtype must be a DType"),
    (-1, {"dtype": DType.Float64, "pointer": 0}, ValueError, "cannot store"),
    (-1, {"pointer": "0"}, ValueError, "size must be at least 0"),
    (1, {"pointer": "0"}, TypeError, "pointer must be an int"),
    (1, {"pointer": True}, TypeError, "pointer must be an int"),
    (1, {"pointer": 0}, ValueError, "pointer must be a positive address"),
    (1, {"pointer": -8}, ValueError, "pointer must be a positive address"),
]


@pytest.mark.rule("C-50", "D-43")
@pytest.mark.parametrize(("size", "keywords", "error", "text"), ORDER)
def test_constructor_checks_come_in_order(
    size: Any, keywords: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        CPU(size, **keywords)


@pytest.mark.rule("C-33", "G-2")
def test_an_impossible_size_is_refused_before_allocation() -> None:
    for build in (CPU, CPU(1).allocate_like):
        with pytest.raises(OverflowError, match="exceed the address space"):
            build(2**62)
    assert CPU(np.int64(3)).size() == 3 and CPU(0).size() == 0


NORMALIZED: list[tuple[DType, Any, Any]] = [
    (FLOAT, True, 1.0),
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
    written = CPU(1, dtype=dtype)
    written[0] = given
    for carrier in (written, CPU(0, dtype=dtype).new_like([given])):
        assert carrier[0] == stored and type(carrier[0]) is type(stored)


REFUSED: list[tuple[DType, Any, type[Exception], str]] = [
    (FLOAT, "1", TypeError, "real number"),
    (FLOAT, 10**400, OverflowError, "too large"),
    (INT, 1.5, TypeError, "integer"),
    (INT, True, TypeError, "other than bool"),
    (INT, 2**31, OverflowError, "2147483648"),
    (INT, 2**80, OverflowError, str(2**80)),
    (BOOL, 1, TypeError, "True or False"),
    (BOOL, np.bool_(True), TypeError, "True or False"),
]


@pytest.mark.rule("C-14", "C-21", "C-28", "50/E-5", "50/E-6")
@pytest.mark.parametrize(("dtype", "given", "error", "text"), REFUSED)
def test_other_values_are_refused(
    dtype: DType, given: Any, error: type[Exception], text: str
) -> None:
    carrier = CPU(1, dtype=dtype)
    for write in (carrier.__setitem__, carrier.set_value):
        with pytest.raises(error, match=text):
            write(0, given)
    with pytest.raises(error, match=text):
        carrier.new_like([given])
    assert carrier[0] == 0 and carrier.version == 0


@pytest.mark.rule("C-13", "C-14", "C-15", "50/E-4")
def test_checks_of_slot_access_come_in_order() -> None:
    carrier, fixed = CPU(2), CPU(2, mutable=False)
    reads: list[Callable[[Any], Any]] = [carrier.__getitem__, carrier.get_value]
    for read in reads:
        with pytest.raises(IndexError, match="out of range"):
            read(10**30)
    for write in (fixed.__setitem__, fixed.set_value):
        with pytest.raises(RuntimeError, match="not mutable"):
            write(9, "no number")
    for write in (carrier.__setitem__, carrier.set_value):
        with pytest.raises(IndexError, match="out of range"):
            write(-1, "no number")
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier[9]
    with pytest.raises(RuntimeError, match="released"):
        carrier.set_value(9, 1.0)


@pytest.mark.rule("C-31", "C-32", "C-56", "50/E-8")
def test_new_like_fills_holes_with_zero() -> None:
    assert slots(CPU(1).new_like([1, None, 3])) == [1.0, 0.0, 3.0]
    assert slots(CPU(1).new_like([None, 7], dtype=INT)) == [0, 7]
    assert slots(CPU(1).new_like(iter([True, None]), dtype=BOOL)) == [True, False]
    made = CPU(1).new_like([1.0], mutable=False)
    assert made.version == 0 and not made.is_mutable()
    with pytest.raises(TypeError, match="values must be iterable"):
        CPU(1).new_like(None)  # type: ignore[arg-type]  # refused at run time
    with pytest.raises(ValueError, match="cannot store"):
        CPU(1).new_like([1.0], dtype=DType.Float64)


@pytest.mark.rule("C-31")
def test_an_error_while_iterating_propagates() -> None:
    def broken() -> Any:
        yield 1.0
        raise TypeError("from inside")

    with pytest.raises(TypeError, match="from inside"):
        CPU(1).new_like(broken())


@pytest.mark.rule("C-56")
def test_new_like_copies_arrays() -> None:
    source = np.arange(6, dtype=np.float32)
    made = CPU(0).new_like(source[::2])
    source[:] = 9
    assert slots(made) == [0.0, 2.0, 4.0]
    assert slots(CPU(0, dtype=INT).new_like(np.arange(3, dtype=np.int64))) == [0, 1, 2]


@pytest.mark.rule("C-33", "C-56")
def test_allocate_like() -> None:
    prototype = CPU(1, dtype=INT)
    made = prototype.allocate_like(2, mutable=False)
    assert slots(made) == [0, 0] and made.dtype() is INT and not made.is_mutable()
    assert prototype.allocate_like(3, dtype=BOOL, empty=True).size() == 3
    for size, error in (("2", TypeError), (-1, ValueError)):
        with pytest.raises(error, match="size"):
            prototype.allocate_like(size)  # type: ignore[arg-type]  # refused at run time
