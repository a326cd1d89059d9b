"""explain: the dispatch of a call, without executing it."""

from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.extension import PreparedKernel, Unsupported
from strideweave.testing import ArrayCarrier

pytestmark = pytest.mark.rule("O-83")


def test_candidates_in_preparation_order_until_one_accepts(harness: Any) -> None:
    operation = harness.operation(vjp=lambda context, cotangents: cotangents)
    submitted: list[str] = []

    def pattern(name: str, preference: int, reason: str | None) -> sw.KernelPattern:
        def prepare(invocation: Any, interface: Any) -> Any:
            if reason is not None:
                return Unsupported(reason)
            return PreparedKernel(interface, lambda: submitted.append(name))  # type: ignore[arg-type,return-value]  # never submitted

        plans = harness.pattern(operation, harness.doubled).plans
        return sw.KernelPattern(operation, plans, name, prepare, preference)

    patterns = [
        pattern("last", -1, None),
        pattern("general", 0, None),
        pattern("aligned", 7, "offset 3 is odd"),
    ]
    tensor = harness.tensor(harness.carrier_class(patterns), [1.0, 2.0])
    explanation = sw.explain(operation, tensor)
    assert explanation.definition is operation
    assert explanation.capability is not None and explanation.reason is None
    assert [(c.kernel_id, c.preference, c.rejection) for c in explanation.candidates] == [
        ("aligned", 7, "offset 3 is odd"),
        ("general", 0, None),
        ("last", -1, None),
    ]
    assert explanation.winner is explanation.candidates[1]
    assert str(explanation).splitlines() == [
        operation.name,
        "  plan: (Float32 as Float32) -> Float32, binary32",
        "  result: Float32 2:1",
        "  declined (offset 3 is odd): aligned (preference 7)",
        "  runs: general (preference 0)",
        "  not asked: last (preference -1)",
    ]
    assert not submitted and tensor.version == 2 and tensor.autograd_ctx is None
    with pytest.raises(AttributeError):
        explanation.winner = None  # type: ignore[misc]  # the refusal under test


def test_a_refusal_says_why(harness: Any) -> None:
    operation = harness.operation()
    tensor = harness.tensor(harness.carrier_class(), [1.0])
    explanation = sw.explain(operation.name, tensor)
    assert (explanation.capability, explanation.winner, explanation.candidates) == (None, None, ())
    assert explanation.reason == tensor.carrier.unsupported_plan_reason(explanation.plan)
    assert "refused: " in str(explanation)


def test_every_candidate_may_decline(harness: Any) -> None:
    operation = harness.operation()
    plans = harness.pattern(operation, harness.doubled).plans
    patterns = [sw.KernelPattern(operation, plans, "a", lambda i, f: Unsupported("no"))]
    explanation = sw.explain(operation, harness.tensor(harness.carrier_class(patterns), [1.0]))
    assert explanation.winner is None and explanation.candidates[0].rejection == "no"


def test_a_public_function_takes_its_own_arguments(harness: Any) -> None:
    tensor = harness.tensor(harness.carrier_class(), [1.0, 2.0])
    explanation = sw.explain(sw.reduce_sum, tensor, "a -> 1")
    assert explanation.definition.name == "reduce_sum"
    assert str(explanation.results[0].layout) == "1:1"
    # The thread executes again afterwards.
    operation, served = harness.ready()
    assert operation(served)[0] == 2.0


@pytest.mark.rule("O-83", "F-38", "X-55")
def test_results_are_those_the_caller_gets() -> None:
    rows, columns = (sw.friendly.ones(extent, 3, carrier=ArrayCarrier) for extent in (2, 4))
    (spec,) = sw.explain(sw.einsum, rows, columns, "a b, c b -> c a").results
    assert str(spec.layout) == "(4,2):(2,1)"
    images = sw.friendly.ones(2, 1, 5, carrier=ArrayCarrier)
    kernel = sw.friendly.ones(4, 1, 3, carrier=ArrayCarrier)
    call = (sw.conv_general, images, kernel, (1,), ((0, 0),))
    (spec,) = sw.explain(*call, output_dims=(2, 0, 1)).results
    assert str(spec.layout) == "(3,2,4):(8,1,2)"
    assert spec.shape == spec.layout.shape and spec.rtol == 1e-5


def test_errors_up_to_live_propagate(harness: Any) -> None:
    operation, tensor = harness.ready()
    with pytest.raises(LookupError, match="'nope'"):
        sw.explain("nope", tensor)
    with pytest.raises(TypeError, match="operation must be"):
        sw.explain(3, tensor)  # type: ignore[arg-type]  # the refusal is the point
    with pytest.raises(TypeError, match="dispatches no operation"):
        sw.explain(len, [1])  # type: ignore[arg-type]  # the refusal is the point
    with pytest.raises(TypeError, match="must be a Tensor"):
        sw.explain(operation, 3)
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        sw.explain(operation, tensor)
