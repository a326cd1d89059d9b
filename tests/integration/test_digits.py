"""The digits example, and the same network on a carrier written with public names."""

import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import strideweave as sw
from strideweave import CPU, DType, Parameter, Tensor, nn
from strideweave.testing import ArrayCarrier

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"


def test_example_reaches_its_accuracy_and_agrees_with_numpy() -> None:
    pytest.importorskip("sklearn")
    run = subprocess.run(
        [sys.executable, str(EXAMPLE), "--epochs", "8"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("strideweave  epoch") == run.stdout.count("numpy        epoch") == 8
    row = re.search(r"^strideweave +(\S+) +(\S+) +(\S+)$", run.stdout, re.M)
    assert row is not None
    accuracy, loss, samples_per_second = map(float, row.groups())
    assert accuracy >= 0.95 and loss < 0.2 and samples_per_second > 0
    assert re.search(r"^largest difference of epoch losses: \d", run.stdout, re.M)


def network(carrier: sw.Carrier) -> nn.Sequential:
    """The same initial weights on any carrier class."""
    rng = Random(0)
    made = nn.Sequential(nn.Linear(64, 16, rng=rng), nn.ReLU(), nn.Linear(16, 10, rng=rng))
    for layer in made:
        if isinstance(layer, nn.Linear):
            layer.weight = Parameter(on(carrier, layer.weight))
            assert layer.bias is not None
            layer.bias = Parameter(on(carrier, layer.bias))
    return made


def on(prototype: sw.Carrier, tensor: Tensor) -> Tensor:
    """Copy a tensor to fresh storage of the prototype's class, in its own compact layout."""
    fresh = prototype.allocate_like(tensor.layout.cosize, dtype=tensor.dtype())
    made = Tensor(fresh, 0, tensor.layout)
    made[...] = tensor
    return made


def train(carrier: sw.Carrier, optimiser: Any, steps: int) -> tuple[list[float], nn.Sequential]:
    pixels, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digits))
    model, loss = network(carrier), nn.CrossEntropyLoss()
    update = optimiser(model.parameters())
    losses = []
    for step in range(steps):
        batch = order[12 * step : 12 * (step + 1)]
        images = (pixels[batch] / 16).astype(np.float32)
        labels = digits[batch].astype(np.int32)
        update.zero_grad()
        result = loss(model(on(carrier, sw.from_numpy(images))), on(carrier, sw.from_numpy(labels)))
        result.backward()
        update.step()
        losses.append(float(result.item()))
    return losses, model


@pytest.mark.rule("S-1", "N-32", "N-35", "N-40", "C-85", "G-13")
@pytest.mark.parametrize(
    "optimiser", [lambda p: nn.SGD(p, 0.1), lambda p: nn.Adam(p, 1e-2)], ids=["SGD", "Adam"]
)
def test_array_carrier_trains_with_the_losses_of_cpu(optimiser: Any) -> None:
    expected, reference = train(CPU(0), optimiser, steps=5)
    found, model = train(ArrayCarrier(0, dtype=DType.Float32), optimiser, steps=5)
    assert found == pytest.approx(expected, rel=1e-4)
    assert expected[0] != expected[-1]
    for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        assert type(ours.carrier) is ArrayCarrier
        assert sw.friendly.to_list(ours) == pytest.approx(
            sw.friendly.to_list(theirs), rel=1e-3, abs=1e-4
        )
