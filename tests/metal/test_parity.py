"""Metal agrees with Generic over every advertised plan x layout family x special values."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from strideweave import Carrier, DType, Generic, Layout, Metal, Tensor, UnsupportedOperationPlan
from strideweave.carriers.operation_capability import capabilities_for_carrier_class
from strideweave.testing.cases import (
    OperandCase,
    OperationCase,
    disagreement,
    operand,
    operation_cases,
    run_case,
)

MakeCarrier = Callable[[Sequence[Any], Any], Carrier]


def on_generic(values: Sequence[Any], dtype: DType) -> Carrier:
    return Generic(values, dtype=dtype)


def by_operation() -> dict[str, list[OperationCase]]:
    grouped: dict[str, list[OperationCase]] = {}
    for case in operation_cases():
        grouped.setdefault(case.operation, []).append(case)
    return grouped


CASES = by_operation()


@pytest.mark.rule("MT-53", "MT-32", "MT-20", "MT-30", "G-13", "F-12", "F-16")
@pytest.mark.parametrize("cases", [pytest.param(v, id=k) for k, v in CASES.items()])
def test_it_agrees_with_generic_or_refuses(
    cases: list[OperationCase], on_metal: MakeCarrier
) -> None:
    """Every plan that Metal advertises runs; the cases of the others are refused."""
    executed, refused, wrong = set(), set(), []
    for case in cases:
        signature = plan_signature(case)
        try:
            actual = run_case(case, on_metal)
        except UnsupportedOperationPlan:
            refused.add(signature)
            continue
        executed.add(signature)
        assert type(actual.carrier) is Metal and actual.carrier._slots is not None
        assert np.asarray(actual.carrier._slots).flags.c_contiguous
        wrong.append(disagreement(case, actual, run_case(case, on_generic)))
    assert [text for text in wrong if text is not None] == []
    assert not executed & refused
    advertised = capabilities_for_carrier_class(Metal)
    assert len(executed) == sum(plan.operation == cases[0].operation for plan in advertised)


def plan_signature(case: OperationCase) -> tuple[object, ...]:
    """Name the plan of a case as the corpus does, before its layouts."""
    return (case.name.split(")")[0], "Float64" in case.name)


@pytest.mark.rule("MT-53", "MT-30")
def test_every_advertised_operation_has_cases() -> None:
    assert set(CASES) == {entry.operation for entry in capabilities_for_carrier_class(Metal)}


POINTWISE = ("add", "sub", "elementwise_mul", "div", "pow", "maximum", "minimum", "rem")


@pytest.mark.rule("MT-53", "MT-20", "G-13")
@pytest.mark.parametrize("operation", POINTWISE)
def test_special_values_in_every_pair(operation: str, on_metal: MakeCarrier) -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 1e-40, -1e-40, 3e38, -3e38, 16777217.0]
    values += [float("inf"), float("-inf"), float("nan"), 89.0, -104.0, 1.1754943508222875e-38]
    count = len(values)
    column = operand(DType.Float32, values, Layout.parse(f"({count},{count}):(2,0)"), 1)
    row = operand(DType.Float32, values, Layout.parse(f"({count},{count}):(0,3)"), 2)
    agreement = "library" if operation == "pow" else "exact"
    case = OperationCase("every pair", operation, (column, row), agreement=agreement)
    found = disagreement(case, run_case(case, on_metal), run_case(case, on_generic))
    assert found is None


@pytest.mark.rule("MT-20", "MT-21", "MT-53")
def test_twelve_nested_leaves_with_holes_and_broadcasts(on_metal: MakeCarrier) -> None:
    layout = Layout.parse(
        "((2,(2,1)),(2,(2,(2,2))),2,(1,2),2,2):((0,(1,7)),(4,(0,(16,32))),64,(3,0),200,500)"
    )
    values = [float(number % 23 - 11) for number in range(layout.size)]
    case = OperationCase("deep", "neg", (operand(DType.Float32, values, layout, 5),))
    assert len(layout.leaf_extents) == 12
    assert disagreement(case, run_case(case, on_metal), run_case(case, on_generic)) is None


@pytest.mark.rule("MT-20")
def test_the_example_of_the_contract(on_metal: MakeCarrier) -> None:
    carrier = on_metal([float(slot) for slot in range(13)], DType.Float32)
    tensor = Tensor(carrier, 1, Layout.parse("(2,(2,3)):(1,(6,2))"))
    given = OperandCase(DType.Float32, tuple(map(float, range(13))), 1, tensor.layout)
    result = run_case(OperationCase("negated", "neg", (given,)), on_metal)
    slots = [1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12]
    assert [tensor[ordinal] for ordinal in range(12)] == [float(slot) for slot in slots]
    assert [result[ordinal] for ordinal in range(12)] == [-float(slot) for slot in slots]
