"""Metal carriers for tests, on MLX's CPU device unless the environment chooses the GPU."""

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from strideweave import DType, Layout, Metal, Tensor

os.environ.setdefault("STRIDEWEAVE_METAL_DEVICE", "cpu")

MakeTensor = Callable[..., Tensor]


class Completions:
    """The waits of Metal: how many there were, and what the next ones raise."""

    def __init__(self, complete: Callable[..., None]) -> None:
        self.count = 0
        self.failures: list[Exception] = []
        self._complete = complete

    def __call__(self, *arrays: Any) -> None:
        self.count += 1
        if self.failures:
            raise self.failures.pop(0)
        self._complete(*arrays)


@pytest.fixture
def completions(monkeypatch: pytest.MonkeyPatch) -> Completions:
    """Count the waits of Metal, and let some fail."""
    runtime: Any = importlib.import_module("strideweave.carriers.metal.runtime")
    noted = Completions(runtime._complete)
    monkeypatch.setattr(runtime, "_complete", noted)
    return noted


@pytest.fixture
def on_metal() -> Callable[[Sequence[Any], DType], Metal]:
    """Make a Metal carrier that holds values of a dtype."""
    empty = Metal(0)
    return lambda values, dtype: empty.new_like(values, dtype=dtype)


@pytest.fixture
def make_tensor() -> MakeTensor:
    """Make a Tensor over a fresh Metal carrier from its slots; by default of one mode."""
    empty = Metal(0)

    def make(
        slots: Sequence[Any],
        layout: str | None = None,
        dtype: DType = DType.Float32,
        offset: int = 0,
    ) -> Tensor:
        carrier = empty.new_like(slots, dtype=dtype)
        return Tensor(carrier, offset, Layout.parse(layout or f"{len(slots)}:1"))

    return make
