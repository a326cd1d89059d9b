"""Tensors on the array carrier, written as CuTe layouts."""

from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any, SupportsIndex

import pytest

import strideweave.host as host
from strideweave import (
    Carrier,
    CarrierDefinition,
    CompoundDType,
    DType,
    Layout,
    Operation,
    StorageProvider,
    Tensor,
    register_carrier_definition,
)
from strideweave.operation import bind_view
from strideweave.tensor.representation import Subtensor, TensorRepresentation
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


@pytest.fixture(params=["plain", "numpy"] if find_spec("numpy") else ["plain"])
def host_library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test without NumPy, and with it where it is installed."""
    if request.param == "plain":
        monkeypatch.setattr(host, "numpy_module", lambda: None)


class PlaneCarrier(FreeCarrier):
    """A carrier of any dtype whatever, which dispatches views."""

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "PlaneCarrier":
        return PlaneCarrier([0] * int(size), self.stored if dtype is None else dtype)

    def _release(self) -> None:
        self.cells = []

    def _dispatch_op(self, operation_name: str) -> Operation:
        return bind_view(operation_name)


class Planes(CompoundDType, abstract=False):
    """A compound of planes without rules."""


PAIR = Planes("TestPair", simple_types=(DType.Float32, DType.Float32))
SINGLE = Planes("TestSingle", simple_types=(DType.Float32,))


@pytest.fixture
def pair() -> CompoundDType:
    """The compound dtype of two Float32 planes."""
    return PAIR


@pytest.fixture
def single() -> CompoundDType:
    """The compound dtype of one Float32 plane."""
    return SINGLE


@pytest.fixture
def plane_carrier() -> type[PlaneCarrier]:
    """The carrier class that stores any dtype: ``plane_carrier(values, dtype)``."""
    return PlaneCarrier


@pytest.fixture
def levels() -> Callable[..., Tensor]:
    """Build a Tensor of several subtensors in which every slot of every level has its number.

    By default the two Float32 planes of the contract's illustration.
    """

    def build(
        placements: Sequence[str] = ("(2,2):(1,2)", "2:1"),
        adjacent_layouts: Sequence[str] = ("(2,2):(0,1)",),
        dtype: CompoundDType = PAIR,
        offsets: Sequence[int] = (0, 0, 0),
    ) -> Tensor:
        subtensors = []
        for placement, offset, storage_dtype in zip(
            placements, offsets, dtype.simple_types, strict=False
        ):
            layout = Layout.parse(placement)
            carrier = PlaneCarrier(range(offset + layout.cosize), storage_dtype)
            subtensors.append(Subtensor(storage_dtype, carrier, offset, layout))
        adjacent = [Layout.parse(text) for text in adjacent_layouts]
        return Tensor._from_representation(TensorRepresentation(dtype, subtensors, adjacent))

    return build
