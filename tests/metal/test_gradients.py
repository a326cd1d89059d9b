"""Gradients on Metal agree with Generic, stay on Metal, and keep their layout."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Generic, Metal, Tensor, UnsupportedOperationPlan
from strideweave.testing.cases import (
    OperationCase,
    call_case,
    gradient_cases,
    operand,
    operation_cases,
)

MakeCarrier = Callable[[Sequence[Any], Any], Carrier]
COTANGENT = (math.inf, 1.0, -0.0, math.nan, -math.inf, 0.0, -0.5, 2.0)
"""The conformance kit has finite ones, over values around which everything is smooth."""
DIFFERENTIABLE = sorted({case.operation for case in gradient_cases()})


def on_generic(values: Sequence[Any], dtype: Any) -> Carrier:
    return Generic(values, dtype=dtype)


def gradients(
    case: OperationCase, seed: Sequence[float], make_carrier: MakeCarrier
) -> list[Tensor]:
    operands = case.build(make_carrier)
    output = call_case(case, operands)
    wanted = [
        entry for entry in operands if isinstance(entry, Tensor) and entry.is_differentiable()
    ]
    if not wanted:
        return []
    cotangent = operand(DType.Float32, seed, output.layout).tensor(make_carrier)
    found = sw.grad(output, wanted, cotangent)
    assert None not in found
    return [gradient for gradient in found if gradient is not None]


def agree(case: OperationCase, actual: float, expected: float, scale: float) -> bool:
    if math.isnan(expected):
        return math.isnan(actual)
    if case.agreement == "exact":
        return struct.pack("f", actual) == struct.pack("f", expected)
    return actual == expected or abs(actual - expected) <= 1e-6 + 1e-5 * scale


@pytest.mark.rule("MT-32", "MT-53", "G-13", "F-14", "F-17")
@pytest.mark.parametrize("operation", DIFFERENTIABLE)
def test_they_agree_with_generic_and_stay_on_metal(operation: str, on_metal: MakeCarrier) -> None:
    compared = 0
    for case in operation_cases():
        if case.operation != operation:
            continue
        try:
            actual = gradients(case, COTANGENT, on_metal)
        except UnsupportedOperationPlan:
            continue
        for mine, wanted in zip(actual, gradients(case, COTANGENT, on_generic), strict=True):
            assert type(mine.carrier) is Metal and mine.layout == wanted.layout
            pairs = [(mine[at], wanted[at]) for at in range(wanted.size())]
            scale = max((abs(value) for _, value in pairs if math.isfinite(value)), default=0.0)
            wrong = [pair for pair in pairs if not agree(case, *pair, scale)]
            assert not wrong, (str(case), wrong[0])
            compared += 1
    assert compared > 0


@pytest.mark.rule("MT-32", "F-35")
def test_the_gradient_of_a_training_step_is_on_metal(make_tensor: Callable[..., Tensor]) -> None:
    weights = make_tensor([0.5, -1.0, 2.0, 0.25, 1.0, -0.5], "(2,3):(3,1)")
    inputs = make_tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "(2,3):(1,2)")
    loss = sw.reduce_sum(sw.relu(sw.matmul(inputs, weights)), "a b -> 1")
    loss.backward()
    assert weights.grad is not None and type(weights.grad.carrier) is Metal
    # Rows of inputs are (1, 3, 5) and (2, 4, 6), those of weights (0.5, -1, 2) and (0.25, 1, -0.5),
    # so all products are positive: 7.5, 9, 0.75 and 1.5.
    assert loss.item() == 7.5 + 9.0 + 0.75 + 1.5
    assert weights.grad.tolist() == [[3.0, 7.0, 11.0], [3.0, 7.0, 11.0]]
    assert weights.grad.layout == weights.layout
