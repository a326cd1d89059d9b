"""CPU agrees with Generic over operation x dtype plan x layout family x special values."""

from collections.abc import Sequence

import pytest

from strideweave import CPU, Carrier, DType, Generic
from strideweave.carriers.operation_capability import capabilities_for_carrier_class
from strideweave.testing.cases import OperationCase, disagreement, operation_cases, run_case


def on_generic(values: Sequence[float], dtype: DType) -> Carrier:
    return Generic(values, dtype=dtype)


def on_cpu(values: Sequence[float], dtype: DType) -> Carrier:
    return CPU(0, dtype=dtype).new_like(values)


def by_operation() -> dict[str, list[OperationCase]]:
    grouped: dict[str, list[OperationCase]] = {}
    for case in operation_cases():
        grouped.setdefault(case.operation, []).append(case)
    return grouped


CASES = by_operation()


@pytest.mark.rule("G-13", "O-65", "F-12", "F-16")
@pytest.mark.parametrize("cases", [pytest.param(v, id=k) for k, v in CASES.items()])
def test_it_agrees_with_generic(cases: list[OperationCase]) -> None:
    found = [
        disagreement(case, run_case(case, on_cpu), run_case(case, on_generic)) for case in cases
    ]
    assert found and [text for text in found if text is not None] == []


@pytest.mark.rule("O-30")
def test_every_executed_operation_has_cases() -> None:
    assert set(CASES) == {entry.operation for entry in capabilities_for_carrier_class(CPU)}
