"""Unary operations and activations: values at special points, gradients there, dtypes."""

import math
from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw

Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]

POINTS = [0.0, -0.0, inf, -inf, nan]
SPECIAL = {
    "neg": [-0.0, 0.0, -inf, inf, nan],
    "abs": [0.0, 0.0, inf, inf, nan],
    "recip": [inf, -inf, 0.0, -0.0, nan],
    "sqrt": [0.0, -0.0, inf, nan, nan],
    "rsqrt": [inf, -inf, 0.0, nan, nan],
    "exp": [1.0, 1.0, inf, 0.0, nan],
    "exp2": [1.0, 1.0, inf, 0.0, nan],
    "log": [-inf, -inf, inf, nan, nan],
    "log2": [-inf, -inf, inf, nan, nan],
    "sin": [0.0, -0.0, nan, nan, nan],
    "cos": [1.0, 1.0, nan, nan, nan],
    "erf": [0.0, -0.0, 1.0, -1.0, nan],
    "tanh": [0.0, -0.0, 1.0, -1.0, nan],
    "floor": [0.0, -0.0, inf, -inf, nan],
    "ceil": [0.0, -0.0, inf, -inf, nan],
    "round": [0.0, -0.0, inf, -inf, nan],
    "sign": [0.0, 0.0, 1.0, -1.0, nan],
    "relu": [0.0, 0.0, inf, 0.0, 0.0],
    "sigmoid": [0.5, 0.5, 1.0, 0.0, nan],
    "gelu": [0.0, -0.0, inf, nan, nan],
    "silu": [0.0, -0.0, inf, nan, nan],
    "softplus": [0.6931471824645996, 0.6931471824645996, inf, 0.0, nan],
    "elu": [0.0, -0.0, inf, -1.0, nan],
    "leaky_relu": [0.0, -0.0, inf, -inf, nan],
}
CONVERTED = ["elu", "exp", "gelu", "leaky_relu", "sigmoid", "silu", "softplus", "tanh"]
FLOAT_ONLY = sorted({*SPECIAL} - {*CONVERTED, "relu"})


def function(name: str) -> Callable[..., sw.Tensor]:
    found: Callable[..., sw.Tensor] = getattr(sw, name)
    return found


@pytest.mark.rule("F-15", "F-16")
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name: str, f: Make, values: Values, same: Same) -> None:
    assert same(values(function(name)(f(POINTS))), SPECIAL[name])


@pytest.mark.rule("F-16")
@pytest.mark.parametrize("name", ["sqrt", "rsqrt", "log", "log2"])
def test_negative_values_have_no_root_and_no_logarithm(name: str, f: Make, values: Values) -> None:
    assert all(map(math.isnan, values(function(name)(f([-1.0, -1e-40])))))


@pytest.mark.rule("F-16", "F-9")
def test_large_negative_values_of_gated_units_are_negative_zero(
    f: Make, values: Values, same: Same
) -> None:
    assert same(values(sw.gelu(f([-200.0]))), [-0.0])
    assert same(values(sw.silu(f([-200.0]))), [-0.0])


@pytest.mark.rule("F-15", "F-16", "X-26", "X-27", "X-28")
def test_rounding_and_signs(f: Make, values: Values, same: Same) -> None:
    assert same(values(sw.relu(f([-1.0, -0.0, nan, inf]))), [0.0, 0.0, 0.0, inf])
    slope = 0.009999999776482582
    assert same(values(sw.leaky_relu(f([-1.0, -0.0, nan]))), [-slope, -0.0, nan])
    assert same(values(sw.sign(f([-0.0, -2.0, nan]))), [0.0, -1.0, nan])
    rounded = values(sw.round(f([0.5, 1.5, 2.5, -0.5, -1.5])))
    assert same(rounded, [0.0, 2.0, 2.0, -0.0, -2.0])
    assert same(values(sw.ceil(f([-0.5]))), [-0.0])
    assert same(values(sw.floor(f([2.0**31 + 256, -0.5]))), [2.0**31 + 256, -1.0])


@pytest.mark.rule("F-9", "O-5")
def test_every_step_is_rounded_to_binary32(f: Make, values: Values) -> None:
    x = 0.30000001192092896
    root = 0.547722578048706  # sqrt(x) in binary32
    assert values(sw.sqrt(f([x]))) == [root]
    assert values(sw.rsqrt(f([x]))) == [1.825741767883300800]  # 1 / root in binary32
    assert values(sw.exp(f([89.0, -104.0, 1e-45]))) == [inf, 0.0, 1.0]
    assert values(sw.exp2(f([-149.0, 128.0]))) == [1.401298464324817e-45, inf]


@pytest.mark.rule("F-15", "F-10", "F-23", "X-26", "X-30")
def test_int32_is_converted_kept_or_refused(f: Make, i: Make, b: Make, values: Values) -> None:
    kept = sw.relu(i([-3, 0, 2]))
    assert kept.dtype() is sw.DType.Int32 and values(kept) == [0, 0, 2]
    for name in CONVERTED:
        converted = function(name)(i([0, 16777217]))
        assert converted.dtype() is sw.DType.Float32
        assert converted.autograd_ctx is None
        assert values(converted) == values(function(name)(f([0.0, 16777216.0])))
    assert values(sw.exp(i([0]))) == [1.0]


@pytest.mark.rule("F-5", "F-15", "O-66")
@pytest.mark.parametrize("name", FLOAT_ONLY)
def test_float_only_operations_refuse_int32(name: str, i: Make) -> None:
    with pytest.raises(TypeError, match="Int32"):
        function(name)(i([1]))


@pytest.mark.rule("F-5", "O-66", "O-12")
@pytest.mark.parametrize("name", SPECIAL)
def test_bool_never_enters_arithmetic(name: str, b: Make) -> None:
    with pytest.raises(NotImplementedError, match="Bool"):
        function(name)(b([True]))


@pytest.mark.rule("F-15")
@pytest.mark.parametrize("name", [*SPECIAL, "logical_not"])
def test_operand_must_be_a_tensor(name: str) -> None:
    with pytest.raises(TypeError, match="tensor must be a Tensor, got float"):
        function(name)(1.0)


GRADIENTS = {  # at +0, -0 and NaN, with g = 1
    "neg": [-1.0, -1.0, -1.0],
    "abs": [0.0, 0.0, nan],
    "recip": [-inf, -inf, nan],
    "sqrt": [inf, -inf, nan],
    "rsqrt": [-inf, inf, nan],
    "log": [inf, -inf, nan],
    "relu": [0.0, 0.0, 0.0],
    "elu": [1.0, 1.0, nan],
    "leaky_relu": [1.0, 1.0, 0.009999999776482582],
    "floor": [0.0, 0.0, 0.0],
    "sign": [0.0, 0.0, 0.0],
    "tanh": [1.0, 1.0, nan],
    "sigmoid": [0.25, 0.25, nan],
    "softplus": [0.5, 0.5, nan],
    "exp": [1.0, 1.0, nan],
}


@pytest.mark.rule("F-17", "F-15", "F-14")
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_at_zeros_and_nan(name: str, f: Make, vjp: Vjp, same: Same) -> None:
    (gradient,) = vjp(function(name), f([0.0, -0.0, nan]))
    assert same(gradient, GRADIENTS[name])


@pytest.mark.rule("F-17")
@pytest.mark.parametrize("name", ["gelu", "silu"])
def test_gated_units_have_no_slope_at_infinity(name: str, f: Make, vjp: Vjp) -> None:
    (gradient,) = vjp(function(name), f([inf, -inf]))
    assert all(map(math.isnan, gradient))


@pytest.mark.rule("F-17")
@pytest.mark.parametrize("name", ["floor", "ceil", "round", "sign"])
def test_steps_have_the_product_with_zero(name: str, f: Make, vjp: Vjp, same: Same) -> None:
    (gradient,) = vjp(function(name), f([1.5, 1.5, 1.5]), g=[-2.0, inf, 3.0])
    assert same(gradient, [-0.0, nan, 0.0])


@pytest.mark.rule("F-14", "F-17", "X-27", "X-29", "X-69")
def test_worked_gradients(f: Make, vjp: Vjp, same: Same) -> None:
    assert same(vjp(sw.sqrt, f([0.0, -0.0, 4.0, -1.0]))[0], [inf, -inf, 0.25, nan])
    assert same(vjp(sw.rsqrt, f([0.0, -0.0, 4.0]))[0], [-inf, inf, -0.0625])
    assert same(vjp(sw.abs, f([nan]))[0], [nan])
    assert same(vjp(sw.relu, f([-1.0]), g=[inf])[0], [0.0])
    slope = 0.009999999776482582
    assert same(vjp(sw.leaky_relu, f([-1.0, -0.0, nan]))[0], [slope, 1.0, slope])
