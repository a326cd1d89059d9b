"""Structural alignment of pointwise operands and the layouts of their results."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw

Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]


@pytest.mark.rule("F-6", "F-8", "F-14", "O-67", "X-1", "X-2")
def test_column_plus_row_and_its_gradients(f: Make, values: Values) -> None:
    column, row = f([1, 2, 3], 3, 1), f([10, 20], 1, 2)
    total = sw.add(column, row)
    assert values(total) == [11, 12, 13, 21, 22, 23]
    assert str(total.layout) == "(3,2):(1,3)"
    total.backward(f([1, 2, 3, 4, 5, 6], 3, 2))
    assert values(column.grad) == [5, 7, 9] and str(column.grad.layout) == "(3,1):(1,3)"
    assert values(row.grad) == [6, 15] and str(row.grad.layout) == "(1,2):(1,1)"


@pytest.mark.rule("F-8", "X-3", "X-4")
@pytest.mark.parametrize(
    ("lhs", "rhs", "expected"),
    [
        ("(2,3):(3,1)", "(2,3):(1,2)", "(2,3):(1,2)"),
        ("(2,(3,1)):(1,(2,6))", "(2,(1,4)):(1,(2,2))", "(2,(3,4)):(1,(2,6))"),
        ("(2,3):(3,1)", "(2,3):(3,1)", "(2,3):(3,1)"),
        ("(2,3):(3,1)", "(1,1):(0,0)", "(2,3):(3,1)"),
        ("(1,1):(7,9)", "(2,3):(3,1)", "(2,3):(3,1)"),
        ("(2,3):(3,1)", "(2,1):(1,1)", "(2,3):(1,2)"),
        ("(2,3):(0,0)", "(2,3):(3,1)", "(2,3):(1,2)"),
        ("(2,3):(1,4)", "(2,3):(1,4)", "(2,3):(1,2)"),
        ("(1,3):(5,1)", "(1,3):(1,1)", "(1,3):(1,1)"),
        ("(1,3):(5,1)", "(1,3):(5,1)", "(1,3):(5,1)"),
    ],
)
def test_layout_of_a_pair(f: Make, lhs: str, rhs: str, expected: str) -> None:
    total = sw.add(f([1.0], layout=lhs), f([2.0], layout=rhs))
    assert str(total.layout) == expected
    assert total.offset == 0 and total.carrier.size() == total.layout.cosize


@pytest.mark.rule("F-8", "F-3", "X-6", "X-7")
@pytest.mark.parametrize(
    ("given", "expected"),
    [("(2,3):(1,4)", "(2,3):(1,2)"), ("(2,3):(3,1)", "(2,3):(3,1)")],
)
def test_layout_of_a_single_operand(f: Make, given: str, expected: str, values: Values) -> None:
    result = sw.neg(f([1, 2, 3, 4, 5, 6], layout=given))
    assert str(result.layout) == expected
    assert result.carrier.size() == 6
    assert values(result) == [-1, -2, -3, -4, -5, -6]


@pytest.mark.rule("F-8", "X-7")
def test_layout_of_a_predicate_over_a_broadcast_view(f: Make, values: Values) -> None:
    view = sw.broadcast_to(f([0.0]), sw.Shape(3))
    result = sw.logical_not(view)
    assert str(result.layout) == "3:1" and values(result) == [True, True, True]


@pytest.mark.rule("F-6", "O-66", "X-5")
def test_other_nesting_is_refused(f: Make) -> None:
    with pytest.raises(ValueError) as caught:
        sw.add(f([1, 2]), f([1, 2], 1, 2))
    expected = "Tensor shape profiles are not congruent: lhs=(leaf), rhs=(leaf, leaf)"
    assert str(caught.value).startswith(expected)
    with pytest.raises(ValueError, match=r"lhs=\(leaf, leaf\), rhs=\(\(leaf, leaf\)\); bring"):
        sw.add(f([1.0], 1, 1), f([1.0], (1, 1)))


@pytest.mark.rule("F-6", "X-5")
def test_unequal_extents_are_refused(f: Make) -> None:
    with pytest.raises(ValueError, match=r"leaf 0 within profile \(leaf\): lhs=2, rhs=3"):
        sw.add(f([1, 2]), f([1, 2, 3]))
    with pytest.raises(ValueError) as caught:
        sw.add(f([1.0], 2, (3, 2)), f([1.0], 2, (2, 2)))
    assert str(caught.value) == (
        "Tensor extents are not broadcast-compatible at leaf 1.0 within profile "
        "(leaf, (leaf, leaf)): lhs=3, rhs=2"
    )


@pytest.mark.rule("F-6")
def test_three_operands_align_in_one_pass(f: Make, b: Make) -> None:
    with pytest.raises(ValueError, match=r"leaf 0 .*: condition=2, on_true=1, on_false=3"):
        sw.select(b([True, False]), f([1.0]), f([1.0, 2.0, 3.0]))
    with pytest.raises(ValueError, match="tensor=2, lower=3, upper=1"):
        sw.clamp(f([1.0, 2.0]), f([1.0, 2.0, 3.0]), f([1.0]))
    with pytest.raises(ValueError, match="tensor=2, bound=3"):
        sw.clamp(f([1.0, 2.0]), 0.0, f([1.0, 2.0, 3.0]))


@pytest.mark.rule("F-6")
def test_an_extent_one_operand_is_widened_from_either_side(f: Make, values: Values) -> None:
    one, three = f([10.0], 1, (1, 1)), f([1, 2, 3], 1, (3, 1))
    assert values(sw.sub(one, three)) == [9, 8, 7]
    assert values(sw.sub(three, one)) == [-9, -8, -7]


@pytest.mark.rule("F-6")
def test_rank_zero_aligns_with_rank_zero_only(f: Make, values: Values) -> None:
    zero = f([2.0], layout="():()")
    assert values(sw.mul(zero, zero)) == [4.0]
    with pytest.raises(ValueError, match=r"lhs=\(\), rhs=\(leaf\)"):
        sw.add(zero, f([1.0]))


@pytest.mark.rule("F-14", "O-67", "A-6", "X-48")
def test_a_widened_gradient_is_summed_in_binary64(f: Make) -> None:
    narrow = f([5.0])
    output: Any = sw.add(narrow, f([1, 1, 1]))
    assert output.autograd_ctx.inputs()[0] is narrow
    output.backward(f([16777216, 1, 1]))
    assert narrow.grad[0] == 16777218.0


@pytest.mark.rule("F-3")
def test_one_tensor_may_be_every_operand(f: Make, values: Values) -> None:
    x = f([1.0, -2.0])
    total = sw.add(x, x)
    assert values(total) == [2.0, -4.0]
    assert total.carrier is not x.carrier and total.is_mutable() and x.version == 0
    squares = f([1, 2, 3, 4], 2, 2)
    assert values(sw.matmul(squares, squares)) == [10, 14, 14, 20]
