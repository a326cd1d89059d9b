"""ArrayCarrier, whose patterns are references, agrees with Generic over the whole catalogue."""

from collections.abc import Sequence

import pytest

from strideweave import Carrier, DType, Generic
from strideweave.testing import ArrayCarrier
from strideweave.testing.cases import OperationCase, disagreement, operation_cases, run_case


def on_generic(values: Sequence[float], dtype: DType) -> Carrier:
    return Generic(values, dtype=dtype)


def on_array_carrier(values: Sequence[float], dtype: DType) -> Carrier:
    return ArrayCarrier(0, dtype=dtype).new_like(values)


def by_operation() -> dict[str, list[OperationCase]]:
    grouped: dict[str, list[OperationCase]] = {}
    for case in operation_cases():
        grouped.setdefault(case.operation, []).append(case)
    return grouped


@pytest.mark.rule("C-85", "G-13", "O-65")
@pytest.mark.parametrize("cases", [pytest.param(v, id=k) for k, v in by_operation().items()])
def test_it_agrees_with_generic(cases: list[OperationCase]) -> None:
    found = [
        disagreement(case, run_case(case, on_array_carrier), run_case(case, on_generic))
        for case in cases
    ]
    assert found and [text for text in found if text is not None] == []
