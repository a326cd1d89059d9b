"""Comparisons, logical operations, ``select`` and ``cast``."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw
from strideweave.operation import operation_definition

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]


@pytest.mark.rule("F-23", "X-31")
def test_nan_and_zeros(f: Make, values: Values) -> None:
    results = [
        values(getattr(sw, name)(f([nan]), f([1.0])))[0] for name in ("eq", "ne", "lt", "le", "ge")
    ]
    assert results == [False, True, False, False, False]
    assert values(sw.eq(f([0.0]), f([-0.0]))) == [True]
    assert values(sw.lt(f([-0.0]), f([0.0]))) == [False]


@pytest.mark.rule("F-23", "F-10")
def test_integers_compare_exactly_and_mixed_pairs_as_float32(
    f: Make, i: Make, values: Values
) -> None:
    assert values(sw.eq(i([16777217]), i([16777216]))) == [False]
    assert values(sw.eq(i([16777217]), f([16777216]))) == [True]
    assert values(sw.lt(i([2**31 - 2]), i([2**31 - 1]))) == [True]
    results = sw.gt(i([3]), i([2])), sw.ge(i([2]), i([2])), sw.ne(i([1]), i([1]))
    assert [values(result) for result in results] == [[True], [True], [False]]


@pytest.mark.rule("F-23", "F-5", "O-66", "X-30")
@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le"])
def test_bool_is_no_number(name: str, i: Make, b: Make) -> None:
    with pytest.raises(TypeError, match=r"rhs must have dtype DType.Float32 or DType.Int32"):
        getattr(sw, name)(i([1]), b([True]))
    with pytest.raises(TypeError, match="lhs must be a Tensor"):
        getattr(sw, name)(1, i([1]))


@pytest.mark.rule("F-23", "O-68")
@pytest.mark.parametrize(("name", "dispatched"), [("gt", "lt"), ("ge", "le")])
def test_greater_is_less_with_the_operands_swapped(
    name: str, dispatched: str, f: Make, b: Make
) -> None:
    with pytest.raises(TypeError, match=f"{dispatched}: rhs must have dtype"):
        getattr(sw, name)(b([True]), f([1.0]))
    with pytest.raises(LookupError):
        operation_definition(name)


@pytest.mark.rule("F-23", "F-5")
def test_logical_operations(f: Make, b: Make, values: Values) -> None:
    assert values(sw.logical_not(f([0.0, -0.0, nan, 2.0]))) == [True, True, False, False]
    p, q = b([True, True, False, False]), b([True, False, True, False])
    assert values(sw.logical_and(p, q)) == [True, False, False, False]
    assert values(sw.logical_or(p, q)) == [True, True, True, False]
    assert values(sw.logical_xor(p, q)) == [False, True, True, False]
    with pytest.raises(TypeError, match=r"lhs must have dtype DType.Bool, got DType.Float32"):
        sw.logical_and(f([1.0]), b([True]))
    with pytest.raises(TypeError, match=r"tensor must have dtype DType.Float32, got DType.Bool"):
        sw.logical_not(b([True]))


@pytest.mark.rule("F-23", "O-79", "A-5")
def test_predicates_carry_no_graph(f: Make) -> None:
    x = f([1.0])
    result = sw.lt(x, x)
    assert result.dtype() is sw.DType.Bool and result.autograd_ctx is None
    operation = x.carrier.dispatch_op("lt")
    operation.forward(x, x)
    with pytest.raises(RuntimeError, match="lt is not differentiable"):
        operation.backward(f([1.0]))


@pytest.mark.rule("F-24", "F-14", "X-32")
def test_select(f: Make, b: Make, values: Values, vjp: Vjp, same: Same) -> None:
    condition = b([True, False, True])
    on_true, on_false = f([1, nan, 3]), f([nan, 2, nan])
    assert values(sw.select(condition, on_true, on_false)) == [1, 2, 3]
    gradients = vjp(sw.select, condition, on_true, on_false, g=[1, 10, 100])
    assert gradients[0] is None
    assert same(gradients[1], [1.0, 0.0, 100.0]) and same(gradients[2], [0.0, 10.0, 0.0])
    gradients = vjp(sw.select, condition, on_true, on_false, g=[inf, nan, inf])
    assert same(gradients[1], [inf, 0.0, inf]) and same(gradients[2], [0.0, nan, 0.0])


@pytest.mark.rule("F-24", "F-6", "F-8", "X-33")
def test_select_widens_all_three(f: Make, b: Make, values: Values, vjp: Vjp) -> None:
    operands = b([True, False], 2, 1), f([1, 2, 3], 1, 3), f([5], 1, 1)
    result = sw.select(*operands)
    assert values(result) == [1, 5, 2, 5, 3, 5] and str(result.layout) == "(2,3):(1,2)"
    assert vjp(sw.select, *operands, g=[1, 2, 4, 8, 16, 32]) == [None, [1, 4, 16], [42]]
    assert values(sw.select(operands[0], operands[2], operands[2])) == [5, 5]


@pytest.mark.rule("F-24", "F-5", "O-66")
def test_select_refuses_other_operands(f: Make, i: Make, b: Make) -> None:
    with pytest.raises(TypeError, match=r"condition must have dtype DType.Bool"):
        sw.select(f([1]), f([1]), f([1]))
    with pytest.raises(TypeError, match=r"on_false must have dtype DType.Float32"):
        sw.select(b([True]), f([1]), i([1]))
    with pytest.raises(TypeError, match="on_true must be a Tensor, got float"):
        unchecked.select(b([True]), 1.0, f([1]))


@pytest.mark.rule("F-48", "F-10", "X-70")
def test_cast(f: Make, i: Make, b: Make, values: Values, same: Same) -> None:
    assert values(sw.cast(f([1.9, -1.9, nan, 0.0, -0.0]), sw.DType.Bool)) == [
        *(True, True, True, False, False)
    ]
    assert values(sw.cast(f([1.9, -1.9, -0.5]), sw.DType.Int32)) == [1, -1, 0]
    assert same(values(sw.cast(i([16777217, -3]), sw.DType.Float32)), [16777216.0, -3.0])
    assert same(values(sw.cast(b([True, False]), sw.DType.Float32)), [1.0, 0.0])
    assert same(values(sw.cast(b([True, False]), sw.DType.Int32)), [1, 0])
    assert same(values(sw.cast(i([2, 0]), sw.DType.Bool)), [True, False])
    assert same(values(sw.cast(f([-0.0]), sw.DType.Float32)), [-0.0])


@pytest.mark.rule("F-48")
@pytest.mark.parametrize("value", [inf, -inf, nan, 2147483648.0, -2147483904.0])
def test_cast_to_int32_refuses_what_does_not_fit(value: float, f: Make) -> None:
    with pytest.raises(OverflowError, match="out of int32 range"):
        sw.cast(f([1.0, value]), sw.DType.Int32)


@pytest.mark.rule("F-48")
def test_cast_refuses_other_targets(f: Make) -> None:
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        unchecked.cast(1.0, sw.DType.Int32)
    with pytest.raises(TypeError, match="dtype must be a DType, got str"):
        unchecked.cast(f([1.0]), "Int32")
    with pytest.raises(ValueError, match=r"got DType.Int8"):
        sw.cast(f([1.0]), sw.DType.Int8)


@pytest.mark.rule("F-48", "A-5")
def test_cast_is_fresh_and_passes_float_gradients(f: Make, i: Make, vjp: Vjp) -> None:
    x = f([1.5])
    fresh = sw.cast(x, sw.DType.Float32)
    assert fresh.carrier is not x.carrier
    assert vjp(sw.cast, x, sw.DType.Float32, g=[3.0]) == [[3.0]]
    assert sw.cast(x, sw.DType.Int32).autograd_ctx is None
    assert sw.cast(i([1]), sw.DType.Float32).autograd_ctx is None
