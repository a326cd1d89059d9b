"""Contractions by description against NumPy's own, over many layouts, and long exact sums."""

import itertools
import random
from math import copysign
from typing import Any

import numpy
import pytest

import strideweave as sw
from strideweave import CPU, DType, Layout, Shape, Stride, Tensor

EXTENTS = {"a": 3, "b": 5, "c": 4, "d": 2}
COMMANDS = (
    "a b, c b -> a c",
    "a b, b c -> c a",
    "b a c, c b d -> d b a",
    "b a c, b d c -> b a d",
    "a b c, c b a -> b",
    "b c, b c -> c b",
    "a b c d, d c -> a b",
    "a b c d, b d -> a d c",
    "b, b a -> b a",
    "a (b c), c d -> (d a) b",
    "(d c) a, a b -> (b (c d))",
)


def strided(text: str, order: list[int], padding: int) -> Layout:
    """Place the modes of a reference; ``order`` gives the axis of each stride, fastest first."""
    names = [name for name in text if name.isalpha()]
    strides, step = [0] * len(names), 1
    for axis in order:
        strides[axis] = step
        step = step * EXTENTS[names[axis]] + padding
    return Layout(
        Shape(nested(text, EXTENTS)), Stride(nested(text, dict(zip(names, strides, strict=True))))
    )


def nested(text: str, values: dict[str, int]) -> list[Any]:
    levels: list[list[Any]] = [[]]
    for character in text:
        if character == "(":
            levels.append([])
        elif character == ")":
            inner = levels.pop()
            levels[-1].append(inner)
        elif character.isalpha():
            levels[-1].append(values[character])
    return levels[0]


def operand(text: str, order: list[int], padding: int, seed: int) -> tuple[Tensor, Any]:
    layout = strided(text, order, padding)
    numbers = random.Random(seed).choices(range(-6, 7), k=layout.cosize)
    tensor = Tensor(CPU(0).new_like([float(number) for number in numbers]), 0, layout)
    return tensor, tensor.numpy()


@pytest.mark.rule("F-37", "F-38", "G-13", "F-12")
@pytest.mark.parametrize("command", COMMANDS)
def test_values_in_every_order_of_strides(command: str) -> None:
    inputs, output = command.split(" -> ")
    lhs, rhs = inputs.split(", ")
    letters = ["".join(filter(str.isalpha, text)) for text in (lhs, rhs, output)]
    orders = [list(itertools.permutations(range(len(names)))) for names in letters[:2]]
    for position in range(max(map(len, orders))):
        first, second = (list(order[position % len(order)]) for order in orders)
        x, left = operand(lhs, first, position % 2, 1)
        y, right = operand(rhs, second, position % 3, 2)
        expected = numpy.einsum(f"{letters[0]},{letters[1]}->{letters[2]}", left, right)
        made = sw.einsum(x, y, command)
        # Sums of small integers are exact in any order.
        assert numpy.array_equal(made.numpy(), expected)
        assert made.carrier.size() == made.layout.size


@pytest.mark.rule("F-35", "F-37", "F-10")
def test_long_integer_sums_are_exact() -> None:
    source = random.Random(5)
    left, right = [], []
    for number in range(500):  # large products that cancel, and a small one that stays
        value, factor = source.randrange(-(2**31) + 1, 2**31), source.randrange(2**31)
        left += [value, -value, number]
        right += [factor, factor, -3]
    layout = Layout.parse("(1,1,1500):(0,0,1)")
    lhs, rhs = (Tensor(CPU(0, dtype=DType.Int32).new_like(v), 0, layout) for v in (left, right))
    total = -3 * sum(range(500))
    assert sw.einsum(lhs, rhs, "b i k, b j k -> b i j").tolist() == [[[total]]]
    large = Tensor(lhs.carrier, 0, Layout.parse("(1,1,1):(0,0,1)"))
    with pytest.raises(OverflowError, match="out of int32 range"):
        sw.einsum(large, large, "b i k, b j k -> b i j")


@pytest.mark.rule("F-35", "F-37")
def test_batches_check_final_sums_only() -> None:
    def batch(values: list[int]) -> Tensor:
        carrier = CPU(0, dtype=DType.Int32).new_like(values)
        return Tensor(carrier, 0, Layout.parse("(2,1,3):(3,3,1)"))

    high = 2**31 - 1
    lhs, rhs = batch([high, high, 5, high, high, 7]), batch([high, -high, 1, -high, high, 2])
    assert sw.einsum(lhs, rhs, "b i k, b j k -> b i j").tolist() == [[[5]], [[14]]]


@pytest.mark.rule("F-34", "F-37")
def test_positive_zero_is_a_term_of_every_sum() -> None:
    zeros = Tensor(CPU(0).new_like([-0.0] * 24), 0, Layout.parse("(4,2,3):(1,4,8)"))
    ones = Tensor(CPU(0).new_like([1.0] * 24), 0, Layout.parse("(4,2,3):(6,3,1)"))
    for command in ("b i k, b j k -> b i j", "b i k, b i k -> b i k", "b i k, b j k -> b k i j"):
        result = sw.einsum(zeros, ones, command)
        assert all(copysign(1, result[ordinal]) == 1 for ordinal in range(result.size()))


@pytest.mark.rule("F-37")
def test_nothing_of_the_size_of_all_symbols_is_built() -> None:
    # All symbols together have 2**30 coordinates.
    lhs = Tensor(CPU(2**10), 0, Layout(Shape(2, 2**10, 2**9), Stride(0, 1, 0)))
    assert sw.einsum(lhs, lhs, "b i k, b j k -> b i j").size() == 2**21
