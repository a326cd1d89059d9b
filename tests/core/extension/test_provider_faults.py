"""Faults in execution callbacks: raise and wrong type at each, with nothing changed after."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    DType,
    KernelPattern,
    OperandKind,
    OperandSpec,
    OperationSchema,
    ResultSpec,
    Tensor,
)
from strideweave.carriers.extension import PreparedComposite, PreparedKernel, ProviderResult
from strideweave.operation import ResolvedInvocation

FLOAT32 = DType.Float32


class Completion:
    """Ends with what it is given; ``done`` is what it is given too."""

    def __init__(self, outcome: Any, done: Any = True) -> None:
        self.outcome = outcome
        self._done = done

    @property
    def done(self) -> Any:
        return raised(self._done)

    def wait(self) -> Any:
        return raised(self.outcome)


def raised(outcome: Any) -> Any:
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


class Bench:
    """A differentiable operation on one carrier class, with a fault at one callback."""

    def __init__(self, workshop: Any, name: str) -> None:
        self.workshop = workshop
        self.faults: dict[str, Any] = {}
        self.operation = self._define(name)
        pattern = KernelPattern(
            self.operation, [workshop.capability(name)], "kernel", self._prepare
        )
        inner = workshop.defined([pattern])
        self.tensor: Tensor = workshop.tensor(inner, 1.0, 2.0)
        composite = workshop.composite(
            result_carriers=self._result_carriers, prepare=self._prepare_composite
        )
        wrapper = workshop.dependent(composite)(self.tensor.carrier, 2)
        wrapper[0], wrapper[1] = 1.0, 2.0
        self.wrapped: Tensor = workshop.over(wrapper)

    def _define(self, name: str) -> Any:
        def resolve(call: Any) -> ResolvedInvocation:
            operand = call.operands[0]
            spec = ResultSpec(FLOAT32, operand.shape, operand.layout)
            return ResolvedInvocation(call, self.workshop.plan(name), (spec,))

        def vjp(context: Any, cotangents: Any) -> Any:
            return self.faults["vjp"]() if "vjp" in self.faults else (cotangents[0],)

        schema = OperationSchema([OperandSpec("tensor", OperandKind.TENSOR, True)])
        return sw.define_operation(name, schema, resolve, vjp=vjp)

    def _fault(self, callback: str, regular: Any) -> Any:
        return raised(self.faults[callback]) if callback in self.faults else regular()

    def _prepare(self, invocation: Any, interface: Any) -> Any:
        def submit() -> Any:
            return self._fault("submit", lambda: self.workshop.doubled(invocation))

        return self._fault("prepare", lambda: PreparedKernel(interface, submit))

    def _result_carriers(self, carrier: Any, invocation: Any) -> Any:
        return self._fault("result_carriers", lambda: (type(carrier.inner),))

    def _prepare_composite(self, carrier: Any, invocation: Any) -> Any:
        def submit() -> Any:
            return self._fault("composite submit", lambda: self._on_inner(carrier, invocation))

        return self._fault("composite prepare", lambda: PreparedComposite(submit))

    def _on_inner(self, carrier: Any, invocation: Any) -> ProviderResult:
        outer = invocation.operands[0]
        inner = self.workshop.over(carrier.inner.new_like(outer.tolist()))
        return ProviderResult([invocation.definition(inner)])

    def state(self) -> list[Any]:
        return [
            (
                tensor.tolist(),
                tensor.version,
                tensor.autograd_ctx,
                tensor.grad,
                tensor.carrier.is_owned(),
                tensor.carrier.is_released(),
                tensor.carrier.operation_capabilities(),
                sw.is_grad_enabled(),
            )
            for tensor in (self.tensor, self.wrapped)
        ]


@pytest.fixture
def bench(workshop: Any) -> Bench:
    return Bench(workshop, workshop.operation().name + ".faulty")


KERNEL = ["prepare", "submit"]
COMPOSITE = ["result_carriers", "composite prepare", "composite submit"]
FAULTS: list[tuple[str, Any, type[Exception]]] = [
    *[(name, OSError("fault"), OSError) for name in KERNEL + COMPOSITE],
    *[(name, 3, TypeError) for name in KERNEL + COMPOSITE],
    ("submit", Completion(OSError("fault")), OSError),
    ("submit", Completion(3), TypeError),
    ("submit", Completion(None, OSError("fault")), OSError),
    ("submit", Completion(None, 1), TypeError),
    ("submit", Completion(None, False), TypeError),
    ("composite submit", Completion(OSError("fault")), OSError),
    ("composite submit", Completion(None, 1), TypeError),
]


@pytest.mark.rule("G-3", "R-23", "R-37", "R-55", "O-73")
@pytest.mark.parametrize(("callback", "fault", "kind"), FAULTS)
def test_a_faulty_execution_callback_changes_nothing(
    bench: Bench, callback: str, fault: Any, kind: type[Exception]
) -> None:
    tensor = bench.tensor if callback in KERNEL else bench.wrapped
    before = bench.state()
    bench.faults[callback] = fault
    with pytest.raises(kind) as caught:
        bench.operation(tensor)
    bench.faults.clear()
    assert bench.state() == before
    if kind is OSError:
        notes = caught.value.__notes__
        assert any(bench.operation.name in note for note in notes)
        assert any(type(tensor.carrier).__qualname__ in note for note in notes)
    assert bench.operation(tensor).tolist() == [2.0, 4.0]


@pytest.mark.rule("G-3", "O-78", "R-74")
@pytest.mark.parametrize(
    ("answer", "kind"),
    [(lambda: 1 / 0, ZeroDivisionError), (lambda: [None], TypeError), (lambda: (), ValueError)],
)
def test_a_faulty_gradient_changes_nothing(
    bench: Bench, answer: Any, kind: type[Exception]
) -> None:
    result = bench.operation(bench.tensor)
    node = result.autograd_ctx
    cotangent = bench.workshop.tensor(type(bench.tensor.carrier), 1.0, 1.0)
    before = bench.state()
    bench.faults["vjp"] = answer
    with pytest.raises(kind):
        result.backward(cotangent)
    assert bench.state() == before and result.autograd_ctx is node
    bench.faults.clear()
    result.backward(cotangent)
    assert bench.tensor.grad is not None and bench.tensor.grad.tolist() == [1.0, 1.0]
