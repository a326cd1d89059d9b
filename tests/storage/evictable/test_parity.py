"""A hierarchy agrees with its primary over the whole catalogue."""

from collections.abc import Sequence

import pytest

from strideweave import Carrier, DType, Evictable, Generic
from strideweave.testing.cases import OperationCase, disagreement, operation_cases, run_case


def on_generic(values: Sequence[float], dtype: DType) -> Carrier:
    return Generic(values, dtype=dtype)


def on_hierarchy(values: Sequence[float], dtype: DType) -> Carrier:
    return Evictable(Generic(values, dtype=dtype), Generic([], dtype=dtype))


@pytest.mark.rule("C-80", "C-81", "G-13")
def test_it_agrees_with_generic() -> None:
    cases: list[OperationCase] = list(operation_cases())
    found = [
        disagreement(case, run_case(case, on_hierarchy), run_case(case, on_generic))
        for case in cases
    ]
    assert found and [text for text in found if text is not None] == []
