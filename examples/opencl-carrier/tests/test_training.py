"""The digits network trains on the device, by kernels and spans alone."""

import importlib.util
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
import strideweave as sw
from strideweave import nn

PROGRAM = Path(__file__).parents[1] / "examples" / "train_digits.py"


@pytest.fixture
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_digits", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_learns_the_digits_without_a_reference(
    program: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with sw.profile() as profiler:
        assert program.main(["--epochs", "7"]) == 0
    printed = capsys.readouterr().out
    kernels = {line.split()[1] for line in printed.splitlines() if line[:8].strip().isdigit()}
    assert "opencl.precompiled:matmul" in kernels and "opencl.float4:relu" in kernels
    assert not any(kernel.startswith("reference:") for kernel in kernels)
    moves = ("move.", "copy.")
    events = [event for event in profiler.events() if not event.name.startswith(moves)]
    served = {kernel.rpartition(":")[2] for kernel in kernels}
    views = {"view", "permute", "rearrange", "reshape", "squeeze", "unsqueeze"}
    assert {event.name for event in events} - views <= served


def test_its_losses_are_those_of_the_cpu(program: ModuleType) -> None:
    data = program.load(1)
    found = program.train(data, 1, 64, 1).losses
    rng = Random(1)
    network = nn.Sequential(
        nn.Linear(program.PIXELS, program.HIDDEN, rng=rng),
        nn.ReLU(),
        nn.Linear(program.HIDDEN, program.CLASSES, rng=rng),
    )
    criterion, optimiser = nn.CrossEntropyLoss(), nn.Adam(network.parameters(), lr=2e-3)
    total = 0.0
    for images, labels in program.batches(data, 64, 1):
        optimiser.zero_grad()
        loss = criterion(network(sw.from_numpy(images)), sw.from_numpy(labels))
        loss.backward()
        optimiser.step()
        total += loss.item() * len(labels)
    assert found == pytest.approx([total / len(data.train_labels)], rel=1e-4)
