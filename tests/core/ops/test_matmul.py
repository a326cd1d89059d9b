"""``matmul``."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.operation_policy import operation_execution_options

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Vjp = Callable[..., list[Any]]

FLOAT64 = sw.DType.Float64


@pytest.mark.rule("F-35", "F-8", "F-2", "X-50", "X-51")
def test_values_and_gradients(f: Make, values: Values, vjp: Vjp) -> None:
    lhs, rhs = f([1, 2, 3, 4, 5, 6], 2, 3), f([1, 1, 1, 2, 2, 2], 2, 3)
    product = sw.matmul(lhs, rhs)
    assert values(product) == [14, 18, 17, 22] and str(product.layout) == "(2,2):(1,2)"
    assert values(lhs @ rhs) == [14, 18, 17, 22]
    left, right = vjp(sw.matmul, lhs, rhs, g=[1, 10, 100, 1000])
    assert left == [101, 1010, 201, 2010, 202, 2020]
    assert right == [21, 2100, 43, 4300, 65, 6500]


@pytest.mark.rule("F-35", "F-8", "X-52")
def test_nested_modes(f: Make, values: Values, vjp: Vjp) -> None:
    lhs, identity = f(range(1, 13), (2, 3), 2), f([1, 0, 0, 1], 2, 2)
    product = sw.matmul(lhs, identity)
    assert str(product.layout) == "((2,3),2):((1,2),6)"
    assert values(product) == list(range(1, 13))
    # The contracted modes may be nested differently.
    lhs, rhs = f(range(1, 9), 2, (2, 2)), f(range(1, 9), 2, 4)
    assert values(sw.matmul(lhs, rhs)) == [84, 100, 100, 120]
    left, right = vjp(sw.matmul, lhs, rhs, g=[1, 10, 100, 1000])
    assert left == [201, 2010, 403, 4030, 605, 6050, 807, 8070]
    assert right == [21, 2100, 43, 4300, 65, 6500, 87, 8700]


@pytest.mark.rule("F-35", "F-10", "X-53")
def test_int32(i: Make, f: Make, values: Values, vjp: Vjp) -> None:
    exact = sw.matmul(i([2**30, 2**30], 1, 2), i([4, -4], 1, 2))
    assert exact.dtype() is sw.DType.Int32 and values(exact) == [0]
    with pytest.raises(OverflowError, match=r"matmul: .* out of int32 range"):
        sw.matmul(i([2**30], 1, 1), i([4], 1, 1))
    mixed = sw.matmul(f([0.5], 1, 1), i([3], 1, 1))
    assert mixed.dtype() is sw.DType.Float32 and values(mixed) == [1.5]
    assert vjp(sw.matmul, f([0.5], 1, 1), i([3], 1, 1), g=[2]) == [[6], None]


@pytest.mark.rule("F-33", "F-35", "O-6", "X-54")
def test_float64_accumulator(f: Make, values: Values) -> None:
    lhs = f([1 + 2.0**-23, 1], 1, 2)
    rhs = f([1 + 2.0**-23, -(1 + 2.0**-22)], 1, 2)
    assert values(sw.matmul(lhs, rhs, accumulator_dtype=FLOAT64)) == [0.0]
    big, ones = f([16777216, 1, 1], 1, 3), f([1, 1, 1], 1, 3)
    assert values(sw.matmul(big, ones)) == [16777216.0]
    assert values(sw.matmul(big, ones, accumulator_dtype=FLOAT64)) == [16777218.0]
    options = operation_execution_options("matmul", accumulator_dtype=FLOAT64)
    assert values(big.carrier.dispatch_op("matmul").forward(big, ones, options=options)) == [
        16777218.0
    ]


@pytest.mark.rule("F-33")
def test_gradient_sums_use_the_same_accumulator(f: Make, vjp: Vjp) -> None:
    lhs, rhs = f([1.0], 1, 1), f([16777216, 1, 1], 3, 1)
    assert vjp(sw.matmul, lhs, rhs)[0] == [16777216.0]
    wide = vjp(lambda x, y: sw.matmul(x, y, accumulator_dtype=FLOAT64), lhs, rhs)
    assert wide[0] == [16777218.0]


@pytest.mark.rule("F-36", "F-14")
def test_stride_zero_modes_repeat(f: Make, values: Values, vjp: Vjp) -> None:
    rows = f([1, 2], layout="(3,2):(0,1)")
    columns = f([1, 2], layout="(2,2):(1,0)")
    assert values(sw.matmul(rows, columns)) == [3, 3, 3, 6, 6, 6]
    left, right = vjp(sw.matmul, rows, columns, g=[1, 1, 1, 1, 1, 1])
    assert left == [9, 9, 9, 9, 9, 9]
    assert right == [9, 9, 9, 9]


@pytest.mark.rule("F-35", "F-4", "F-5")
def test_errors_in_order(f: Make, i: Make, b: Make) -> None:
    x, flat = f([1.0, 2.0], 1, 2), f([1.0, 2.0])
    with pytest.raises(TypeError):
        unchecked.matmul(1, 2, accumulator_dtype="Float64")
    with pytest.raises(NotImplementedError):
        unchecked.matmul(1, 2, accumulator_dtype=sw.DType.Int32)
    with pytest.raises(TypeError, match="lhs must be a Tensor"):
        unchecked.matmul(1, x)
    with pytest.raises(TypeError, match="rhs must be a Tensor"):
        unchecked.matmul(x, 1)
    with pytest.raises(NotImplementedError, match="Bool"):
        sw.matmul(b([True]), flat)
    with pytest.raises(TypeError):
        sw.matmul(i([1]), i([1]), accumulator_dtype=FLOAT64)
    with pytest.raises(ValueError, match="matmul: lhs must have exactly two top-level modes"):
        sw.matmul(flat, flat)
    with pytest.raises(ValueError, match="rhs must have exactly two"):
        sw.matmul(x, flat)
    with pytest.raises(ValueError, match="lhs=2, rhs=3"):
        sw.matmul(x, f([1.0] * 3, 1, 3))
