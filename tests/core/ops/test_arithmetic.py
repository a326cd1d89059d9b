"""Binary arithmetic: rounding, checked integers, weak scalars, gradients."""

from collections.abc import Callable
from fractions import Fraction
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]


@pytest.mark.rule("F-9", "F-10", "F-18", "X-8", "X-9", "X-10")
def test_rounding(f: Make, i: Make, values: Values) -> None:
    assert sw.add(f([0.1]), f([0.2]))[0] == 0.30000001192092896
    assert sw.div(f([1.0]), f([3.0]))[0] == 0.3333333432674408
    assert values(sw.add(f([16777216]), f([1]))) == [16777216.0]
    assert values(sw.add(i([16777217]), f([0]))) == [16777216.0]
    assert values(sw.mul(f([3e38]), f([10]))) == [inf]
    assert values(sw.mul(f([1e-40]), 0.5)) == [4.99997305055738e-41]


@pytest.mark.rule("F-10", "O-5", "X-11")
@pytest.mark.parametrize(
    ("name", "lhs", "rhs"),
    [
        ("add", 2**31 - 1, 1),
        ("sub", -(2**31), 1),
        ("mul", 65536, 65536),
        ("elementwise_mul", 65536, 65536),
        ("mul", -(2**31), -1),
    ],
)
def test_int32_overflow_is_refused(name: str, lhs: int, rhs: int, i: Make) -> None:
    x, y = i([1, lhs]), i([1, rhs])
    with pytest.raises(OverflowError, match=f"{name}: the exact result .* out of int32 range"):
        getattr(sw, name)(x, y)
    assert x.version == 0 and [x[0], x[1]] == [1, lhs]
    if name == "mul":
        with pytest.raises(OverflowError, match="out of int32 range"):
            sw.mul(x, rhs)


@pytest.mark.rule("F-18", "F-19", "X-12")
def test_division(f: Make, i: Make, values: Values, same: Same) -> None:
    assert values(sw.div(i([7]), i([2]))) == [3.5]
    assert values(sw.div(i([1]), i([0]))) == [inf]
    quotients = sw.div(f([1, 1, -1, 0, inf]), f([0.0, -0.0, 0.0, 0.0, inf]))
    assert same(values(quotients), [inf, -inf, -inf, nan, nan])


@pytest.mark.rule("F-19")
def test_signed_zero_sums(f: Make, values: Values, same: Same) -> None:
    sums = sw.add(f([0.0, -0.0, inf]), f([-0.0, -0.0, -inf]))
    assert same(values(sums), [0.0, -0.0, nan])
    assert same(values(sw.sub(f([2.5]), f([2.5]))), [0.0])


@pytest.mark.rule("F-11", "O-13", "F-18", "X-13", "X-14")
def test_weak_scalars(f: Make, i: Make, values: Values) -> None:
    x = i([3, -2, 0])
    assert sw.mul(x, 2).dtype() is sw.DType.Int32 and values(sw.mul(x, 2)) == [6, -4, 0]
    assert sw.mul(2, x).dtype() is sw.DType.Int32
    numbers: list[tuple[Any, list[int]]] = [
        (2.0, [6, -4, 0]),
        (True, [3, -2, 0]),
        (Fraction(4, 2), [6, -4, 0]),
    ]
    for number, expected in numbers:
        product = sw.mul(x, number)
        assert product.dtype() is sw.DType.Float32 and values(product) == expected
    with pytest.raises(OverflowError):
        sw.mul(i([1]), 2**31)
    assert values(sw.mul(f([3]), 2**31)) == [6442450944.0]
    assert values(sw.mul(f([3]), 1e300)) == [inf]
    with pytest.raises(OverflowError, match="too large for a binary64"):
        sw.mul(f([3]), 10**400)


@pytest.mark.rule("F-11", "F-18", "O-68")
@pytest.mark.parametrize("wrong", ["2", None, 2j, object()])
def test_other_scalars_are_refused(wrong: Any, f: Make) -> None:
    with pytest.raises(TypeError, match="real Python number"):
        sw.mul(f([1.0]), wrong)
    with pytest.raises(TypeError, match="real Python number"):
        sw.mul(wrong, f([1.0]))


@pytest.mark.rule("F-18", "O-68")
def test_a_tensor_is_needed(f: Make) -> None:
    with pytest.raises(TypeError, match="mul: lhs or rhs must be a Tensor, got int and float"):
        sw.mul(2, 3.0)
    with pytest.raises(TypeError, match="pow: base or exponent must be a Tensor"):
        sw.pow(2, 3)
    for name in ("add", "sub", "div", "elementwise_mul", "maximum", "minimum", "rem"):
        with pytest.raises(TypeError, match="lhs must be a Tensor, got int"):
            getattr(sw, name)(1, f([1.0]))
        with pytest.raises(TypeError, match="rhs must be a Tensor, got int"):
            getattr(sw, name)(f([1.0]), 1)


@pytest.mark.rule("F-5", "F-18")
def test_dtypes(f: Make, i: Make, b: Make) -> None:
    for name in ("maximum", "minimum", "rem"):
        for pair in ((i([1]), i([1])), (f([1]), i([1])), (i([1]), f([1]))):
            with pytest.raises(TypeError, match="Int32"):
                getattr(sw, name)(*pair)
    for name in ("add", "mul", "div", "pow", "maximum"):
        with pytest.raises(NotImplementedError, match="Bool"):
            getattr(sw, name)(b([True]), f([1.0]))


@pytest.mark.rule("F-22", "X-22", "X-23")
def test_remainder(f: Make, values: Values, same: Same, vjp: Vjp) -> None:
    lhs, rhs = [5.5, -5.5, 5.5, -4, 1, inf, 5.5], [2, 2, -2, 2, 0, 2, inf]
    remainders = values(sw.rem(f(lhs), f(rhs)))
    assert same(remainders, [1.5, -1.5, 1.5, -0.0, nan, nan, 5.5])
    assert vjp(sw.rem, f([5.5, -5.5]), f([2, 2])) == [[1, 1], [-2, 2]]


@pytest.mark.rule("F-18", "F-14", "X-21")
def test_division_gradient(f: Make, vjp: Vjp, same: Same) -> None:
    lhs, rhs = vjp(sw.div, f([1, 1, 0]), f([2, 0, 0]))
    assert same(lhs, [0.5, inf, inf]) and same(rhs, [-0.25, -inf, nan])


@pytest.mark.rule("F-14", "F-18", "A-16")
def test_gradients_beside_int32_partners(f: Make, i: Make, vjp: Vjp) -> None:
    big = 2**30  # its square leaves Int32
    assert vjp(sw.mul, f([3.0]), i([big])) == [[2.0**30], None]
    assert vjp(sw.div, i([big]), f([2.0])) == [None, [-(2.0**28)]]
    assert vjp(sw.div, f([2.0]), i([big])) == [[2.0**-30], None]
    assert vjp(sw.mul, f([3.0, 1.0]), 0.1, g=[1.0, 2.0]) == [
        [0.10000000149011612, 0.20000000298023224]
    ]


@pytest.mark.rule("F-18")
def test_mul_and_elementwise_mul_are_dispatched_by_their_names(f: Make) -> None:
    x = f([1.0])
    results: list[Any] = [sw.mul(x, x), sw.mul(2, x), sw.elementwise_mul(x, x)]
    dispatched = [result.autograd_ctx._operation_name for result in results]
    assert dispatched == ["mul", "mul", "elementwise_mul"]
    assert results[1].autograd_ctx.inputs() == (x,)
