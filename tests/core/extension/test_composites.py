"""Dependent carriers that execute through the carriers they compose."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DependentCarrier, DType, Tensor, Unsupported
from strideweave.carriers.extension import PreparedComposite, ProviderResult
from strideweave.carriers.operation_capability import (
    capabilities_for_carrier_class,
    register_operation_capabilities,
)
from strideweave.operation import bind_kernel

FLOAT32, INT32 = DType.Float32, DType.Int32


class Composing:
    """A dependent class whose composite runs operations on ``carrier.inner``."""

    def __init__(self, workshop: Any, **changes: Any) -> None:
        self.workshop = workshop
        self.calls: list[str] = []
        callbacks = {
            "capabilities": lambda carrier: carrier.inner.operation_capabilities(),
            "result_carriers": self.result_carriers,
            "prepare": self.prepare,
        }
        self.carrier_class = workshop.dependent(workshop.composite(**(callbacks | changes)))

    def result_carriers(self, carrier: Any, invocation: Any) -> Any:
        self.calls.append("result_carriers")
        return (type(carrier.inner),)

    def prepare(self, carrier: Any, invocation: Any) -> PreparedComposite:
        self.calls.append("prepare")

        def submit() -> ProviderResult:
            outer = invocation.operands[0]
            values = [outer[ordinal] for ordinal in range(outer.size())]
            inner = self.workshop.over(carrier.inner.new_like(values))
            return ProviderResult([invocation.definition(inner)])

        return PreparedComposite(submit)

    def tensor(self, inner: Any, *values: float) -> Tensor:
        carrier = self.carrier_class(inner, len(values))
        for slot, value in enumerate(values):
            carrier[slot] = value
        tensor: Tensor = self.workshop.over(carrier)
        return tensor


@pytest.mark.rule("R-52", "R-53", "R-54", "R-57", "R-60")
def test_a_composite_executes_through_its_dependency(workshop: Any) -> None:
    operation = workshop.operation()
    inner = workshop.defined([workshop.pattern(operation)])(1, dtype=FLOAT32)
    composing = Composing(workshop)
    tensor = composing.tensor(inner, 1.0, 3.0)
    result = operation(tensor)
    assert result.tolist() == [2.0, 6.0] and type(result.carrier) is type(inner)
    assert composing.calls == ["result_carriers", "prepare"]
    assert tensor.version == 2


@pytest.mark.rule("R-61", "R-62", "R-65")
def test_compose_a_definition_free_compute_carrier(workshop: Any) -> None:
    """A definition-free class with a dispatch hook stands for CPU and Metal."""
    operation = workshop.operation()

    class Compute(Carrier):
        def __init__(self, values: Any) -> None:
            super().__init__()
            self.values = list(values)

        def size(self) -> int:
            return len(self.values)

        def dtype(self) -> DType:
            return FLOAT32

        def get_value(self, index: Any) -> Any:
            return self.values[index]

        def new_like(self, values: Any, *, mutable: bool = True, dtype: Any = None) -> Any:
            return Compute(values)

        def _dispatch_op(self, operation_name: str) -> Any:
            return bind_kernel(operation_name, lambda call: workshop.doubled(call).outputs)

    register_operation_capabilities(Compute, [workshop.capability(operation.name)])
    composing = Composing(workshop)
    free = composing.tensor(Compute([0.0]), 1.0, 3.0)
    defined = composing.tensor(
        workshop.defined([workshop.pattern(operation)])(1, dtype=FLOAT32), 1.0, 3.0
    )
    assert operation(free).tolist() == operation(defined).tolist() == [2.0, 6.0]
    assert free.carrier.operation_capabilities() == defined.carrier.operation_capabilities()
    with pytest.raises(TypeError, match="exactly this class has no CarrierDefinition"):
        pack = sw.KernelPack(
            "acme",
            "1",
            Compute,
            sw.KernelExecutionInterface("1"),
            [workshop.pattern(workshop.operation())],
        )
        sw.register_kernel_pack(pack)


@pytest.mark.rule("R-56", "R-70", "O-30")
def test_instances_of_one_class_reach_through_their_own_dependencies(workshop: Any) -> None:
    first, second = workshop.operation(), workshop.operation()
    composing = Composing(workshop)
    one = composing.tensor(workshop.defined([workshop.pattern(first)])(1, dtype=FLOAT32), 1.0)
    two = composing.tensor(workshop.defined([workshop.pattern(second)])(1, dtype=FLOAT32), 1.0)
    assert first(one).tolist() == [2.0] == second(two).tolist()
    with pytest.raises(sw.UnsupportedOperationPlan, match="Wrap"):
        first(two)
    assert capabilities_for_carrier_class(composing.carrier_class) == ()


@pytest.mark.rule("R-56")
def test_capabilities_are_consumed_once_sorted_and_frozen(workshop: Any) -> None:
    names = [workshop.operation().name for _ in range(3)]
    reported = [workshop.capability(name) for name in reversed(names)]
    asked: list[Any] = []

    def capabilities(carrier: Any) -> Any:
        asked.append(carrier)
        return iter(reported)

    composing = Composing(workshop, capabilities=capabilities)
    carrier = composing.carrier_class(workshop.defined()(1, dtype=FLOAT32))
    reported.clear()
    assert [entry.operation for entry in carrier.operation_capabilities()] == sorted(names)
    assert len(asked) == 1


def composed(workshop: Any, **changes: Any) -> tuple[Any, Tensor, Composing]:
    operation = workshop.operation()
    inner = workshop.defined([workshop.pattern(operation)])(1, dtype=FLOAT32)
    composing = Composing(workshop, **changes)
    return operation, composing.tensor(inner, 1.0), composing


@pytest.mark.rule("R-55", "R-57", "G-3")
@pytest.mark.parametrize(
    ("classes", "kind", "message"),
    [
        (list, TypeError, "result_carriers must return a tuple of Carrier classes, got list"),
        (lambda: (Carrier,), TypeError, r"result_carriers\[0\] must be a concrete Carrier class"),
        (lambda: (DependentCarrier,), TypeError, r"result_carriers\[0\] must be a concrete"),
        (lambda: ("Shelf",), TypeError, r"result_carriers\[0\] must be a concrete Carrier class"),
        (tuple, ValueError, "must name one class per result, 1, got 0"),
        (lambda: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_result_carriers_are_checked_before_prepare(
    workshop: Any, classes: Any, kind: type[Exception], message: str
) -> None:
    operation, tensor, composing = composed(
        workshop, result_carriers=lambda carrier, invocation: classes()
    )
    version = tensor.version
    with pytest.raises(kind, match=message) as caught:
        operation(tensor)
    assert composing.calls == [] and tensor.version == version
    if kind is ZeroDivisionError:
        (note,) = caught.value.__notes__
        assert "result_carriers" in note and "Wrap" in note and operation.name in note


@pytest.mark.rule("R-54", "R-55", "O-64", "S-3")
def test_what_a_composite_may_answer(workshop: Any) -> None:
    answers: list[Any] = []

    def prepare(carrier: Any, invocation: Any) -> Any:
        answer = answers[-1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    operation, tensor, _ = composed(workshop, prepare=prepare)
    version = tensor.version
    for answer, kind, message in (
        (Unsupported("too deep"), sw.UnsupportedOperationPlan, "too deep"),
        (3, TypeError, "prepare must return a PreparedComposite or Unsupported"),
        (OSError("lost"), OSError, "lost"),
        (PreparedComposite(lambda: tensor), TypeError, "Tensor"),  # type: ignore[arg-type,return-value]
    ):
        answers.append(answer)
        with pytest.raises(kind, match=message):
            operation(tensor)
    assert tensor.version == version and not tensor.carrier.is_owned()


@pytest.mark.rule("R-53", "R-55")
def test_a_result_on_another_class_is_refused(workshop: Any) -> None:
    other = workshop.defined()
    operation, tensor, _ = composed(workshop, result_carriers=lambda carrier, invocation: (other,))
    with pytest.raises(sw.ProviderContractError, match="carrier"):
        operation(tensor)


@pytest.mark.rule("O-43", "O-42")
def test_a_dependent_definition_dispatches_definitions_but_no_views(workshop: Any) -> None:
    operation, tensor, _ = composed(workshop)
    assert tensor.carrier.dispatch_op(operation.name).forward(tensor).tolist() == [2.0]
    with pytest.raises(sw.UnsupportedOperationPlan, match="view"):
        tensor.carrier.dispatch_op("permute")
    with pytest.raises(NotImplementedError, match="nope"):
        tensor.carrier.dispatch_op("nope")
