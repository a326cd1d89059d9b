from collections.abc import Callable, Sequence

import pytest

from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.testing import ArrayCarrier


@pytest.fixture
def f() -> Callable[..., Tensor]:
    """Make a Float32 leaf: ``f([1, 2])`` is flat, ``f([...], "(2,3):(1,4)")`` has a layout.

    The values are in logical order, holes being -1; for a layout that aliases they are the slots.
    """

    def make(values: Sequence[float], layout: str | Layout | None = None) -> Tensor:
        if layout is None:
            layout = Layout(Shape(len(values)), Stride(1))
        if isinstance(layout, str):
            layout = Layout.parse(layout)
        slots = list(values)
        if layout.is_injective:
            slots = [-1.0] * layout.cosize
            for ordinal, value in enumerate(values):
                slots[layout.index(ordinal)] = value
        return Tensor(ArrayCarrier(0, dtype=DType.Float32).new_like(slots), 0, layout)

    return make


@pytest.fixture
def values() -> Callable[[Tensor | None], list[float]]:
    """Read a tensor in logical order."""

    def read(tensor: Tensor | None) -> list[float]:
        assert tensor is not None
        return [tensor[ordinal] for ordinal in range(tensor.size())]

    return read
