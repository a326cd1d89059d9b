"""Special values in every position of long and strided arrays, where vector loops differ."""

import math
import random
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, DType, Generic, Layout, Tensor

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
SPECIAL = (0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38, 88.5, -104.0)
LENGTH = 5003  # beyond every block size, and no multiple of a vector
LAYOUTS = {"whole": (f"{LENGTH}:1", 0), "strided": (f"{LENGTH}:3", 2)}

EXACT_UNARY = (
    *(sw.neg, sw.abs, sw.sign, sw.recip, sw.sqrt, sw.rsqrt, sw.floor, sw.ceil, sw.round),
    *(sw.relu, sw.leaky_relu),
)
LIBRARY_UNARY = (
    *(sw.exp, sw.exp2, sw.log, sw.log2, sw.sin, sw.cos, sw.erf, sw.tanh, sw.sigmoid),
    *(sw.gelu, sw.silu, sw.softplus, sw.elu),
)
EXACT_BINARY = (sw.add, sw.sub, sw.mul, sw.div, sw.maximum, sw.minimum, sw.rem)
PREDICATES = (sw.eq, sw.ne, sw.lt, sw.le)


def numbers(seed: int, choices: Sequence[Any] = SPECIAL) -> list[Any]:
    return random.Random(seed).choices(choices, k=3 * LENGTH)


def both(values: list[Any], family: str, dtype: DType = FLOAT) -> tuple[Tensor, Tensor]:
    text, offset = LAYOUTS[family]
    layout = Layout.parse(text)
    return (
        Tensor(CPU(0, dtype=dtype).new_like(values), offset, layout),
        Tensor(Generic(values, dtype=dtype), offset, layout),
    )


def bits(tensor: Tensor) -> list[bytes]:
    values = tensor.tolist()
    if tensor.dtype() is not FLOAT:
        return values  # type: ignore[no-any-return]  # ints and bools compare as they are
    return [b"nan" if math.isnan(value) else struct.pack("f", value) for value in values]


@pytest.mark.rule("F-15", "F-16", "G-13")
@pytest.mark.parametrize("family", LAYOUTS)
@pytest.mark.parametrize("function", EXACT_UNARY, ids=lambda function: function.__name__)
def test_exact_unary(function: Callable[[Tensor], Tensor], family: str) -> None:
    mine, reference = both(numbers(1), family)
    assert bits(function(mine)) == bits(function(reference))


@pytest.mark.rule("F-12", "F-15", "F-16", "G-13")
@pytest.mark.parametrize("family", LAYOUTS)
@pytest.mark.parametrize("function", LIBRARY_UNARY, ids=lambda function: function.__name__)
def test_library_unary(function: Callable[[Tensor], Tensor], family: str) -> None:
    mine, reference = both(numbers(2, (*SPECIAL, 0.3, -0.7, 5.5, -11.0)), family)
    pairs = zip(function(mine).tolist(), function(reference).tolist(), strict=True)
    for actual, expected in pairs:
        if math.isfinite(expected) and expected != 0:
            assert math.isclose(actual, expected, rel_tol=1e-5, abs_tol=1e-6)
        elif math.isnan(expected):
            assert math.isnan(actual)
        elif math.isinf(expected):
            assert actual == expected
        else:
            assert abs(actual) <= 1e-6


@pytest.mark.rule("F-18", "F-19", "F-21", "F-22", "F-23")
@pytest.mark.parametrize("family", LAYOUTS)
@pytest.mark.parametrize("function", [*EXACT_BINARY, *PREDICATES], ids=lambda f: f.__name__)
def test_exact_binary(function: Callable[[Tensor, Tensor], Tensor], family: str) -> None:
    mine, reference = both(numbers(3), family)
    other, other_reference = both(numbers(4), family)
    assert bits(function(mine, other)) == bits(function(reference, other_reference))


@pytest.mark.rule("F-11", "F-20", "G-13")
@pytest.mark.parametrize("family", LAYOUTS)
@pytest.mark.parametrize("exponent", (0.5, -0.5, 2, -1, 3.0, 0, 1, math.inf, math.nan))
def test_one_exponent_for_every_base(exponent: float, family: str) -> None:
    bases = (0.0, -0.0, 1.0, 4.0, -4.0, math.inf, -math.inf, math.nan)
    mine, reference = both(numbers(10, bases), family)
    expected = bits(sw.pow(reference, exponent))
    assert bits(sw.pow(mine, exponent)) == expected
    repeated = Tensor(CPU(0).new_like([exponent]), 0, Layout.parse(f"{LENGTH}:0"))
    assert bits(sw.pow(mine, repeated)) == expected


@pytest.mark.rule("F-24")
@pytest.mark.parametrize("condition_family", LAYOUTS)
@pytest.mark.parametrize("family", LAYOUTS)
def test_select(family: str, condition_family: str) -> None:
    condition, condition_reference = both(numbers(5, (True, False)), condition_family, BOOL)
    mine, reference = both(numbers(6), family)
    single = Tensor(mine.carrier, 0, Layout.parse("1:0"))
    single_reference = Tensor(reference.carrier, 0, Layout.parse("1:0"))
    for other, other_reference in ((single, single_reference), (mine, reference)):
        assert bits(sw.select(condition, mine, other)) == bits(
            sw.select(condition_reference, reference, other_reference)
        )
        assert bits(sw.select(condition, other, mine)) == bits(
            sw.select(condition_reference, other_reference, reference)
        )


@pytest.mark.rule("F-10", "F-23")
@pytest.mark.parametrize("family", LAYOUTS)
def test_integers(family: str) -> None:
    choices = (0, 1, -1, 2**31 - 1, -(2**31), 16777217, -16777217)
    mine, reference = both(numbers(7, choices), family, INT)
    other, other_reference = both(numbers(8, choices), family, INT)
    for function in (sw.eq, sw.lt, sw.le, sw.div):
        assert bits(function(mine, other)) == bits(function(reference, other_reference))
    floats, float_reference = both(numbers(9), family)
    for function in (*PREDICATES, sw.add):
        assert bits(function(mine, floats)) == bits(function(reference, float_reference))


@pytest.mark.rule("F-15")
def test_erf_is_close_everywhere_and_saturates() -> None:
    samples = [step / 1000 for step in range(-6000, 6001)]
    tensor = Tensor(CPU(0).new_like(samples), 0, Layout.parse(f"{len(samples)}:1"))
    for value, actual in zip(tensor.tolist(), sw.erf(tensor).tolist(), strict=True):
        assert math.isclose(actual, math.erf(value), rel_tol=1e-6)
        assert abs(value) < 4 or abs(actual) == 1.0
