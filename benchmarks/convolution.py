"""Convolution on CPU beside PyTorch, where that is installed.

Run it with ``python benchmarks/convolution.py``; the exit status tells whether the target is kept.
Both work on one thread: idle threads of two pools in one process disturb each other.
"""

import os
import sys
from importlib import import_module
from typing import Any

import numpy
from measuring import Comparison, report

import strideweave as sw

TARGET = 3.0
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

RANDOM = numpy.random.default_rng(7)


def _comparison(torch: Any) -> Comparison:
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
    return Comparison("3 x 3, 32 channels, 64 x 64, batch 8", ours, theirs, TARGET)


def main() -> int:
    """Measure it.

    Returns:
        The exit status.
    """
    try:
        torch: Any = import_module("torch")
    except ModuleNotFoundError:
        print("PyTorch is not installed: conv_general is not measured")
        return 0
    with sw.no_grad():
        return report([_comparison(torch)])


if __name__ == "__main__":
    if os.environ.keys() >= ONE_THREAD.keys():
        sys.exit(main())
    # The pools read their size when the libraries are loaded.
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
