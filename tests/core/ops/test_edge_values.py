"""All-NaN fibers, one-element modes, ties, signed zeros and extreme integers."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw

Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]

BOTTOM, TOP = -(2**31), 2**31 - 1
SHAPES: list[tuple[Any, ...]] = [(1,), (1, 1), (3, 1), (1, 3), ((1, 1), 1), (2, (1, 1))]
AXES = [
    (shape, axis) for shape in SHAPES for axis in range(len(shape)) if shape[axis] not in (2, 3)
]
REDUCED = {1: ["a -> 1"], 2: ["a b -> a", "a b -> b", "a b -> 1"]}
FIBERS = [1.5, -0.0, nan]


@pytest.mark.rule("F-29", "F-31", "F-28", "F-32", "F-45", "F-50")
def test_fibers_of_nothing_but_nan(f: Make, values: Values, same: Same) -> None:
    x = f([nan] * 6, 2, 3)
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min"):
        assert same(values(getattr(sw, name)(x, "a b -> a")), [nan, nan])
    for name in ("argmax", "argmin"):
        assert values(getattr(sw, name)(x, "a b -> a")) == [0, 0]
    for result in (sw.cumsum(x, 1), sw.softmax(x), sw.log_softmax(x)):
        assert same(values(result), [nan] * 6)
    for result in (sw.mean(x), sw.logsumexp(x)):
        assert same(values(result), [nan, nan])
    for descending in (False, True):
        assert values(sw.sort(x, 1, descending).indices) == [0, 0, 1, 1, 2, 2]
        assert same(values(sw.sort(x, 1, descending).values), [nan] * 6)
        assert values(sw.topk(x, 2, 1, descending).indices) == [0, 0, 1, 1]


@pytest.mark.rule("F-30", "F-14", "F-45")
def test_gradients_of_nothing_but_nan(f: Make, vjp: Vjp, same: Same) -> None:
    x = f([nan] * 3, 1, 3)
    for name in ("reduce_max", "reduce_min"):
        reduce = getattr(sw, name)
        assert same(vjp(lambda t, r=reduce: r(t, "a b -> a"), x)[0], [nan] * 3)
    assert vjp(lambda t: sw.sort(t).values, x, g=[1, 10, 100])[0] == [1, 10, 100]
    assert vjp(lambda t: sw.topk(t, 1).values, x, g=[5])[0] == [5, 0, 0]


@pytest.mark.rule("F-26", "F-28", "F-29", "F-31", "F-34")
@pytest.mark.parametrize("shape", SHAPES)
def test_reductions_of_one_element_modes(
    shape: tuple[Any, ...], f: Make, values: Values, same: Same
) -> None:
    for x in (f(FIBERS[:1], *shape), f(FIBERS[1:2], *shape), f(FIBERS, *shape)):
        if x.size() > 1:  # keep what has more than one element
            kept = "a b -> a" if shape[0] != 1 else "a b -> b"
        else:
            kept = REDUCED[len(shape)][-1]
        held = values(x)
        total = [value + 0.0 for value in held]  # a sum of -0.0 is +0.0
        assert same(values(sw.reduce_sum(x, kept)), total)
        for name in ("reduce_prod", "reduce_max", "reduce_min"):
            assert same(values(getattr(sw, name)(x, kept)), held)
        for name in ("argmax", "argmin"):
            assert values(getattr(sw, name)(x, kept)) == [0] * x.size()


@pytest.mark.rule("F-32", "F-45", "F-49", "F-50", "F-41")
@pytest.mark.parametrize(("shape", "axis"), AXES)
def test_one_element_modes_by_axis(
    shape: tuple[Any, ...], axis: int, f: Make, i: Make, values: Values, same: Same
) -> None:
    x = f(FIBERS, *shape)
    held, count = values(x), x.size()
    assert same(values(sw.cumsum(x, axis)), [value + 0.0 for value in held])
    assert same(values(sw.flip(x, axis)), held)
    for flag in (False, True):
        for result in (sw.sort(x, axis, flag), sw.topk(x, 1, axis, flag)):
            assert same(values(result.values), held)
            assert values(result.indices) == [0] * count
    assert same(values(sw.gather(x, i([0]), axis)), held)
    assert sw.gather(x, i([0, 0]), axis).size() == 2 * count
    zeros = pytest.approx([value - value for value in held], nan_ok=True)
    assert values(sw.log_softmax(x, axis)) == zeros
    ones = pytest.approx([value - value + 1.0 for value in held], nan_ok=True)
    assert values(sw.softmax(x, axis)) == ones
    for summary in (sw.logsumexp(x, axis), sw.mean(x, axis)):
        assert values(summary) == pytest.approx(held, nan_ok=True)


@pytest.mark.rule("F-35", "F-41", "F-42", "F-43", "F-49")
def test_everything_of_one_element(f: Make, i: Make, values: Values, vjp: Vjp) -> None:
    one = f([3.0], 1, 1)
    assert values(sw.matmul(one, one)) == [9.0]
    assert values(sw.einsum(one, one, "a b, c b -> a c")) == [9.0]
    assert vjp(sw.matmul, one, f([5.0], 1, 1), g=[2.0]) == [[10.0], [6.0]]
    x = f([3.0])
    assert values(sw.scatter(x, i([0]), f([7.0]), 0)) == [7.0]
    assert values(sw.scatter_add(x, i([0, 0]), f([7.0, 1.0]), 0)) == [11.0]
    assert values(sw.concat([x, x])) == [3.0, 3.0] and values(sw.stack([x])) == [3.0]
    assert values(sw.pad(x, [(1, 1)])) == [0.0, 3.0, 0.0]
    assert values(sw.select(sw.lt(x, f([4.0])), x, f([nan]))) == [3.0]


@pytest.mark.rule("F-30", "F-31", "F-45", "F-21")
def test_ties(f: Make, values: Values, vjp: Vjp, same: Same) -> None:
    x = f([2.0, 2.0, 2.0, 2.0], 1, 4)
    assert values(sw.argmax(x, "a b -> a")) == [0] == values(sw.argmin(x, "a b -> a"))
    for flag in (False, True):
        assert values(sw.sort(x, 1, flag).indices) == [0, 1, 2, 3]
        assert values(sw.topk(x, 2, 1, flag).indices) == [0, 1]
    for name in ("reduce_max", "reduce_min"):
        reduce = getattr(sw, name)
        assert vjp(lambda t, r=reduce: r(t, "a b -> a"), x, g=[1.0]) == [[0.25] * 4]
    zeros = f([0.0, -0.0, 0.0], 1, 3)
    (shared,) = vjp(lambda t: sw.reduce_max(t, "a b -> a"), zeros, g=[3.0])
    assert shared == [1.0, 1.0, 1.0]
    assert values(sw.argmin(zeros, "a b -> a")) == [0] == values(sw.argmax(zeros, "a b -> a"))
    infinite = f([inf, 1.0, inf], 1, 3)
    assert vjp(lambda t: sw.reduce_max(t, "a b -> a"), infinite, g=[1.0]) == [[0.5, 0.0, 0.5]]
    for name in ("maximum", "minimum"):
        assert vjp(getattr(sw, name), x, f([2.0] * 4, 1, 4), g=[1.0]) == [[0.5] * 4] * 2


@pytest.mark.rule("F-15", "F-16", "F-19", "F-21", "F-22", "F-24", "F-25", "F-29", "F-48", "F-49")
def test_signed_zeros(f: Make, b: Make, values: Values, same: Same) -> None:
    zeros, other = f([0.0, -0.0, 0.0, -0.0]), f([0.0, 0.0, -0.0, -0.0])
    for function, expected in (
        (sw.add, [0.0, 0.0, 0.0, -0.0]),
        (sw.sub, [0.0, -0.0, 0.0, 0.0]),
        (sw.mul, [0.0, -0.0, -0.0, 0.0]),
        (sw.elementwise_mul, [0.0, -0.0, -0.0, 0.0]),
        (sw.maximum, [0.0, 0.0, 0.0, -0.0]),
        (sw.minimum, [0.0, -0.0, -0.0, -0.0]),
        (sw.eq, [True] * 4),
        (sw.lt, [False] * 4),
        (sw.le, [True] * 4),
    ):
        assert same(values(function(zeros, other)), expected)
    five = f([5.0] * 4)
    assert same(values(sw.div(zeros, five)), [0.0, -0.0, 0.0, -0.0])
    assert same(values(sw.div(five, zeros)), [inf, -inf, inf, -inf])
    assert same(values(sw.rem(zeros, five)), [0.0, -0.0, 0.0, -0.0])
    assert same(values(sw.neg(zeros)), [-0.0, 0.0, -0.0, 0.0])
    assert same(values(sw.abs(zeros)), [0.0] * 4)
    assert same(values(sw.mul(zeros, -1.0)), [-0.0, 0.0, -0.0, 0.0])
    assert same(values(sw.clamp(zeros, 0.0, 1.0)), [0.0] * 4)
    assert same(values(sw.clamp(zeros, -0.0, 1.0)), [0.0, -0.0, 0.0, -0.0])
    assert same(values(sw.select(b([True, False] * 2), zeros, other)), [0.0, 0.0, 0.0, -0.0])
    assert same(values(sw.cast(zeros, sw.DType.Float32)), values(zeros))
    assert values(sw.cast(zeros, sw.DType.Bool)) == [False] * 4
    assert values(sw.logical_not(zeros)) == [True] * 4
    rows = f([0.0, -0.0, -0.0, -0.0], 2, 2)
    assert same(values(sw.reduce_max(rows, "a b -> a")), [0.0, -0.0])
    assert same(values(sw.reduce_min(rows, "a b -> a")), [-0.0, -0.0])
    assert same(values(sw.concat([zeros, other])), [*values(zeros), *values(other)])
    assert same(values(sw.pad(f([1.0]), [(1, 0)], -0.0)), [-0.0, 1.0])
    assert same(values(sw.flip(f([0.0, -0.0, 1.0]), 0)), [1.0, -0.0, 0.0])


@pytest.mark.rule("F-10", "F-18", "F-23", "F-28", "F-35", "F-48", "F-49", "F-15")
def test_extreme_integers(i: Make, values: Values, same: Same) -> None:
    extremes = i([TOP, BOTTOM, TOP, BOTTOM])
    assert values(sw.add(extremes, i([BOTTOM, TOP, 0, 0]))) == [-1, -1, TOP, BOTTOM]
    assert values(sw.sub(extremes, i([TOP, BOTTOM, 0, 0]))) == [0, 0, TOP, BOTTOM]
    assert values(sw.mul(extremes, i([1, 1, -1, 0]))) == [TOP, BOTTOM, -TOP, 0]
    assert values(sw.mul(i([46340, -46341]), i([46340, 46340]))) == [2147395600, -2147441940]
    assert values(sw.div(i([BOTTOM, TOP]), i([-1, 1]))) == [2147483648.0, 2147483648.0]
    assert values(sw.relu(extremes)) == [TOP, 0, TOP, 0]
    near = i([TOP - 1, BOTTOM + 1, TOP, BOTTOM])  # equal to the extremes in binary32
    assert values(sw.eq(extremes, near)) == [False, False, True, True]
    assert values(sw.lt(extremes, near)) == [False, True, False, False]
    assert values(sw.le(near, extremes)) == [True, False, True, True]
    rows = i([TOP, BOTTOM, TOP, 1, BOTTOM, TOP], 2, 3)
    assert values(sw.reduce_sum(rows, "a b -> a")) == [TOP - 1, 0]
    assert values(sw.cast(extremes, sw.DType.Float32)) == [2.0**31, -(2.0**31)] * 2
    assert values(sw.cast(extremes, sw.DType.Bool)) == [True] * 4
    assert values(sw.concat([i([TOP]), i([BOTTOM])])) == [TOP, BOTTOM]
    assert values(sw.pad(i([TOP]), [(0, 1)], BOTTOM)) == [TOP, BOTTOM]
    assert values(sw.matmul(i([TOP, TOP], 1, 2), i([1, -1], 1, 2))) == [0]
    assert values(sw.pow(i([-2, -1, 1]), 31)) == [BOTTOM, -1, 1]


@pytest.mark.rule("F-10", "F-20", "F-28", "F-35", "F-48", "X-11")
@pytest.mark.parametrize(
    "call",
    [
        lambda f, i: sw.add(i([0, TOP]), i([0, 1])),
        lambda f, i: sw.sub(i([BOTTOM]), i([1])),
        lambda f, i: sw.sub(i([0]), i([BOTTOM])),
        lambda f, i: sw.mul(i([BOTTOM]), -1),
        lambda f, i: sw.mul(i([46341]), i([46341])),
        lambda f, i: sw.elementwise_mul(i([BOTTOM]), i([BOTTOM])),
        lambda f, i: sw.pow(i([TOP]), 2),
        lambda f, i: sw.pow(i([-2]), 32),
        lambda f, i: sw.reduce_sum(i([BOTTOM, -1], 1, 2), "a b -> a"),
        lambda f, i: sw.matmul(i([BOTTOM], 1, 1), i([-1], 1, 1)),
        lambda f, i: sw.cast(f([2147483648.0]), sw.DType.Int32),
        lambda f, i: sw.cast(f([-2147483904.0]), sw.DType.Int32),
        lambda f, i: sw.cast(f([nan]), sw.DType.Int32),
    ],
)
def test_integers_never_wrap(call: Callable[..., sw.Tensor], f: Make, i: Make) -> None:
    with pytest.raises(OverflowError, match="out of int32 range"):
        call(f, i)


@pytest.mark.rule("F-48")
def test_the_last_float_that_is_an_integer(f: Make, values: Values) -> None:
    edges = sw.cast(f([2147483520.0, -2147483648.0, -0.9]), sw.DType.Int32)
    assert values(edges) == [2147483520, BOTTOM, 0]
