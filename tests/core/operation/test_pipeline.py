"""The stages of one execution on a definition-backed carrier."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    DType,
    Layout,
    ProviderContractError,
    ResultSpec,
    Shape,
    Stride,
    Tensor,
    UnsupportedOperationPlan,
)
from strideweave.carriers.extension import PreparedKernel, ProviderResult, Unsupported
from strideweave.carriers.operation_policy import (
    Arithmetic,
    OperandPlan,
    OperandRole,
    OperationPlan,
)
from strideweave.operation import ResolvedInvocation


def unary_plan(name: str) -> OperationPlan:
    operand = OperandPlan(OperandRole.TENSOR, DType.Float32, DType.Float32)
    return OperationPlan(name, (operand,), Arithmetic.BINARY32, None, None, DType.Float32)


@pytest.mark.rule("O-50", "O-61")
def test_a_definition_call_executes_on_the_operands_carrier(harness: Any) -> None:
    operation, tensor = harness.ready()
    result = operation(tensor)
    assert [result[0], result[1]] == [2.0, 4.0]
    assert type(result.carrier) is type(tensor.carrier)
    assert (tensor.version, result.version, result.autograd_ctx) == (2, 0, None)


@pytest.mark.rule("O-50")
def test_operands_share_one_exact_class(harness: Any) -> None:
    other = harness.tensor(harness.carrier_class(), [1.0, 2.0])
    carrier_class = harness.carrier_class()
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    with pytest.raises(TypeError, match=r"add: carriers must match: rhs lives on Cells\d+"):
        sw.add(tensor, other)


@pytest.mark.rule("O-50")
def test_a_dispatched_operation_demands_its_dispatching_class(harness: Any) -> None:
    operation, tensor = harness.ready()
    other = harness.tensor(harness.carrier_class(), [1.0, 2.0])
    with pytest.raises(TypeError, match="carriers must match"):
        tensor.carrier.dispatch_op(operation.name).forward(other)


@pytest.mark.rule("O-51")
def test_release_is_reported_after_every_semantic_error(harness: Any) -> None:
    operation, tensor = harness.ready(options=[sw.OptionSpec("needed")])
    tensor.carrier.release()
    with pytest.raises(TypeError, match="'needed' is required"):
        operation(tensor)
    with pytest.raises(RuntimeError, match="released"):
        operation(tensor, needed=1)
    # By hand the dispatch itself fails, whatever the name.
    for name in (operation.name, "permute", "no_such_name"):
        with pytest.raises(RuntimeError, match="released"):
            tensor.carrier.dispatch_op(name)


@pytest.mark.rule("O-50", "O-64")
def test_a_plan_nobody_advertises_is_refused_before_any_prepare(harness: Any) -> None:
    operation = harness.operation()
    tensor = harness.tensor(harness.carrier_class(), [1.0])
    with pytest.raises(UnsupportedOperationPlan, match=operation.name):
        operation(tensor)


@pytest.mark.rule("O-42")
def test_a_storage_only_carrier_dispatches_nothing(harness: Any) -> None:
    tensor = harness.tensor(harness.carrier_class(None), [1.0])
    for name in ("add", "permute"):
        with pytest.raises(UnsupportedOperationPlan, match=f"storage-only.*'{name}'"):
            tensor.carrier.dispatch_op(name)


@pytest.mark.rule("O-40", "O-42", "O-47")
def test_dispatch_marks_a_fresh_operation_that_runs_once(harness: Any) -> None:
    operation, tensor = harness.ready()
    first = tensor.carrier.dispatch_op(operation.name)
    assert first is not tensor.carrier.dispatch_op(operation.name)
    assert first._operation_name == operation.name
    assert first._dispatch_carrier_class is type(tensor.carrier)
    assert first.forward(tensor)[1] == 4.0
    with pytest.raises(RuntimeError, match="executes once"):
        first.forward(tensor)
    with pytest.raises(NotImplementedError, match="'nope'"):
        tensor.carrier.dispatch_op("nope")
    with pytest.raises(TypeError, match="must be a str"):
        tensor.carrier.dispatch_op(3)


@pytest.mark.rule("O-58")
def test_by_hand_custom_options_are_a_mapping(harness: Any) -> None:
    operation, tensor = harness.ready(options=[sw.OptionSpec("needed")])
    dispatched = tensor.carrier.dispatch_op(operation.name)
    assert dispatched.forward(tensor, options={"needed": 1})[0] == 2.0
    with pytest.raises(TypeError, match="unknown option"):
        tensor.carrier.dispatch_op(operation.name).forward(tensor, options={"other": 1})


@pytest.mark.rule("O-46")
def test_forward_keywords(harness: Any) -> None:
    operation, tensor = harness.ready()
    with pytest.raises(TypeError, match="no keyword 'foo'"):
        tensor.carrier.dispatch_op(operation.name).forward(tensor, foo=1)
    with pytest.raises(TypeError, match="OperationExecutionOptions"):
        tensor.carrier.dispatch_op(operation.name).forward(tensor, options=3)
    options = sw.carriers.operation_policy.operation_execution_options("reduce_sum")
    with pytest.raises(ValueError, match="made for 'reduce_sum'"):
        tensor.carrier.dispatch_op(operation.name).forward(tensor, options=options)


def result_variants() -> list[Any]:
    vector = Layout(Shape(2), Stride(1))

    def on(tensor: Tensor, layout: Layout, dtype: Any = DType.Float32) -> Tensor:
        return Tensor(tensor.carrier.new_like([0] * layout.cosize, dtype=dtype), 0, layout)

    def released(tensor: Tensor) -> Tensor:
        result = on(tensor, vector)
        result.carrier.release()
        return result

    def recorded(tensor: Tensor) -> Tensor:
        result = on(tensor, vector)
        result.autograd_ctx = sw.Operation()
        return result

    return [
        pytest.param("result_count", lambda t: (on(t, vector), on(t, vector)), id="count"),
        pytest.param("storage_size", released, id="released"),
        pytest.param("dtype", lambda t: on(t, vector, DType.Int32), id="dtype"),
        pytest.param("shape", lambda t: on(t, Layout(Shape(1, 2), Stride(1, 1))), id="shape"),
        pytest.param("layout", lambda t: on(t, Layout(Shape(2), Stride(2))), id="layout"),
        pytest.param("alias", lambda t: t, id="operand itself"),
        pytest.param("autograd", recorded, id="node"),
    ]


@pytest.mark.rule("O-70", "O-71")
@pytest.mark.parametrize(("field", "make"), result_variants())
def test_results_that_contradict_the_specs_publish_nothing(
    harness: Any, field: str, make: Any
) -> None:
    operation = harness.operation(vjp=lambda context, cotangents: cotangents)

    def compute(invocation: Any) -> ProviderResult:
        made = make(invocation.operands[0])
        return ProviderResult(made if isinstance(made, tuple) else (made,))

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    with pytest.raises(ProviderContractError, match=f"{operation.name}: {field}") as caught:
        operation(tensor)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.field == field
    assert (tensor.version, tensor[0], tensor.autograd_ctx) == (2, 1.0, None)


@pytest.mark.rule("O-71")
def test_a_result_on_another_class_is_a_carrier_conflict(harness: Any) -> None:
    operation = harness.operation()
    foreign = harness.carrier_class()
    compute = lambda invocation: ProviderResult([harness.tensor(foreign, [1.0, 2.0])])  # noqa: E731
    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    with pytest.raises(ProviderContractError, match="carrier: result 0 must live on"):
        operation(harness.tensor(carrier_class, [1.0, 2.0]))


@pytest.mark.rule("O-71")
def test_an_undeclared_mutation_is_a_conflict(harness: Any) -> None:
    operation = harness.operation()

    def compute(invocation: Any) -> ProviderResult:
        invocation.operands[0].carrier[0] = 9.0
        result: ProviderResult = harness.doubled(invocation)
        return result

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    with pytest.raises(ProviderContractError, match="mutation"):
        operation(harness.tensor(carrier_class, [1.0, 2.0]))


@pytest.mark.rule("O-71")
@pytest.mark.parametrize("public", [True, False], ids=["public writes", "own storage"])
def test_a_declared_mutation_advances_the_version_once(harness: Any, public: bool) -> None:
    operation = harness.operation(mutated_operands=(0,), alias_of=0)

    def compute(invocation: Any) -> ProviderResult:
        carrier = invocation.operands[0].carrier
        for slot in range(2):
            if public:
                carrier[slot] = 9.0
            else:
                carrier.cells[slot] = 9.0
        return ProviderResult([invocation.operands[0]])

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    assert operation(tensor) is tensor
    assert (tensor.version, tensor[0]) == (3, 9.0)


@pytest.mark.rule("O-50")
def test_a_mutated_operand_has_to_be_mutable(harness: Any) -> None:
    operation = harness.operation(mutated_operands=(0,), alias_of=0)
    carrier_class = harness.carrier_class([harness.pattern(operation, harness.doubled)])
    carrier = carrier_class(2, dtype=DType.Float32, mutable=False)
    with pytest.raises(RuntimeError, match="not mutable"):
        operation(Tensor(carrier, 0, Layout(Shape(2), Stride(1))))


@pytest.mark.rule("O-72")
def test_a_differentiable_exact_alias_is_refused_before_provider_work(harness: Any) -> None:
    calls: list[Any] = []
    operation = harness.operation(alias_of=0, vjp=lambda context, cotangents: cotangents)

    def compute(invocation: Any) -> ProviderResult:
        calls.append(invocation)
        return ProviderResult([invocation.operands[0]])

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    with pytest.raises(ValueError, match="no_grad"):
        operation(tensor)
    assert not calls
    with sw.no_grad():
        assert operation(tensor) is tensor


@pytest.mark.rule("O-71")
def test_an_alias_is_checked_by_identity(harness: Any) -> None:
    operation = harness.operation(alias_of=0)
    carrier_class = harness.carrier_class([harness.pattern(operation, harness.doubled)])
    with pytest.raises(ProviderContractError, match="alias: result 0 must be operand 0"):
        operation(harness.tensor(carrier_class, [1.0, 2.0]))


@pytest.mark.rule("O-64")
def test_candidates_decline_in_order_with_their_reasons(harness: Any) -> None:
    operation = harness.operation()
    template = harness.pattern(operation, harness.doubled)

    def declining(name: str, preference: int) -> sw.KernelPattern:
        return sw.KernelPattern(
            operation,
            template.plans,
            name,
            lambda invocation, interface: Unsupported(f"{name} says no"),
            preference,
        )

    patterns = [declining("slow", 0), declining("fast", 5)]
    refused = harness.tensor(harness.carrier_class(patterns), [1.0, 2.0])
    with pytest.raises(UnsupportedOperationPlan, match="fast: fast says no; slow: slow says no"):
        operation(refused)
    served = harness.tensor(harness.carrier_class([*patterns, template]), [1.0, 2.0])
    assert operation(served)[1] == 4.0


@pytest.mark.rule("O-50", "S-3")
def test_a_prepare_of_another_type_is_terminal(harness: Any) -> None:
    operation = harness.operation()
    fallback = harness.pattern(operation, harness.doubled)
    broken = sw.KernelPattern(operation, fallback.plans, "broken", lambda i, f: 3, 1)  # type: ignore[arg-type,return-value]  # refusal
    tensor = harness.tensor(harness.carrier_class([broken, fallback]), [1.0, 2.0])
    with pytest.raises(TypeError, match=r"'broken'.*prepare must return a PreparedKernel"):
        operation(tensor)


@pytest.mark.rule("O-73")
def test_a_used_record_is_refused_before_submission(harness: Any) -> None:
    operation = harness.operation()
    records: list[PreparedKernel] = []
    submissions: list[int] = []

    def prepare(invocation: Any, interface: Any) -> PreparedKernel:
        def submit() -> ProviderResult:
            submissions.append(1)
            return harness.doubled(invocation)  # type: ignore[no-any-return]  # the fixture is untyped

        if not records:
            records.append(PreparedKernel(interface, submit))
        return records[0]

    plans = harness.pattern(operation, harness.doubled).plans
    pattern = sw.KernelPattern(operation, plans, "once", prepare)
    tensor = harness.tensor(harness.carrier_class([pattern]), [1.0, 2.0])
    operation(tensor)
    with pytest.raises(TypeError, match="submitted before"):
        operation(tensor)
    assert len(submissions) == 1


@pytest.mark.rule("O-73")
def test_provider_work_runs_with_the_graph_off(harness: Any) -> None:
    seen: list[bool] = []
    operation = harness.operation(vjp=lambda context, cotangents: cotangents)

    def compute(invocation: Any) -> Any:
        seen.append(sw.is_grad_enabled())
        return harness.doubled(invocation)

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    operation(harness.tensor(carrier_class, [1.0, 2.0]))
    assert seen == [False]
    assert sw.is_grad_enabled()


class Completion:
    """A completion that becomes done in wait()."""

    def __init__(self, value: Any) -> None:
        self.done = False
        self.value = value

    def wait(self) -> Any:
        self.done = True
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.mark.rule("O-73")
def test_the_call_waits_for_a_completion(harness: Any) -> None:
    operation = harness.operation()
    compute = lambda invocation: Completion(harness.doubled(invocation))  # noqa: E731
    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    assert operation(harness.tensor(carrier_class, [1.0, 2.0]))[1] == 4.0


@pytest.mark.rule("O-73")
@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (3, TypeError, "ProviderResult"),
        (KeyError("device lost"), KeyError, "device lost"),
    ],
)
def test_a_completion_that_fails(
    harness: Any, value: Any, error: type[Exception], text: str
) -> None:
    operation = harness.operation()
    carrier_class = harness.carrier_class(
        [harness.pattern(operation, lambda invocation: Completion(value))]
    )
    tensor = harness.tensor(carrier_class, [1.0, 2.0])
    with pytest.raises(error, match=text):
        operation(tensor)
    assert (tensor.version, tensor[1]) == (2, 2.0)


@pytest.mark.rule("O-50")
def test_an_exception_of_submit_propagates_with_a_note(harness: Any) -> None:
    operation = harness.operation()
    failure = OSError("no device")

    def compute(invocation: Any) -> Any:
        raise failure

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    with pytest.raises(OSError, match="no device") as caught:
        operation(harness.tensor(carrier_class, [1.0, 2.0]))
    assert caught.value is failure
    (note,) = failure.__notes__
    assert carrier_class.__qualname__ in note and "submit" in note and operation.name in note


@pytest.mark.rule("O-61")
def test_several_results_come_as_a_tuple(harness: Any) -> None:
    vector = Layout(Shape(2), Stride(1))
    spec = ResultSpec(DType.Float32, vector.shape, vector)

    def resolve(call: Any) -> ResolvedInvocation:
        return ResolvedInvocation(call, unary_plan(call.definition.name), (spec, spec))

    operation = harness.operation(resolve=resolve)

    def compute(invocation: Any) -> ProviderResult:
        first, second = harness.doubled(invocation), harness.doubled(invocation)
        return ProviderResult([*first.outputs, *second.outputs])

    carrier_class = harness.carrier_class([harness.pattern(operation, compute)])
    results = operation(harness.tensor(carrier_class, [1.0, 2.0]))
    assert isinstance(results, tuple) and [r[1] for r in results] == [4.0, 4.0]
