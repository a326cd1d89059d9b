"""Operations whose order of rounding is fixed, and sums whose order is free."""

import math
import random
import struct
from fractions import Fraction

import pytest

import strideweave as sw
from strideweave import CPU, DType, Generic, Layout, Tensor
from strideweave.carriers.dtype import SimpleDType

FLOAT, INT = DType.Float32, DType.Int32
LAYOUTS = ("(7,301):(1,7)", "(7,301):(301,1)", "(7,(7,43)):(2,(602,14))", "(301,7):(0,1)")


def bits(tensor: Tensor) -> bytes:
    values = [value for row in _rows(tensor) for value in row]
    return struct.pack(f"{len(values)}f", *values)


def _rows(tensor: Tensor) -> list[list[float]]:
    values = tensor.tolist()
    return values if isinstance(values[0], list) else [values]


def both(text: str, seed: int) -> tuple[Tensor, Tensor]:
    layout = Layout.parse(text)
    source = random.Random(seed)
    values = [source.uniform(-1.25, 1.25) for _ in range(layout.cosize)]
    return Tensor(CPU(0).new_like(values), 0, layout), Tensor(Generic(values), 0, layout)


@pytest.mark.rule("F-12", "F-28", "O-6")
@pytest.mark.parametrize("text", LAYOUTS)
def test_products_round_in_fiber_order(text: str) -> None:
    mine, reference = both(text, 1)
    for name in ("a b -> a", "a b -> b", "a b -> 1"):
        assert bits(sw.reduce_prod(mine, name)) == bits(sw.reduce_prod(reference, name))


@pytest.mark.rule("F-12", "F-32")
@pytest.mark.parametrize("text", LAYOUTS)
def test_running_sums_round_in_order(text: str) -> None:
    mine, reference = both(text, 2)
    for dimension in (0, 1):
        assert bits(sw.cumsum(mine, dimension)) == bits(sw.cumsum(reference, dimension))


@pytest.mark.rule("F-12", "F-43")
def test_repeated_updates_add_up_in_order() -> None:
    mine, reference = both("(5,400):(1,5)", 3)
    indices = [random.Random(4).randrange(3) for _ in range(400)]
    layout = Layout.parse("400:1")
    base = [0.0, -0.0, 1.0] * 5
    target = Layout.parse("(5,3):(3,1)")
    made = sw.scatter_add(
        Tensor(CPU(0).new_like(base), 0, target),
        Tensor(CPU(0, dtype=INT).new_like(indices), 0, layout),
        mine,
        1,
    )
    expected = sw.scatter_add(
        Tensor(Generic(base), 0, target),
        Tensor(Generic(indices, dtype=INT), 0, layout),
        reference,
        1,
    )
    assert bits(made) == bits(expected)


@pytest.mark.rule("F-12", "F-28", "F-33")
@pytest.mark.parametrize("accumulator", [None, DType.Float64])
@pytest.mark.parametrize("text", LAYOUTS)
def test_sums_are_within_the_bound_of_class_a(text: str, accumulator: SimpleDType | None) -> None:
    mine, _ = both(text, 5)
    rows = mine.tolist()
    made = sw.reduce_sum(mine, "a b -> a", accumulator_dtype=accumulator).tolist()
    for row, actual in zip(rows, made, strict=True):
        exact = float(sum(map(Fraction, row)))
        scale = sum(map(abs, row))
        assert abs(actual - exact) <= 1e-6 + 1e-5 * scale


@pytest.mark.rule("F-12", "F-35")
@pytest.mark.parametrize("text", LAYOUTS)
def test_contractions_are_within_the_bound_of_class_a(text: str) -> None:
    lhs, rhs = both(text, 6)[0], both(text, 7)[0]
    left, right = lhs.tolist(), rhs.tolist()
    made = sw.matmul(lhs, rhs).tolist()
    for i in (0, len(left) - 1):
        for j in range(len(right)):
            terms = [Fraction(a) * Fraction(b) for a, b in zip(left[i], right[j], strict=True)]
            scale = float(sum(map(abs, terms)))
            assert abs(made[i][j] - float(sum(terms))) <= 1e-6 + 1e-5 * scale


@pytest.mark.rule("F-33", "F-35")
@pytest.mark.parametrize("text", ["(6,5):(1,6)", "(1200,1000):(1,1200)"])
def test_the_wide_accumulator_rounds_products_first(text: str) -> None:
    lhs = both(text, 8)[0]
    rhs = Tensor(lhs.carrier, 0, Layout.parse(f"(2,{text.split(',')[1].split(')')[0]}):(0,3)"))
    made = sw.matmul(lhs, rhs, accumulator_dtype=DType.Float64).tolist()
    left, right = lhs.tolist(), rhs.tolist()
    for i in (0, len(left) - 1):
        total = math.fsum(
            struct.unpack("f", struct.pack("f", a * b))[0]
            for a, b in zip(left[i], right[1], strict=True)
        )
        assert math.isclose(made[i][1], total, rel_tol=1e-7, abs_tol=1e-7)


@pytest.mark.rule("F-34")
def test_positive_zero_is_a_term_of_every_sum() -> None:
    zeros = Tensor(CPU(0).new_like([-0.0] * 60), 0, Layout.parse("(20,3):(1,20)"))
    ones = Tensor(CPU(0).new_like([1.0] * 60), 0, Layout.parse("(20,3):(1,20)"))
    results = (
        sw.reduce_sum(zeros, "a b -> a").tolist(),
        sw.reduce_sum(zeros, "a b -> a", accumulator_dtype=DType.Float64).tolist(),
        sw.cumsum(zeros, 1).tolist()[0],
        sw.matmul(zeros, ones).tolist()[0],
        sw.matmul(zeros, ones, accumulator_dtype=DType.Float64).tolist()[0],
    )
    assert all(math.copysign(1, value) == 1 for values in results for value in values)


@pytest.mark.rule("F-29", "F-31")
@pytest.mark.parametrize("text", LAYOUTS)
def test_extremes_of_long_fibers(text: str) -> None:
    layout = Layout.parse(text)
    source = random.Random(9)
    for choices in ((-0.0, 0.0, -1.0), (0.0, -0.0, 1.0), (-0.0,), (1.0, math.nan, 5.0), (2.0, 7.0)):
        values = source.choices(choices, k=layout.cosize)
        mine = Tensor(CPU(0).new_like(values), 0, layout)
        reference = Tensor(Generic(values), 0, layout)
        for command in ("a b -> a", "a b -> b"):
            for function in (sw.reduce_max, sw.reduce_min, sw.argmax, sw.argmin):
                made, expected = function(mine, command), function(reference, command)
                assert repr(made.tolist()) == repr(expected.tolist())
