"""What only an Apple GPU can show: ``STRIDEWEAVE_METAL_DEVICE=gpu nox -s metal``."""

import importlib
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import Layout, Metal, Tensor

pytestmark = pytest.mark.metal

primitives: Any = importlib.import_module("strideweave.carriers.metal.primitives")
probe: Any = importlib.import_module("strideweave.carriers.metal.probe")
runtime: Any = importlib.import_module("strideweave.carriers.metal.runtime")


@pytest.mark.rule("MT-3")
def test_the_gpu_is_the_default() -> None:
    environment = {key: text for key, text in os.environ.items() if key != runtime.VARIABLE}
    program = """
import importlib
import strideweave as sw
sw.Metal(4)
loaded = importlib.import_module("strideweave.carriers.metal.runtime").load()
print(loaded.device == loaded.core.gpu)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


@pytest.mark.rule("MT-3", "MT-18")
def test_this_process_computes_on_the_gpu_what_the_gpu_computes_exactly() -> None:
    core = runtime.load().core
    assert runtime.load().device == core.gpu
    inexact = probe.inexact_primitives(core, core.gpu)
    print(f"inexact on this GPU, so computed on the CPU: {sorted(inexact)}")
    for name in ("add", "subtract", "multiply", "divide", "sqrt", "remainder", "less"):
        expected = core.cpu if name in inexact else core.gpu
        assert getattr(primitives, name).keywords["stream"] == expected


@pytest.mark.rule("MT-17", "MT-32")
@pytest.mark.parametrize("size", [64, 512, 1500])
def test_products_keep_all_their_bits(size: int) -> None:
    numbers = np.random.default_rng(size).normal(size=(size, size)).astype(np.float32)
    layout = Layout.parse(f"({size},{size}):({size},1)")
    tensor = Tensor(Metal(0).new_like(numbers.ravel()), 0, layout)
    wide = numbers.astype(np.float64)
    scale = np.abs(wide) @ np.abs(wide).T
    error = np.abs(np.asarray(sw.matmul(tensor, tensor)) - wide @ wide.T)
    assert (error <= 1e-6 + 1e-5 * scale).all()


@pytest.mark.rule("MT-32")
@pytest.mark.parametrize("channels", [8, 64])
def test_large_convolutions_stay_within_their_tolerance(channels: int) -> None:
    source = np.random.default_rng(channels)
    lhs = source.normal(size=(4, channels, 32, 32)).astype(np.float32)
    kernel = source.normal(size=(16, channels, 3, 3)).astype(np.float32)

    def convolve(first: Any, second: Any, made: type[sw.CPU | Metal]) -> Any:
        tensors = [sw.copy(sw.from_numpy(array), made(array.size)) for array in (first, second)]
        return np.asarray(sw.conv_general(tensors[0], tensors[1], (1, 1), ((1, 1), (1, 1))))

    scale = convolve(np.abs(lhs), np.abs(kernel), sw.CPU)
    error = np.abs(convolve(lhs, kernel, Metal) - convolve(lhs, kernel, sw.CPU))
    assert (error <= 1e-6 + 2e-5 * scale).all()  # both sides may be off by the tolerance
