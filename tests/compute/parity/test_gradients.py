"""Gradients on CPU and ArrayCarrier agree with Generic, at special values too."""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Generic, Tensor
from strideweave.testing import ArrayCarrier
from strideweave.testing.cases import (
    OperationCase,
    call_case,
    gradient_cases,
    gradient_disagreement,
    operand,
    operation_cases,
)

MakeCarrier = Callable[[Sequence[Any], Any], Carrier]
COTANGENTS = ((1.0, -0.5, 2.0, 0.25, -1.5), (math.inf, 1.0, -0.0, math.nan, -math.inf, 0.0))
HUGE_COTANGENTS = ((3e38, -1e-40, -3e38),)
"""Sums in free order agree only while their terms and partial sums stay finite."""
CARRIERS: dict[str, MakeCarrier] = {
    "cpu": lambda values, dtype: CPU(0, dtype=dtype).new_like(values),
    "array": lambda values, dtype: ArrayCarrier(0, dtype=dtype).new_like(values),
}


def on_generic(values: Sequence[Any], dtype: Any) -> Carrier:
    return Generic(values, dtype=dtype)


def differentiable_cases() -> dict[str, list[OperationCase]]:
    differentiable = {case.operation for case in gradient_cases()}
    grouped: dict[str, list[OperationCase]] = {name: [] for name in sorted(differentiable)}
    for case in operation_cases():
        if case.operation in differentiable:
            grouped[case.operation].append(case)
    return grouped


CASES = differentiable_cases()


def gradients(
    case: OperationCase, seed: Sequence[float], make_carrier: MakeCarrier
) -> list[Tensor]:
    operands = case.build(make_carrier)
    output = call_case(case, operands)
    wanted = [
        given for given in operands if isinstance(given, Tensor) and given.is_differentiable()
    ]
    if not wanted or not output.is_differentiable():
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


def disagreement(
    case: OperationCase, seed: Sequence[float], make_carrier: MakeCarrier
) -> str | None:
    pairs = zip(gradients(case, seed, make_carrier), gradients(case, seed, on_generic), strict=True)
    for position, (actual, expected) in enumerate(pairs):
        if (actual.layout, actual.dtype()) != (expected.layout, expected.dtype()):
            return f"{case}: gradient {position} is {actual}, on Generic {expected}"
        values = [(actual[at], expected[at]) for at in range(expected.size())]
        scale = max((abs(value) for _, value in values if math.isfinite(value)), default=0.0)
        for ordinal, (found, wanted) in enumerate(values):
            if not agree(case, found, wanted, scale):
                return f"{case}: gradient {position} at {ordinal} is {found!r}, not {wanted!r}"
    return None


@pytest.mark.rule("G-13", "F-14", "F-17", "F-20", "F-21", "F-22", "F-25", "F-28", "F-30", "S-1")
@pytest.mark.parametrize("operation", CASES)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_they_agree_with_generic(carrier: str, operation: str) -> None:
    found = [
        disagreement(case, seed, CARRIERS[carrier])
        for case in CASES[operation]
        for seed in (*COTANGENTS, *(() if case.agreement == "sum" else HUGE_COTANGENTS))
    ]
    assert found and [text for text in found if text is not None] == []


@pytest.mark.slow
@pytest.mark.rule("G-13", "F-14", "S-1")
@pytest.mark.parametrize("operation", CASES)
def test_they_agree_with_central_differences(operation: str) -> None:
    """On CPU; in every run ArrayCarrier does."""
    for case in gradient_cases():
        if case.operation == operation:
            assert gradient_disagreement(case, CARRIERS["cpu"]) is None
