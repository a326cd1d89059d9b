"""The fixtures of tests/core/ops, over every other shipped carrier that computes."""

import importlib.util
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from strideweave import CPU, Carrier, DType, Evictable, FileBacked, Generic

CORE = Path(__file__).parents[2] / "core"
CARRIERS: dict[str, Callable[[Sequence[Any], DType], Carrier]] = {
    "generic": lambda values, dtype: Generic(values, dtype=dtype),
    "cpu": lambda values, dtype: CPU(0, dtype=dtype).new_like(values),
    "evictable": lambda values, dtype: Evictable(
        CPU(0, dtype=dtype).new_like(values), FileBacked(dtype=dtype)
    ),
}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"catalogue_{path.parent.name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


workshop = load(CORE / "conftest.py").workshop
_ops = load(CORE / "ops/conftest.py")
f, i, b, vjp, values, same = _ops.f, _ops.i, _ops.b, _ops.vjp, _ops.values, _ops.same


@pytest.fixture(params=CARRIERS)
def make_carrier(request: pytest.FixtureRequest) -> Callable[[Sequence[Any], DType], Carrier]:
    """Make a carrier from values and a dtype."""
    return CARRIERS[request.param]
