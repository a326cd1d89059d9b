"""Operators delegate to the public functions."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from strideweave import DType, Tensor

Read = Callable[[Tensor], list[float]]


@pytest.mark.rule("T-8")
@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (lambda a, b: a + b, [5.0, 10.0]),
        (lambda a, b: a - b, [3.0, 6.0]),
        (lambda a, b: a * b, [4.0, 16.0]),
        (lambda a, b: a / b, [4.0, 4.0]),
        (lambda a, b: -a, [-4.0, -8.0]),
        (lambda a, b: a < b, [False, False]),
        (lambda a, b: a <= b, [False, False]),
        (lambda a, b: a > b, [True, True]),
        (lambda a, b: a >= b, [True, True]),
    ],
)
def test_operators_on_two_tensors(
    filled: Callable[..., Tensor],
    read: Read,
    operate: Callable[[Tensor, Tensor], Tensor],
    expected: list[float],
) -> None:
    assert read(operate(filled("2:1", [4, 8]), filled("2:1", [1, 2]))) == expected


@pytest.mark.rule("T-8")
@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (lambda t: t + 1, [5.0, 9.0]),
        (lambda t: 1 + t, [5.0, 9.0]),
        (lambda t: t - 0.5, [3.5, 7.5]),
        (lambda t: 10 - t, [6.0, 2.0]),
        (lambda t: t / 4, [1.0, 2.0]),
        (lambda t: 16 / t, [4.0, 2.0]),
        (lambda t: t * 2, [8.0, 16.0]),
        (lambda t: 2.0 * t, [8.0, 16.0]),
        (lambda t: t < 5, [True, False]),
        (lambda t: t <= 4, [True, False]),
        (lambda t: t > 4, [False, True]),
        (lambda t: 5 >= t, [True, False]),
        (lambda t: t + True, [5.0, 9.0]),
        (lambda t: t + Fraction(1, 2), [4.5, 8.5]),
    ],
)
def test_operators_with_a_real_number(
    filled: Callable[..., Tensor],
    read: Read,
    operate: Callable[[Tensor], Tensor],
    expected: list[float],
) -> None:
    assert read(operate(filled("2:1", [4, 8]))) == expected


@pytest.mark.rule("T-8")
def test_matmul_operator(filled: Callable[..., Tensor]) -> None:
    a, b = filled("(2,2):(1,2)", [1, 3, 2, 4]), filled("(2,2):(1,2)", [5, 7, 6, 8])
    # Both operands contract their second mode.
    assert (a @ b).tolist() == [[17.0, 23.0], [39.0, 53.0]]


@pytest.mark.rule("T-8")
@pytest.mark.parametrize(
    ("number", "dtype"),
    [(2, DType.Int32), (True, DType.Float32), (2.0, DType.Float32), (Fraction(2), DType.Float32)],
)
def test_a_number_beside_an_int32_tensor(
    ramp: Callable[..., Tensor], number: float, dtype: DType
) -> None:
    assert (ramp("2:1", dtype=DType.Int32) + number).dtype() is dtype


@pytest.mark.rule("T-8")
def test_a_number_too_large_for_int32_is_refused(ramp: Callable[..., Tensor]) -> None:
    with pytest.raises(OverflowError):
        ramp("2:1", dtype=DType.Int32) + 2**31


@pytest.mark.rule("T-8")
def test_the_number_is_one_slot_in_the_shape_of_the_tensor(ramp: Callable[..., Tensor]) -> None:
    tensor = ramp("(2,(3,1)):(1,(2,6))")
    saved = (tensor - 2.0).autograd_ctx
    assert saved is not None
    operand, constant = saved.inputs()
    assert operand is tensor
    assert constant.carrier.size() == 1
    assert constant.shape == tensor.shape
    assert set(constant.layout.leaf_strides) == {0}


@pytest.mark.rule("T-8")
@pytest.mark.parametrize(
    ("operate", "expected"),
    [
        (lambda t: t - 2.0, [1.0, 10.0]),
        (lambda t: 2.0 - t, [-1.0, -10.0]),
        (lambda t: t / 2.0, [0.5, 5.0]),
    ],
)
def test_the_number_gets_no_gradient(
    filled: Callable[..., Tensor],
    read: Read,
    operate: Callable[[Tensor], Tensor],
    expected: list[float],
) -> None:
    tensor = filled("2:1", [1.0, 2.0])
    result = operate(tensor)
    assert result.autograd_ctx is not None
    constant = next(saved for saved in result.autograd_ctx.inputs() if saved is not tensor)
    result.backward(filled("2:1", [1.0, 10.0]))
    assert tensor.grad is not None and read(tensor.grad) == expected
    assert constant.grad is None


@pytest.mark.rule("T-8")
@pytest.mark.parametrize("other", ["x", None, 1j, [1.0, 2.0]])
@pytest.mark.parametrize(
    "operate",
    [
        lambda a, b: a + b,
        lambda a, b: b + a,
        lambda a, b: a - b,
        lambda a, b: a / b,
        lambda a, b: b / a,
        lambda a, b: a < b,
        lambda a, b: a >= b,
        lambda a, b: a @ b,
    ],
)
def test_another_operand_must_be_a_tensor(
    ramp: Callable[..., Tensor], operate: Callable[[Any, Any], Tensor], other: object
) -> None:
    with pytest.raises(TypeError, match="rhs must be a Tensor"):
        operate(ramp("2:1"), other)


@pytest.mark.rule("T-8")
def test_matmul_takes_no_number(ramp: Callable[..., Tensor]) -> None:
    with pytest.raises(TypeError, match="rhs must be a Tensor, got float"):
        ramp("(2,2):(1,2)") @ 2.0  # type: ignore[operator]


@pytest.mark.rule("T-8")
def test_equality_stays_identity_and_augmented_assignment_rebinds(
    ramp: Callable[..., Tensor], read: Read
) -> None:
    tensor = ramp("2:1")
    before = tensor
    assert (tensor == ramp("2:1")) is False and (tensor != tensor) is False
    tensor += 1.0
    assert tensor is not before and read(before) == [0.0, 1.0] and read(tensor) == [1.0, 2.0]


@pytest.mark.rule("T-8")
@pytest.mark.parametrize("operate", [lambda t: t // 2, lambda t: t % 2, abs])
def test_operators_that_do_not_exist(
    ramp: Callable[..., Tensor], operate: Callable[[Any], object]
) -> None:
    with pytest.raises(TypeError):
        operate(ramp("2:1"))


@pytest.mark.rule("T-8")
def test_exceptions_of_the_function_propagate(ramp: Callable[..., Tensor]) -> None:
    with pytest.raises(ValueError):
        ramp("2:1") + ramp("3:1")
    with pytest.raises(TypeError):
        ramp("2:1") * "x"  # type: ignore[operator]


@pytest.mark.rule("T-8")
def test_power_operator(filled: Callable[..., Tensor], read: Read) -> None:
    tensor = filled("2:1", [2.0, 3.0])
    assert read(tensor**2.0) == [4.0, 9.0]
    assert read(2.0**tensor) == [4.0, 8.0]
    assert read(tensor**tensor) == [4.0, 27.0]
