"""Steps on CPU are array arithmetic through any layout."""

from typing import Any

import numpy as np
import pytest

import strideweave as sw
import strideweave.nn.optimizer as optimizer
from strideweave import CPU, Generic, Layout, Parameter, Tensor, nn


@pytest.fixture(autouse=True)
def no_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let reading values one by one fail."""

    def refuse(tensor: Tensor) -> list[float]:
        raise AssertionError("read one value at a time")

    monkeypatch.setattr(optimizer, "logical_values", refuse)


def random(*extents: int, seed: int) -> Any:
    return np.random.default_rng(seed).normal(size=extents).astype(np.float32)


@pytest.mark.rule("N-38", "N-40")
@pytest.mark.parametrize("order", ["C", "F"])
def test_sgd_equals_numpy(order: Any) -> None:
    values, slope = random(40, 30, seed=0), random(40, 30, seed=1)
    p = Parameter(sw.from_numpy(values.copy(order)))
    p.grad = sw.from_numpy(slope)
    nn.SGD([p], 0.03).step()
    expected = (values.astype(np.float64) - 0.03 * slope.astype(np.float64)).astype(np.float32)
    assert np.array_equal(p.numpy(), expected) and p.version == 1


@pytest.mark.rule("N-39", "N-40")
def test_adam_equals_numpy() -> None:
    values = random(40, 30, seed=0)
    p = Parameter(sw.from_numpy(values.copy()))
    optimiser = nn.Adam([p], 0.01, weight_decay=0.1)
    m, v = np.zeros_like(values), np.zeros_like(values)
    for step in range(1, 6):
        slope = random(40, 30, seed=step)
        p.grad = sw.from_numpy(slope)
        optimiser.step()
        wide = values.astype(np.float64)
        g = slope.astype(np.float64) + 0.1 * wide
        m = (0.9 * m.astype(np.float64) + (1 - 0.9) * g).astype(np.float32)
        v = (0.999 * v.astype(np.float64) + (1 - 0.999) * g * g).astype(np.float32)
        mean = m.astype(np.float64) / (1 - 0.9**step)
        square = v.astype(np.float64) / (1 - 0.999**step)
        values = (wide - 0.01 * mean / (np.sqrt(square) + 1e-8)).astype(np.float32)
        assert np.allclose(p.numpy(), values, rtol=1e-6, atol=0)


@pytest.mark.rule("N-40", "G-5")
def test_step_leaves_holes_and_neighbours_alone() -> None:
    carrier = CPU(0).new_like([float(slot) for slot in range(12)])
    p = Parameter(carrier, 2, Layout.parse("(2,(2,1)):(1,(4,9))"))
    neighbour = Tensor(carrier, 0, Layout.parse("(2):(1)"))
    p.grad = Tensor(CPU(0).new_like([1.0] * 4), 0, Layout.parse("(2,(2,1)):(1,(2,4))"))
    nn.SGD([p], 1.0).step()
    assert [carrier[slot] for slot in range(12)] == [0, 1, 1, 2, 4, 5, 5, 6, 8, 9, 10, 11]
    assert neighbour.version == 1


@pytest.mark.rule("N-40")
def test_gradient_may_live_on_another_carrier() -> None:
    p = Parameter(CPU(0).new_like([1.0, 2.0]), 0, Layout.parse("(2):(1)"))
    p.grad = Tensor(Generic([1.0, 4.0]), 0, p.layout)
    nn.SGD([p], 0.5).step()
    assert p.tolist() == [0.5, 0.0]
