"""``maximum``, ``minimum`` and ``clamp``."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]


@pytest.mark.rule("F-21", "F-12", "X-24")
def test_zeros_and_nan(f: Make, values: Values, same: Same) -> None:
    lhs, rhs = f([0.0, -0.0, -0.0, nan, 0.0]), f([-0.0, 0.0, -0.0, 1.0, 0.0])
    assert same(values(sw.maximum(lhs, rhs)), [0.0, 0.0, -0.0, nan, 0.0])
    assert same(values(sw.minimum(lhs, rhs)), [-0.0, -0.0, -0.0, nan, 0.0])
    assert same(values(sw.maximum(f([1.0]), f([nan]))), [nan])
    assert same(values(sw.minimum(f([inf, -inf]), f([1.0, 1.0]))), [1.0, -inf])


@pytest.mark.rule("F-21", "F-14", "X-25")
def test_maximum_gradient(f: Make, vjp: Vjp, same: Same) -> None:
    lhs = f([1, 2, 3, nan, inf, -inf, 0.0])
    rhs = f([1, 3, 2, 1, inf, -inf, -0.0])
    left, right = vjp(sw.maximum, lhs, rhs)
    assert same(left, [0.5, 0.0, 1.0, nan, 0.5, 0.5, 0.5])
    assert same(right, [0.5, 1.0, 0.0, nan, 0.5, 0.5, 0.5])
    left, right = vjp(sw.minimum, lhs, rhs)
    assert same(left, [0.5, 1.0, 0.0, nan, 0.5, 0.5, 0.5])
    assert same(right, [0.5, 0.0, 1.0, nan, 0.5, 0.5, 0.5])


@pytest.mark.rule("F-14", "F-21")
def test_losers_get_positive_zero_whatever_the_cotangent(f: Make, vjp: Vjp, same: Same) -> None:
    left, right = vjp(sw.maximum, f([1.0, 1.0]), f([2.0, 2.0]), g=[inf, nan])
    assert same(left, [0.0, 0.0]) and same(right, [inf, nan])


@pytest.mark.rule("F-25", "X-34")
def test_clamp(f: Make, values: Values, same: Same) -> None:
    x = f([-2, 0.5, 3, nan, inf, -inf])
    assert same(values(sw.clamp(x, 0, 1)), [0.0, 0.5, 1.0, nan, 1.0, 0.0])
    assert same(values(sw.clamp(x, 2.0, 1.0)), [1.0, 1.0, 1.0, nan, 1.0, 1.0])
    assert same(values(sw.clamp(f([0.5]), nan, 1.0)), [nan])


@pytest.mark.rule("F-25", "F-24", "F-11", "F-5", "O-66")
def test_clamp_refuses_other_operands(f: Make, i: Make, b: Make) -> None:
    with pytest.raises(TypeError, match=r"tensor must have dtype DType.Float32, got DType.Int32"):
        sw.clamp(i([1]), 0, 1)
    with pytest.raises(TypeError, match=r"upper must have dtype DType.Float32, got DType.Bool"):
        sw.clamp(f([1]), 0, b([True]))
    with pytest.raises(TypeError, match="lower must be a real Python number"):
        unchecked.clamp(f([1]), "0", 1)
    with pytest.raises(OverflowError, match="too large for a binary64"):
        sw.clamp(f([1]), 0, 10**400)


@pytest.mark.rule("F-25", "F-14", "X-35")
def test_a_number_as_bound_takes_no_share(f: Make, vjp: Vjp, same: Same) -> None:
    x = f([-2, 0.5, 3, 0, 1])
    assert same(vjp(sw.clamp, x, 0.0, 1.0)[0], [0.0, 1.0, 0.0, 1.0, 1.0])
    assert same(vjp(sw.clamp, f([nan]), 0.0, 1.0)[0], [nan])


@pytest.mark.rule("F-25", "X-36")
def test_tensor_bounds_share(f: Make, vjp: Vjp, same: Same) -> None:
    x, lower, upper = f([0, 0.5, 2, 1, 5]), f([0, 0, 0, 1, 3]), f([1, 1, 1, 1, 2])
    for_x, for_lower, for_upper = vjp(sw.clamp, x, lower, upper)
    assert same(for_x, [0.5, 1.0, 0.0, 0.25, 0.0])
    assert same(for_lower, [0.5, 0.0, 0.0, 0.25, 0.0])
    assert same(for_upper, [0.0, 0.0, 1.0, 0.5, 1.0])


@pytest.mark.rule("F-25")
@pytest.mark.parametrize("lower_is_tensor", [True, False])
def test_one_tensor_bound(lower_is_tensor: bool, f: Make, vjp: Vjp, same: Same) -> None:
    x = f([0.0, 0.5, 1.0])
    if lower_is_tensor:
        for_x, for_bound = vjp(sw.clamp, x, f([0.0]), 1.0)
        assert same(for_x, [0.5, 1.0, 1.0]) and same(for_bound, [0.5])
    else:
        for_x, for_bound = vjp(sw.clamp, x, 0.0, f([1.0]))
        assert same(for_x, [1.0, 1.0, 0.5]) and same(for_bound, [0.5])


@pytest.mark.rule("F-25", "A-7")
def test_saved_operands_are_the_tensors_in_order(f: Make) -> None:
    x, upper = f([0.5]), f([1.0])
    result: Any = sw.clamp(x, 0.0, upper)
    node = result.autograd_ctx
    assert node.inputs() == (x, upper) and len(node.input_versions()) == 2
