"""What stays with the framework, whatever a provider does."""

from dataclasses import make_dataclass
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Tensor
from strideweave.carriers.extension import PreparedKernel, ProviderResult

FLOAT32 = DType.Float32


def served(workshop: Any, compute: Any) -> tuple[Any, Tensor]:
    """An operation whose kernel returns what ``compute(invocation)`` gives."""
    operation = workshop.operation()

    def prepare(invocation: Any, interface: Any) -> PreparedKernel:
        return PreparedKernel(interface, lambda: compute(invocation))

    carrier_class = workshop.defined([workshop.pattern(operation, prepare=prepare)])
    return operation, workshop.tensor(carrier_class, 1.0, 2.0)


@pytest.mark.rule("R-73", "R-74")
def test_results_are_checked_and_published_by_the_framework(workshop: Any) -> None:
    answers: list[Any] = []
    operation, tensor = served(workshop, lambda invocation: answers[-1](invocation))

    def elsewhere(invocation: Any) -> ProviderResult:
        other = workshop.defined()
        return ProviderResult([workshop.tensor(other, 1.0, 2.0)])

    def shorter(invocation: Any) -> ProviderResult:
        return ProviderResult([workshop.over(tensor.carrier.new_like([1.0]))])

    def integers(invocation: Any) -> ProviderResult:
        return ProviderResult([workshop.over(tensor.carrier.new_like([1, 2], dtype=DType.Int32))])

    def twice(invocation: Any) -> ProviderResult:
        (result,) = workshop.doubled(invocation).outputs
        return ProviderResult([result, result])

    def writes(invocation: Any) -> ProviderResult:
        result: ProviderResult = workshop.doubled(invocation)
        tensor.carrier[0] = 9.0
        return result

    for answer, field in (
        (elsewhere, "carrier"),
        (shorter, "storage_size"),
        (integers, "dtype"),
        (twice, "result_count"),
        (lambda invocation: ProviderResult([tensor]), "alias"),
        (writes, "mutation"),
    ):
        answers.append(answer)
        with pytest.raises(sw.ProviderContractError, match=field):
            operation(tensor)
    answers.append(workshop.doubled)
    assert operation(tensor).version == 0


@pytest.mark.rule("R-74")
def test_a_provider_cannot_attach_a_node_or_advance_a_result_version(workshop: Any) -> None:
    def with_node(invocation: Any) -> ProviderResult:
        result: ProviderResult = workshop.doubled(invocation)
        result.outputs[0]._autograd_ctx = sw.Operation()
        return result

    operation, tensor = served(workshop, with_node)
    with pytest.raises(sw.ProviderContractError, match="autograd"):
        operation(tensor)


@pytest.mark.rule("R-75")
def test_look_alikes_of_the_records_are_refused(workshop: Any) -> None:
    declined = make_dataclass("Unsupported", [("reason", str)])("no")
    prepared = make_dataclass("PreparedKernel", [("interface", Any), ("submit", Any)])(None, None)
    result = make_dataclass("ProviderResult", [("outputs", Any)])(())
    for answer in (declined, prepared):
        operation = workshop.operation()
        pattern = workshop.pattern(operation, prepare=lambda call, interface, a=answer: a)
        tensor = workshop.tensor(workshop.defined([pattern]), 1.0)
        with pytest.raises(TypeError, match="must return a PreparedKernel or Unsupported"):
            operation(tensor)
    operation, tensor = served(workshop, lambda invocation: result)
    with pytest.raises(TypeError, match="neither a ProviderResult nor a ProviderCompletion"):
        operation(tensor)
    for wrong, message in (
        ({"kernels": make_dataclass("KernelProvider", [])()}, "kernels must be a KernelProvider"),
        ({"facets": [object()]}, "must be a CarrierFacet"),
    ):
        with pytest.raises(TypeError, match=message):
            sw.CarrierDefinition(workshop.storage(), **wrong)


@pytest.mark.rule("R-19", "R-74", "C-28")
def test_provider_writes_do_not_count_as_public_mutations(workshop: Any) -> None:
    carrier = workshop.defined()(2, dtype=FLOAT32)
    carrier.cells[0] = 4.0  # around the framework
    assert (carrier[0], carrier.version) == (4.0, 0)
    carrier[1] = 5.0
    assert (carrier.cells, carrier.version) == ([4.0, 5.0], 1)


@pytest.mark.rule("R-74", "C-23")
def test_a_provider_cannot_release_or_write_an_owned_carrier(workshop: Any) -> None:
    carrier = workshop.defined()(1, dtype=FLOAT32)
    carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    assert carrier.cells == [0] and not carrier.is_released()
