"""Int32 results are exact or refused, never wrapped."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import CPU, DType, Layout, Tensor

INT = DType.Int32
LOWEST, HIGHEST = -(2**31), 2**31 - 1
EXTREMES = st.sampled_from([LOWEST, LOWEST + 1, HIGHEST, -1, 0, 1, 2**16, -(2**16), 46341])
INTEGERS = EXTREMES | st.integers(LOWEST, HIGHEST)


def integers(values: list[int], layout: str) -> Tensor:
    return Tensor(CPU(0, dtype=INT).new_like(values), 0, Layout.parse(layout))


def outcome(compute: Callable[[], Any]) -> Any:
    try:
        return compute()
    except OverflowError as error:
        assert "out of int32 range" in str(error)
        return OverflowError


def checked(value: int) -> Any:
    return value if LOWEST <= value <= HIGHEST else OverflowError


@pytest.mark.rule("F-10", "O-5")
@given(INTEGERS, INTEGERS)
def test_arithmetic(lhs: int, rhs: int) -> None:
    left, right = integers([lhs], "1:1"), integers([rhs], "1:1")
    assert outcome(lambda: sw.add(left, right).item()) == checked(lhs + rhs)
    assert outcome(lambda: sw.sub(left, right).item()) == checked(lhs - rhs)
    assert outcome(lambda: sw.mul(left, right).item()) == checked(lhs * rhs)
    assert outcome(lambda: sw.mul(left, rhs).item()) == checked(lhs * rhs)


@pytest.mark.rule("F-20")
@given(st.integers(-70000, 70000) | EXTREMES, st.integers(0, 40) | st.just(2**24 + 1))
def test_powers(base: int, exponent: int) -> None:
    small = base in (-1, 0, 1) or exponent <= 40
    expected = checked(base**exponent) if small and abs(base) > 1 else None
    if abs(base) > 1 and not small:
        expected = OverflowError
    if expected is None:
        expected = 1 if exponent == 0 else (base if base >= 0 or exponent % 2 else 1)
    assert outcome(lambda: sw.pow(integers([base], "1:1"), exponent).item()) == expected


@pytest.mark.rule("F-35")
@given(st.data())
def test_contractions(data: st.DataObject) -> None:
    inner = data.draw(st.integers(1, 5))
    cells = st.lists(INTEGERS, min_size=2 * inner, max_size=2 * inner)
    left, right = data.draw(cells), data.draw(cells)
    if data.draw(st.booleans()):  # cancel all products of one row but the last
        right[:-2] = right[:2] * (inner - 1)
        left[:-2] = [
            value * (-1) ** (position // 2) for position, value in enumerate(left[:2] * (inner - 1))
        ]
        left = [max(LOWEST, min(HIGHEST, value)) for value in left]
    sums = [
        sum(left[i + 2 * k] * right[j + 2 * k] for k in range(inner))
        for j in (0, 1)
        for i in (0, 1)
    ]
    expected = sums if all(map(lambda value: checked(value) == value, sums)) else OverflowError
    layout = f"(2,{inner}):(1,2)"
    made = outcome(
        lambda: sw.rearrange(
            sw.matmul(integers(left, layout), integers(right, layout)), "a b -> (a b)"
        ).tolist()
    )
    assert made == expected


@pytest.mark.rule("F-35")
def test_a_long_contraction_of_extremes() -> None:
    """More terms than one chunk of partial products holds exactly."""
    inner = 2**20 + 3
    lhs = Tensor(CPU(0, dtype=INT).new_like([LOWEST]), 0, Layout.parse(f"(1,{inner}):(0,0)"))
    signs = CPU(0, dtype=INT).new_like([HIGHEST, -HIGHEST] * (inner // 2) + [0])
    rhs = Tensor(signs, 0, Layout.parse(f"(1,{inner}):(0,1)"))
    assert sw.matmul(lhs, rhs).item() == 0
    signs[inner - 1] = 1
    assert sw.matmul(lhs, rhs).item() == LOWEST
    signs[inner - 1] = -1
    with pytest.raises(OverflowError, match=r"2147483648 is out of int32 range"):
        sw.matmul(lhs, rhs)


@pytest.mark.rule("F-28", "O-6")
@given(st.lists(INTEGERS, min_size=1, max_size=6))
def test_sums_check_only_the_total(values: list[int]) -> None:
    tensor = integers(values, f"({len(values)},1):(1,0)")
    total = sum(values)
    assert outcome(lambda: sw.reduce_sum(tensor, "a b -> 1").item()) == checked(total)


@pytest.mark.slow
@pytest.mark.rule("F-27", "F-28")
def test_a_sum_that_wraps_around_64_bits_is_refused() -> None:
    tensor = Tensor(CPU(0, dtype=INT).new_like([LOWEST]), 0, Layout.parse(f"(1,{2**33}):(0,0)"))
    with pytest.raises(OverflowError, match="out of int32 range"):
        sw.reduce_sum(tensor, "a b -> a")


@pytest.mark.rule("F-48")
def test_casts_truncate_or_refuse() -> None:
    floats = Tensor(
        CPU(0).new_like([1.9, -1.9, 2147483520.0, -2147483648.0]), 0, Layout.parse("4:1")
    )
    assert sw.cast(floats, INT).tolist() == [1, -1, 2147483520, LOWEST]
    for value in (2147483648.0, float("nan"), float("inf"), -2147483904.0):
        floats.carrier[1] = value
        with pytest.raises(OverflowError, match="out of int32 range"):
            sw.cast(floats, INT)
