"""Differentiation on CPU: array arithmetic, and cotangents from other carriers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import strideweave as sw
import strideweave.autograd.accumulation as accumulation
import strideweave.autograd.buffers as buffers
from strideweave import CPU, DType, Generic, Layout, Operation, Shape, Tensor
from strideweave.testing import ArrayCarrier


def cpu(values: Sequence[float], layout: str | Layout | None = None) -> Any:
    """A Float32 leaf on CPU whose slots hold the values."""
    carrier = CPU(0).new_like(values)
    if not isinstance(layout, Layout):
        layout = Layout.parse(layout or f"({len(values)}):(1)")
    return Tensor(carrier, 0, layout)


def slots(tensor: Tensor) -> list[float]:
    return [tensor.carrier[slot] for slot in range(tensor.carrier.size())]


@pytest.fixture
def no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading values one by one fail."""

    def refuse(tensor: Tensor) -> list[float]:
        raise AssertionError("read one value at a time")

    for module in (accumulation, buffers):
        monkeypatch.setattr(module, "logical_values", refuse)


@pytest.mark.rule("A-34", "A-19", "Y-9", "Y-11")
@pytest.mark.usefixtures("no_loops")
def test_accumulation_and_alias_sums_are_array_operations() -> None:
    b = cpu([1.0, 2.0], "(4,2):(0,1)")
    for total in (1.0, 2.0):
        (b * 2.0).backward(cpu([float(k) for k in range(8)], "(4,2):(1,4)"))
        assert slots(b.grad) == [12.0 * total] * 4 + [44.0 * total] * 4
    x = cpu([1.0], "(3):(0)")
    x.backward(cpu([16777216.0, 1.0, 1.0]))
    assert slots(x.grad) == [16777218.0] * 3
    assert type(x.grad.carrier) is CPU


@pytest.mark.rule("A-34", "A-31", "Y-17")
@pytest.mark.usefixtures("no_loops")
def test_stacking_is_an_array_operation() -> None:
    g = cpu([1.0] * 5, "(2,2):(1,3)")
    batched = cpu([float(k) for k in range(12)], "(3,2,2):(4,1,2)")
    (stacked,) = sw.grad(g + g, [g], batched, batched=True)
    assert stacked is not None
    assert stacked.layout == Layout.parse("(3,2,2):(5,1,3)")
    assert slots(stacked) == [0, 2, 0, 4, 6, 8, 10, 0, 12, 14, 16, 18, 0, 20, 22]


@pytest.mark.rule("A-34", "F-14", "O-67")
@pytest.mark.usefixtures("no_loops")
def test_folding_a_large_broadcast_equals_numpy() -> None:
    rows, columns = 300, 70
    generator = np.random.default_rng(0)
    cotangent = generator.normal(size=(rows, columns)).astype(np.float32)
    bias = sw.from_numpy(np.zeros((1, columns), np.float32))
    result = bias + sw.from_numpy(np.zeros((rows, columns), np.float32))
    result.backward(sw.from_numpy(np.asfortranarray(cotangent)))
    assert bias.grad is not None
    sequential = np.cumsum(cotangent.astype(np.float64), axis=0)[-1].astype(np.float32)
    assert np.array_equal(bias.grad.numpy()[0], sequential)


@pytest.mark.rule("A-13", "A-17")
@pytest.mark.parametrize("prototype", [Generic([0.0]), ArrayCarrier(0, dtype=DType.Float32)])
def test_leaf_takes_a_cotangent_from_any_carrier(prototype: sw.Carrier) -> None:
    x = cpu([1.0, 0.0, 2.0], "(2):(2)")
    elsewhere = Tensor(prototype.new_like([5.0, 9.0, 6.0]), 0, x.layout)
    x.backward(elsewhere)
    x.backward(elsewhere)
    assert type(x.grad.carrier) is CPU and slots(x.grad) == [10.0, 0.0, 12.0]
    (copy,) = sw.grad(x, [x], elsewhere)
    assert copy is not None and type(copy.carrier) is CPU and slots(copy) == [5.0, 0.0, 6.0]


@pytest.mark.rule("A-14", "A-13")
def test_contributions_of_different_carriers_are_added_on_the_tensors_own() -> None:
    class Abroad(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            return sw.mul(inputs[0].detach(), 3.0)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            values = [3.0 * gradient[ordinal] for ordinal in range(gradient.size())]
            return (Tensor(Generic(values), 0, gradient.layout),)

    x = cpu([1.0, 2.0])
    total = sw.add(x * 2.0, Abroad().forward(x))
    total.backward(cpu([1.0, 10.0]))
    assert type(x.grad.carrier) is CPU and slots(x.grad) == [5.0, 50.0]


@pytest.mark.rule("A-13")
def test_numpy_cotangents_of_other_dtypes_are_converted() -> None:
    x = cpu([1.0, 2.0])
    (x * 2.0).backward(sw.from_numpy(np.array([1, 16777217], np.int32)))
    (x * 2.0).backward(sw.from_numpy(np.array([True, False])))
    assert slots(x.grad) == [4.0, 33554432.0]


@pytest.mark.rule("A-14")
def test_many_leaves_too_deep_for_an_array_fall_back_to_plain_values() -> None:
    deep = Layout(Shape([1] * 40 + [2]), sw.Stride([1] * 41))
    x = Tensor(CPU(0).new_like([1.0, 2.0]), 0, deep)
    x.backward(Tensor(Generic([5.0, 6.0]), 0, deep))
    assert x.grad is not None and slots(x.grad) == [5.0, 6.0]
