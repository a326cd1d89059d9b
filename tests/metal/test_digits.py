"""The digits example on Metal, which trains through ``Module.to``."""

import re
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Metal, Tensor, nn

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits.py"


@pytest.mark.rule("MT-32", "MT-40")
def test_the_example_reaches_its_accuracy_and_agrees_with_numpy() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), "--carrier", "metal", "--epochs", "6"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    row = re.search(r"^strideweave +(\S+) +(\S+) +\S+$", done.stdout, re.M)
    assert row is not None and float(row[1]) >= 0.95 and float(row[2]) < 0.2


def placed(array: Any, carrier_class: type[CPU | Metal]) -> Tensor:
    tensor = sw.from_numpy(array)
    return sw.copy(tensor, carrier_class(array.size, dtype=tensor.dtype()))


def train(inputs: Any, labels: Any, carrier_class: type[CPU | Metal]) -> list[float]:
    """Train a small network on one carrier class, and give its losses."""
    rng = Random(0)
    network = nn.Sequential(nn.Linear(4, 8, rng=rng), nn.Tanh(), nn.Linear(8, 2, rng=rng))
    parameters = network.to(carrier_class).parameters()
    assert all(type(entry.carrier) is carrier_class for entry in parameters)
    optimiser = nn.Adam(parameters, lr=0.02)
    loss_of, losses = nn.CrossEntropyLoss(), []
    for _ in range(10):
        optimiser.zero_grad()
        loss = loss_of(network(placed(inputs, carrier_class)), placed(labels, carrier_class))
        loss.backward()
        for entry in parameters:
            assert entry.grad is not None and type(entry.grad.carrier) is carrier_class
        optimiser.step()
        losses.append(loss.item())
    return losses


@pytest.mark.rule("MT-32", "MT-40", "N-27")
def test_modules_move_to_metal_and_train_there_as_on_the_cpu() -> None:
    inputs = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    labels = (inputs.sum(axis=1) > 0).astype(np.int32)
    losses = train(inputs, labels, Metal)
    assert losses == pytest.approx(train(inputs, labels, CPU), rel=1e-4)
    assert losses[-1] < 0.8 * losses[0]
