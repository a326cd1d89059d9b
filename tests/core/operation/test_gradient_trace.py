"""What an explanation says of the gradient."""

from collections.abc import Sequence
from typing import Any

import pytest

import strideweave as sw
import strideweave.operation.evaluation as evaluation
from strideweave.operation import operation_definition
from strideweave.testing import ArrayCarrier
from strideweave.testing.cases import gradient_cases
from strideweave.testing.operation_case import OperationCase, call_case

CASES = [
    case
    for case in gradient_cases()
    if case.description is None and "contiguous" in case.name and "Int32" not in case.name
]


def make_carrier(values: Sequence[Any], dtype: Any) -> sw.Carrier:
    return ArrayCarrier(0, dtype=dtype).new_like(values)


@pytest.mark.rule("S-1", "O-83")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_steps_are_those_that_backward_evaluates(
    case: OperationCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    operands = case.build(make_carrier)
    definition = operation_definition(case.operation)
    explained = sw.explain(definition, *operands, **case.options)
    result = call_case(case, operands)
    evaluated: list[Any] = []

    def resolve(*arguments: Any) -> Any:
        resolution, invocation = resolved(*arguments)
        evaluated.append(resolution.plan)
        return resolution, invocation

    resolved = vars(evaluation)["resolve"]
    node = result.autograd_ctx
    assert node is not None
    cotangent = sw.Tensor(result.carrier.new_like([1.0] * result.layout.cosize), 0, result.layout)
    monkeypatch.setattr(evaluation, "resolve", resolve)
    node.backward(cotangent)
    assert [step.plan for step in explained.gradient] == list(dict.fromkeys(evaluated))
