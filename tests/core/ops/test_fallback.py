"""Gradients on carriers that execute or store little."""

from collections.abc import Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.extension import reference_pattern
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import operation_definition
from strideweave.testing.cases import gradient_cases, gradient_disagreement

NAMES = [
    *("relu", "elu", "leaky_relu", "abs", "sigmoid", "gelu", "pow", "rem", "clamp", "mul"),
    *("maximum", "minimum", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "matmul"),
    *("_batched_matmul", "conv_general"),
    *("concat", "pad", "_sort_values", "_topk_values"),
]


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


def executing_only(workshop: Any, name: str) -> type[Any]:
    """A class that stores Float32 alone and executes one operation."""
    float32 = sw.DType.Float32
    capabilities = [
        sw.OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation == name
        and all(entry.dtype in (None, float32) for entry in plan.operands)
        and plan.output is float32
    ]
    made: type[Any] = workshop.defined(
        [reference_pattern(operation_definition(name), capabilities)],
        storage=workshop.storage(supports_dtype=lambda carrier, dtype: dtype is float32),
    )
    return made


@pytest.mark.rule("S-1", "F-14")
def test_backward_works_where_forward_works(name: str, workshop: Any) -> None:
    carrier_class = executing_only(workshop, name)

    def make_carrier(values: Sequence[Any], dtype: Any) -> sw.Carrier:
        made: sw.Carrier = carrier_class(0, dtype=dtype).new_like(values)
        return made

    cases = [
        case
        for case in gradient_cases()
        if case.operation == name and "Int32" not in case.name and "contiguous" in case.name
    ]
    assert cases
    for case in cases:
        assert gradient_disagreement(case, make_carrier) is None


@pytest.mark.rule("S-1")
def test_gradients_stay_on_the_class_of_their_operand(workshop: Any) -> None:
    carrier_class = executing_only(workshop, "maximum")
    lhs, rhs = workshop.tensor(carrier_class, 1.0, 5.0), workshop.tensor(carrier_class, 3.0, 2.0)
    output = sw.maximum(lhs, rhs)
    output.backward(workshop.tensor(carrier_class, 1.0, 10.0))
    assert type(lhs.grad.carrier) is type(rhs.grad.carrier) is carrier_class
    assert (lhs.grad.tolist(), rhs.grad.tolist()) == ([0.0, 10.0], [1.0, 0.0])
    with pytest.raises(sw.UnsupportedOperationPlan):
        sw.minimum(lhs, rhs)


@pytest.mark.rule("S-1", "O-83")
def test_explain_tells_which_parts_of_a_gradient_fall_back(workshop: Any) -> None:
    carrier_class = executing_only(workshop, "exp")
    explained = sw.explain("exp", workshop.tensor(carrier_class, 1.0, 5.0))
    assert [(step.operation, step.by_reference) for step in explained.gradient] == [
        ("exp", False),
        ("mul", True),
    ]
    assert str(explained).endswith(
        "\n  gradient falls back: mul (Float32 as Float32, Float32 as Float32) -> Float32, binary32"
    )


@pytest.mark.rule("O-83")
def test_explain_finds_no_gradient_where_no_graph_is_recorded(workshop: Any) -> None:
    tensor = workshop.tensor(executing_only(workshop, "sign"), 1.0, 5.0)
    assert sw.explain("eq", tensor, tensor).gradient == ()
