"""What resolve may return, and what the framework refuses before it looks for a kernel."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, ResultSpec, Shape, Stride, Tensor
from strideweave.operation import BoundOperationCall, ResolvedInvocation, VJPContext

VECTOR = Layout(Shape(2), Stride(1))
SPEC = ResultSpec(DType.Float32, VECTOR.shape, VECTOR)


def plan_of(call: Any, dtype: Any = DType.Float32, output: Any = None) -> Any:
    from strideweave.carriers.operation_policy import (
        Arithmetic,
        OperandPlan,
        OperandRole,
        OperationPlan,
    )

    return OperationPlan(
        call.definition.name,
        (OperandPlan(OperandRole.TENSOR, dtype, dtype),),
        Arithmetic.BINARY32,
        None,
        None,
        output or dtype,
    )


@pytest.mark.rule("O-56", "O-76")
@pytest.mark.parametrize("kind", [BoundOperationCall, VJPContext])
def test_framework_records_cannot_be_constructed(kind: type) -> None:
    with pytest.raises(TypeError, match="created by the framework"):
        kind()


@pytest.mark.rule("O-56", "O-62")
def test_the_call_and_the_invocation_are_read_only_and_complete(harness: Any) -> None:
    seen: list[Any] = []

    def resolve(call: BoundOperationCall) -> ResolvedInvocation:
        seen.append(call)
        return ResolvedInvocation(call, plan_of(call), iter([SPEC]))

    operation = harness.operation(resolve=resolve, options=[sw.OptionSpec("scale", 3)])

    def compute(invocation: Any) -> Any:
        seen.append(invocation)
        return harness.doubled(invocation)

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    operation(tensor)
    call, invocation = seen
    assert call.definition is operation and call.schema is operation.schema
    assert call.operands == (tensor,) and call.sources == (tensor,)
    assert dict(call.options) == {"scale": 3}
    assert invocation.call is call and invocation.definition is operation
    assert invocation.name == operation.name and invocation.kernel_id == operation.name
    assert invocation.operands == (tensor,) and invocation.results == (SPEC,)
    assert invocation.options["scale"] == 3
    for record, field in ((call, "operands"), (invocation, "plan"), (invocation, "extra")):
        with pytest.raises(AttributeError, match="read-only"):
            setattr(record, field, ())
    with pytest.raises(TypeError):
        call.options["scale"] = 4


def invalid_invocations() -> list[Any]:
    return [
        pytest.param(lambda call: 3, TypeError, "must return a ResolvedInvocation", id="type"),
        pytest.param(
            lambda call: ResolvedInvocation(3, plan_of(call), (SPEC,)),  # type: ignore[arg-type]  # refusal
            TypeError,
            "call must be the BoundOperationCall",
            id="call",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, 3, (SPEC,)),  # type: ignore[arg-type]  # refusal
            TypeError,
            "plan must be an OperationPlan",
            id="plan",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), SPEC),  # type: ignore[arg-type]  # refusal
            TypeError,
            "results must be an iterable",
            id="results",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), (SPEC,), (True,)),
            TypeError,
            r"mutated_operands\[0\]",
            id="bool index",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), (SPEC,), kernel_id=3),  # type: ignore[arg-type]  # refusal
            TypeError,
            "kernel_id must be a str",
            id="kernel_id type",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), ()),
            ValueError,
            "at least one ResultSpec",
            id="no results",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), (SPEC,), (1,)),
            ValueError,
            "names operand 1",
            id="out of range",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), (SPEC,), (), (0, 0)),
            ValueError,
            "twice",
            id="repeated",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(
                call,
                plan_of(call),
                (ResultSpec(DType.Float32, VECTOR.shape, VECTOR, alias_of=4),),
            ),
            ValueError,
            "alias_of names operand 4",
            id="alias",
        ),
        pytest.param(
            lambda call: ResolvedInvocation(call, plan_of(call), (SPEC,), kernel_id=""),
            ValueError,
            "kernel_id must not be empty",
            id="kernel_id",
        ),
    ]


@pytest.mark.rule("O-61", "O-62")
@pytest.mark.parametrize(("resolve", "error", "text"), invalid_invocations())
def test_faulty_invocations_are_refused(
    harness: Any, resolve: Any, error: type[Exception], text: str
) -> None:
    operation = harness.operation(resolve=resolve)
    tensor = harness.tensor(harness.carrier_class(), [1.0, 2.0])
    with pytest.raises(error, match=text):
        operation(tensor)


@pytest.mark.rule("O-61")
def test_an_invocation_of_another_call_is_refused(harness: Any) -> None:
    kept: list[Any] = []

    def resolve(call: Any) -> Any:
        kept.append(ResolvedInvocation(call, plan_of(call), (SPEC,)))
        return kept[0]

    operation = harness.operation(resolve=resolve)
    carrier_class = harness.carrier_class([harness.pattern(operation, harness.doubled)])
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    assert operation(tensor)[1] == 4.0
    with pytest.raises(ValueError, match="another call"):
        operation(tensor)


@pytest.mark.rule("O-63")
@pytest.mark.parametrize(
    ("resolve", "text"),
    [
        (
            lambda call: ResolvedInvocation(call, plan_of(call, DType.Int32), (SPEC,)),
            "the plan gives tensor the dtype",
        ),
        (
            lambda call: ResolvedInvocation(call, plan_of(call, output=DType.Int32), (SPEC,)),
            "is not the plan's output",
        ),
        (
            lambda call: ResolvedInvocation(
                call,
                plan_of(call),
                (ResultSpec(DType.Float32, Shape(1), Layout(Shape(1), Stride(1)), 0),),
            ),
            "aliases operand 0",
        ),
    ],
)
def test_a_plan_that_contradicts_the_call_is_refused(harness: Any, resolve: Any, text: str) -> None:
    operation = harness.operation(resolve=resolve)
    tensor = harness.tensor(harness.carrier_class(), [1.0, 2.0])
    with pytest.raises(ValueError, match=text):
        operation(tensor)


@pytest.mark.rule("O-55", "O-57")
@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda operation, t: operation(), "takes the operands"),
        (lambda operation, t: operation(t, t), "takes the operands"),
        (lambda operation, t: operation(t, needed=1, other=2), "unknown option 'other'"),
        (lambda operation, t: operation(t), "'needed' is required"),
        (lambda operation, t: operation(3), "'needed' is required"),
        (lambda operation, t: operation(3, needed=1), "tensor must be a Tensor, got int"),
    ],
)
def test_binding_failures_in_order(harness: Any, call: Any, text: str) -> None:
    operation = harness.operation(options=[sw.OptionSpec("needed")])
    tensor: Tensor = harness.tensor(harness.carrier_class(), [1.0])
    with pytest.raises(TypeError, match=text):
        call(operation, tensor)
