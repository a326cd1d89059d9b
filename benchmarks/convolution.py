"""Convolution on CPU beside PyTorch, where that is installed.

Run it with ``python benchmarks/convolution.py``; the exit status tells whether the target is kept.
It measures both with one thread each, then with all. The convolution is one of 3 x 3 with 32
channels over 64 x 64, batch 8.
"""

import os
import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy
from measuring import Comparison, report

import strideweave as sw

TARGET = 3.0
# The libraries read their settings when they are loaded. Passive threads leave the processors to
# the other library while they have nothing to do.
SETTINGS = {
    "one thread": {
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    },
    "all threads": {"OMP_WAIT_POLICY": "PASSIVE"},
}

RANDOM = numpy.random.default_rng(7)


def _comparison(torch: Any, threads: str) -> Comparison:
    images = RANDOM.standard_normal((8, 32, 64, 64), numpy.float32)
    weights = RANDOM.standard_normal((32, 32, 3, 3), numpy.float32)
    lhs, kernel = sw.from_numpy(images), sw.from_numpy(weights)
    peers = torch.from_numpy(images), torch.from_numpy(weights)

    def ours() -> sw.Tensor:
        return sw.conv_general(lhs, kernel, (1, 1), ((1, 1), (1, 1)))

    def theirs() -> Any:
        with torch.no_grad():
            return torch.nn.functional.conv2d(*peers, padding=1)

    assert numpy.allclose(ours().numpy(), theirs().numpy(), rtol=1e-3, atol=1e-3)
    return Comparison(f"conv_general, {threads}", ours, theirs, TARGET)


def measure(threads: str) -> int:
    """Measure it with the settings of this process.

    Args:
        threads: How many threads those allow, for the report.

    Returns:
        The exit status.
    """
    try:
        torch: Any = import_module("torch")
    except ModuleNotFoundError:
        print("PyTorch is not installed: conv_general is not measured")
        return 0
    with sw.no_grad():
        return report([_comparison(torch, threads)])


def main() -> int:
    """Measure it with every setting, each in a process of its own.

    Returns:
        The exit status.
    """
    statuses = [
        subprocess.run(
            [sys.executable, __file__, threads], env={**os.environ, **settings}, check=False
        ).returncode
        for threads, settings in SETTINGS.items()
    ]
    return max(statuses)


if __name__ == "__main__":
    sys.exit(measure(sys.argv[1]) if sys.argv[1:] else main())
