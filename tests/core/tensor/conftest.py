"""Tensors on the array carrier, written as CuTe layouts."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, SupportsIndex

import pytest

import strideweave.host as host
from strideweave import (
    Carrier,
    CarrierDefinition,
    DType,
    Layout,
    StorageProvider,
    Tensor,
    register_carrier_definition,
)
from strideweave.testing import ArrayCarrier


@pytest.fixture
def ramp() -> Callable[..., Tensor]:
    """Build a Tensor in which every slot holds its own number."""

    def build(
        layout: str, offset: int = 0, dtype: DType = DType.Float32, *, mutable: bool = True
    ) -> Tensor:
        placement = Layout.parse(layout)
        slots = range(offset + placement.cosize)
        carrier = ArrayCarrier(0, dtype=dtype).new_like(list(slots), mutable=mutable)
        return Tensor(carrier, offset, placement)

    return build


@pytest.fixture
def filled() -> Callable[[str, Sequence[float]], Tensor]:
    """Build a Float32 Tensor from values in logical order; other slots hold zero."""

    def build(layout: str, values: Sequence[float]) -> Tensor:
        placement = Layout.parse(layout)
        cells = [0.0] * placement.cosize
        for ordinal, value in enumerate(values):
            cells[placement(ordinal)] = value
        carrier = ArrayCarrier(0, dtype=DType.Float32).new_like(cells)
        return Tensor(carrier, 0, placement)

    return build


@pytest.fixture
def read() -> Callable[[Tensor], list[float]]:
    """Read values one coordinate at a time, in logical order."""

    def values(tensor: Tensor) -> list[float]:
        return [tensor[ordinal] for ordinal in range(tensor.size())]

    return values


class SlotCarrier(Carrier):
    """A definition-backed carrier without spans."""

    cells: list[Any]


register_carrier_definition(
    SlotCarrier,
    CarrierDefinition(
        StorageProvider(
            supports_dtype=lambda carrier, dtype: dtype in (DType.Float32, DType.Int32, DType.Bool),
            physical_size=lambda carrier: len(carrier.cells),
            allocate=lambda carrier, slots: setattr(carrier, "cells", [0.0] * slots),
            release=lambda carrier: carrier.cells.clear(),
            read=lambda carrier, slot: carrier.cells[slot],
            write=lambda carrier, slot, value: carrier.cells.__setitem__(slot, value),
        )
    ),
)


class FreeCarrier(Carrier):
    """A definition-free carrier as a user would write it: slots only."""

    def __init__(self, cells: Iterable[Any], dtype: DType) -> None:
        super().__init__()
        self.cells, self.stored = list(cells), dtype

    def size(self) -> int:
        return len(self.cells)

    def dtype(self) -> DType:
        return self.stored

    def get_value(self, index: SupportsIndex) -> Any:
        return self.cells[index]

    def set_value(self, index: SupportsIndex, value: Any) -> None:
        self.cells[index] = value

    def _is_mutable(self) -> bool:
        return True

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "FreeCarrier":
        return FreeCarrier(values, self.stored if dtype is None else dtype)


@pytest.fixture(params=["spans", "slots", "free"])
def carrier_of(request: pytest.FixtureRequest) -> Callable[[list[Any], DType], Carrier]:
    """Build carriers that offer spans, slots only, and no definition at all."""

    def build(values: list[Any], dtype: DType) -> Carrier:
        if request.param == "spans":
            return ArrayCarrier(0, dtype=dtype).new_like(values)
        if request.param == "slots":
            return SlotCarrier(0, dtype=dtype).new_like(values)
        return FreeCarrier(values, dtype)

    return build


@pytest.fixture(params=["numpy", "plain"])
def host_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with NumPy, where it is installed, and without."""
    if request.param == "plain":
        monkeypatch.setattr(host, "numpy_module", lambda: None)
    elif host.numpy_module() is None:
        pytest.skip("NumPy is not installed")
