"""Sorting with ties, NaNs and both zeros, where a faster sort could lose the order or the bits."""

import math
import random
import struct
from collections.abc import Sequence

import pytest

import strideweave as sw
from strideweave import CPU, Generic, Layout, Tensor

CHOICES = {
    "distinct": [step / 8 for step in range(-4000, 4000)],
    "ties": [1.0, 2.0, 3.0],
    "zeros": [0.0, -0.0, 1.0, -1.0],
    "negative zeros": [-0.0, -1.0],
    "special": [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 1.5],
    "mostly nan": [math.nan, math.nan, math.nan, 2.0],
}
LAYOUTS = {
    "one fiber": "1009:1",
    "strided": "(7,61):(200,3)",
    "nested": "((4,3),(5,6)):((1,4),(72,12))",
}


def both(choices: str, text: str) -> tuple[Tensor, Tensor]:
    layout = Layout.parse(text)
    values = random.Random(3).choices(CHOICES[choices], k=layout.cosize)
    return Tensor(CPU(0).new_like(values), 0, layout), Tensor(Generic(values), 0, layout)


def agree(made: tuple[Tensor, Tensor], expected: tuple[Tensor, Tensor]) -> bool:
    return (
        bits(made[0]) == bits(expected[0])
        and made[1].tolist() == expected[1].tolist()
        and [part.layout for part in made] == [part.layout for part in expected]
        and [part.carrier.size() for part in made] == [part.layout.cosize for part in expected]
    )


def bits(tensor: Tensor) -> list[bytes]:
    values: Sequence[float] = [tensor[ordinal] for ordinal in range(tensor.size())]
    return [b"nan" if math.isnan(value) else struct.pack("f", value) for value in values]


@pytest.mark.rule("F-45", "F-12", "G-13")
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("choices", CHOICES)
def test_sort(choices: str, text: str, descending: bool) -> None:
    mine, reference = both(choices, text)
    for axis in range(len(mine.layout)):
        made = sw.sort(mine, axis, descending)
        assert agree(made, sw.sort(reference, axis, descending))


@pytest.mark.rule("F-45", "F-12", "G-13")
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("choices", CHOICES)
def test_topk(choices: str, text: str, largest: bool) -> None:
    mine, reference = both(choices, text)
    for axis in range(len(mine.layout)):
        extent = mine.layout.shape[axis].size
        for k in sorted({1, 2, min(5, extent), extent // 2, extent - 1, extent}):
            made = sw.topk(mine, k, axis, largest)
            assert agree(made, sw.topk(reference, k, axis, largest))


@pytest.mark.rule("F-45")
def test_a_fiber_may_have_ties_where_another_one_has_nans() -> None:
    # Both leave as many values at least as large as the third one.
    values = [math.nan, 5.0, 5.0, 1.0, 5.0, 5.0, 5.0, 1.0, 9.0, 8.0, 7.0, 6.0]
    mine = Tensor(CPU(0).new_like(values), 0, Layout.parse("(4,3):(1,4)"))
    assert sw.topk(mine, 2, 0).indices.tolist() == [[0, 0, 0], [1, 1, 1]]
    assert sw.topk(mine, 3, 0, largest=False).indices.tolist() == [[3, 3, 3], [1, 0, 2], [2, 1, 1]]


@pytest.mark.rule("F-45", "F-14")
@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_gradients(text: str) -> None:
    for axis in range(len(Layout.parse(text))):
        found = []
        for tensor in both("special", text):
            values = sw.topk(tensor, 3, axis).values
            seeds = [0.25 * step for step in range(values.size())]
            seed = Tensor(tensor.carrier.new_like(seeds), 0, values.layout)
            (gradient,) = sw.grad(values, [tensor], seed)
            assert gradient is not None
            found.append(gradient.tolist())
        assert found[0] == found[1]
