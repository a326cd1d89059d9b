"""Somebody else's carrier, written with public names only, does all that shipped ones do."""

from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Generic, Parameter, Shape, Tensor
from strideweave.carriers.operation_policy import registered_operations
from strideweave.operation import operation_definitions
from strideweave.testing.cases import OperationCase, disagreement, operation_cases, run_case

PROGRAM = Path(__file__).parents[1] / "typing" / "accepted" / "outside_carrier.py"


def outside_class() -> Any:
    """The class of the program that type checkers accept."""
    spec = spec_from_file_location("outside_carrier", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Crate


CRATE = outside_class()


def on_crate(values: Sequence[float], dtype: DType) -> Carrier:
    made: Carrier = CRATE(0, dtype=dtype).new_like(values)
    return made


def on_generic(values: Sequence[float], dtype: DType) -> Carrier:
    return Generic(values, dtype=dtype)


def cases_by_operation() -> dict[str, list[OperationCase]]:
    grouped: dict[str, list[OperationCase]] = {}
    for case in operation_cases():
        grouped.setdefault(case.operation, []).append(case)
    return grouped


def test_every_operation_with_plans_is_served_and_tried() -> None:
    planned = {spec.name for spec in registered_operations()}
    defined = {definition.name for definition in operation_definitions()} & planned
    served = {entry.operation for entry in CRATE(0, dtype=DType.Float32).operation_capabilities()}
    assert served == defined >= set(cases_by_operation())


@pytest.mark.rule("C-85", "R-1", "R-3", "G-13")
@pytest.mark.parametrize("cases", [pytest.param(v, id=k) for k, v in cases_by_operation().items()])
def test_it_agrees_with_generic(cases: list[OperationCase]) -> None:
    found = [
        disagreement(case, run_case(case, on_crate), run_case(case, on_generic))
        for case in cases[::7]
    ]
    assert found and [text for text in found if text is not None] == []


@pytest.mark.rule("C-84", "O-43")
def test_its_views_and_bulk_writes_go_slot_by_slot() -> None:
    carrier = CRATE(6, dtype=DType.Int32)
    tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(2, 3), sw.Stride(1, 2)))
    tensor[...] = sw.Tensor(Generic(range(6), dtype=DType.Int32), 0, tensor.layout)
    assert carrier.version == 1
    assert sw.permute(tensor, 1, 0).tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.rule("C-85", "S-1", "N-40")
def test_it_trains_with_the_losses_of_cpu() -> None:
    def losses(prototype: Carrier) -> list[float]:
        rng = Random(0)
        weight = Parameter(on(prototype, [rng.uniform(-1, 1) for _ in range(12)], Shape(3, 4)))
        inputs = on(prototype, [rng.uniform(-1, 1) for _ in range(20)], Shape(5, 4))
        targets = on(prototype, [0, 1, 2, 1, 0], Shape(5), DType.Int32)
        optimiser, found = sw.nn.Adam([weight], lr=0.05), []
        for _ in range(6):
            optimiser.zero_grad()
            loss = sw.nn.CrossEntropyLoss()(sw.relu(sw.matmul(inputs, weight)), targets)
            loss.backward()
            optimiser.step()
            found.append(float(loss.item()))
        return found

    expected = losses(CPU(0))
    assert losses(CRATE(0, dtype=DType.Float32)) == pytest.approx(expected, rel=1e-4)
    assert expected[-1] < expected[0]


@pytest.mark.rule("M-9", "M-2")
def test_it_moves_to_and_from_cpu_with_its_graph() -> None:
    tensor = on(CRATE(0, dtype=DType.Float32), [1.0, 2.0, 3.0], Shape(3))
    there = sw.move(tensor, CPU(3))
    back = sw.move(there, CRATE(0, dtype=DType.Float32))
    assert (type(there.carrier), type(back.carrier)) == (CPU, CRATE)
    assert tensor.carrier.is_released() and there.carrier.is_released()
    assert back.tolist() == [1.0, 2.0, 3.0]
    back.backward(on(CRATE(0, dtype=DType.Float32), [10.0, 20.0, 30.0], Shape(3)))
    assert tensor.grad is not None and type(tensor.grad.carrier) is CRATE
    assert tensor.grad.tolist() == [10.0, 20.0, 30.0]


def on(prototype: Carrier, values: list[Any], shape: Shape, dtype: DType = DType.Float32) -> Tensor:
    """Values on the prototype's class, first mode fastest."""
    carrier = prototype.new_like(values, dtype=dtype)
    return Tensor(carrier, 0, sw.friendly.column_major(*shape.top_level))
