"""``pow``: IEEE special values, exact integers and gradients."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw

Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]

pytestmark = pytest.mark.rule("F-20")


@pytest.mark.rule("F-11", "O-14", "X-15")
def test_an_integer_number_keeps_int32(i: Make, values: Values) -> None:
    x = i([3, -2, 0])
    for exponent, expected in [(2, [9, 4, 0]), (0, [1, 1, 1])]:
        power = sw.pow(x, exponent)
        assert power.dtype() is sw.DType.Int32 and values(power) == expected
    for number, floats in [(2.0, [9, 4, 0]), (-1, [0.3333333432674408, -0.5, inf])]:
        power = sw.pow(x, number)
        assert power.dtype() is sw.DType.Float32 and values(power) == floats


@pytest.mark.rule("X-16")
def test_integer_powers_are_exact(i: Make, values: Values) -> None:
    x = i([1, 0, -1])
    assert values(sw.pow(x, 2**31 - 1)) == [1, 0, -1]
    assert values(sw.pow(x, 2**24 + 1)) == [1, 0, -1]
    assert values(sw.pow(x, 2**24)) == [1, 0, 1]
    assert values(sw.pow(i([-2]), 31)) == [-(2**31)]


@pytest.mark.rule("X-16")
@pytest.mark.parametrize(("base", "exponent"), [(2, 31), (-2, 32), (3, 2**31 - 1), (46341, 2)])
def test_integer_overflow(base: int, exponent: int, i: Make) -> None:
    with pytest.raises(OverflowError, match="out of int32 range"):
        sw.pow(i([base]), exponent)


@pytest.mark.rule("X-17")
def test_tensor_exponents_and_number_bases_give_float32(i: Make, f: Make, values: Values) -> None:
    power = sw.pow(i([3]), i([2]))
    assert power.dtype() is sw.DType.Float32 and values(power) == [9.0]
    assert values(sw.pow(2, i([3, -2, 0]))) == [8.0, 0.25, 1.0]
    assert values(sw.pow(2, f([3.0, -1.0]))) == [8.0, 0.5]


@pytest.mark.rule("X-18")
def test_special_values(f: Make, values: Values, same: Same) -> None:
    base = f([0.0, -0.0, -0.0, -8.0, nan, 1.0])
    exponent = f([-1.0, -1.0, -2.0, 1 / 3, 0.0, nan])
    assert same(values(sw.pow(base, exponent)), [inf, -inf, inf, nan, 1.0, 1.0])
    base = f([-1.0, -1.0, 2.0, 0.5, -inf, -3e38, 3e38, -2.0])
    exponent = f([inf, -inf, inf, inf, -inf, 3.0, 2.0, 1e30])
    assert same(values(sw.pow(base, exponent)), [1.0, 1.0, inf, 0.0, 0.0, -inf, inf, inf])


@pytest.mark.rule("X-19", "X-20")
def test_gradients(f: Make, vjp: Vjp, same: Same) -> None:
    base, exponent = vjp(sw.pow, f([2, 0, -2, 0, 0, 3]), f([3, 2, 2, 0, 1, -1]))
    assert same(base, [12.0, 0.0, -4.0, nan, 1.0, -0.1111111119389534])
    assert exponent[0] == pytest.approx(5.5451775, rel=1e-6)
    assert same(exponent[1:5], [nan, nan, -inf, nan])
    assert exponent[5] == pytest.approx(0.36620411, rel=1e-6)


@pytest.mark.rule("F-11", "F-14")
def test_gradients_with_numbers(f: Make, i: Make, vjp: Vjp, same: Same) -> None:
    assert same(vjp(sw.pow, f([0.0, 3.0]), 2)[0], [0.0, 6.0])
    assert same(vjp(sw.pow, f([0.0]), 0)[0], [nan])
    (gradient,) = vjp(sw.pow, 2, f([3.0]))
    assert gradient[0] == pytest.approx(5.5451775, rel=1e-6)
    assert same(vjp(sw.pow, -2, f([3.0]))[0], [nan])
    assert same(vjp(sw.pow, 0, f([2.0, 0.0]))[0], [nan, -inf])
    assert vjp(sw.pow, f([3.0]), i([2])) == [[6.0], None]
    base, exponent = vjp(sw.pow, i([2]), f([3.0]))
    assert base is None and exponent[0] == pytest.approx(5.5451775, rel=1e-6)
