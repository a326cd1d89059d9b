"""Pairs of fresh carrier classes, and completions and a clock under a test's control."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from strideweave import (
    Carrier,
    CarrierDefinition,
    CompoundDType,
    DType,
    Layout,
    Shape,
    StorageProvider,
    Stride,
    Tensor,
    TransferRoute,
    register_carrier_definition,
)
from strideweave.carriers.extension import PreparedTransfer, TransferProvider
from strideweave.tensor.representation import Subtensor, TensorRepresentation
from strideweave.testing import ArrayCarrier

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool
BOUND = 20.0
"""Seconds after which a test gives up on something that should happen at once."""


class Planes(CompoundDType, abstract=False):
    """A compound of planes without rules."""


PLANES = Planes("MovePlanes", simple_types=(FLOAT32, FLOAT32))


class Pending:
    """A completion that ends when the test says so."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.waits: list[str] = []
        self.error: BaseException | None = None
        self.result: object = None
        self._requests: list[Any] = []

    def submit(self, request: Any) -> "Pending":
        """Begin a transfer that ``finish`` carries out."""
        self._requests.append(request)
        return self

    @property
    def done(self) -> bool:
        return self.ended.is_set()

    def finish(self, result: object = None) -> None:
        while self._requests:
            transfer(self._requests.pop())
        self.result = result
        self.ended.set()

    def fail(self, error: BaseException) -> None:
        self._requests.clear()
        self.error = error
        self.ended.set()

    def wait(self) -> Any:
        self.waits.append(threading.current_thread().name)
        assert self.ended.wait(BOUND)
        if self.error is not None:
            raise self.error
        return self.result


def transfer(request: Any) -> None:
    """Copy the span that a request covers, the way a provider does: not by public writes."""
    start, span = request.tensor.offset, request.physical_span
    request.destination.cells[:span] = request.source.cells[start : start + span]


class Listed(Carrier):
    """A definition-free carrier on a list, slot by slot."""

    def __init__(self, values: Iterable[Any], dtype: DType = FLOAT32, mutable: bool = True) -> None:
        super().__init__()
        self.cells = list(values)
        self.stored_dtype = dtype
        self.may_write = mutable

    def size(self) -> int:
        return len(self.cells)

    def dtype(self) -> DType:
        return self.stored_dtype

    def get_value(self, index: Any) -> Any:
        return self.cells[index]

    def set_value(self, index: Any, value: Any) -> None:
        self.cells[index] = value

    def _is_mutable(self) -> bool:
        return self.may_write

    def _release(self) -> None:
        self.cells = []

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Listed":
        return type(self)(values, self.stored_dtype if dtype is None else dtype, mutable)

    def allocate_like(
        self, size: Any, *, mutable: bool = True, dtype: DType | None = None, empty: bool = False
    ) -> "Listed":
        return self.new_like([0] * size, mutable=mutable, dtype=dtype)


class Yard:
    """Everything is fresh per call, so no test sees another's registrations."""

    Pending = Pending
    Listed = Listed

    def __init__(self, workshop: Any) -> None:
        self.workshop = workshop

    def route(
        self,
        source: type[Any],
        destination: type[Any],
        submit: Callable[[Any], Any] = transfer,
        prepare: Callable[[Any], Any] | None = None,
    ) -> TransferRoute[Any, Any]:
        def prepared(request: Any) -> PreparedTransfer:
            return PreparedTransfer(lambda: submit(request))

        name = f"{source.__name__}.to.{destination.__name__}"
        return TransferRoute(source, destination, name, TransferProvider(prepare or prepared))

    def pair(
        self,
        submit: Callable[[Any], Any] = transfer,
        *,
        prepare: Callable[[Any], Any] | None = None,
        back: bool = True,
        there: bool = True,
        fallback: tuple[bool, bool] = (False, False),
        source_storage: dict[str, Any] | None = None,
        destination_storage: dict[str, Any] | None = None,
    ) -> tuple[type[Any], type[Any]]:
        """Two definition-backed classes S and D; by default with a route in both directions."""
        source, destination = self.subclass("S"), self.subclass("D")
        ways = [self.route(source, destination, submit, prepare)] if there else []
        self.define(source, ways, fallback[0], **(source_storage or {}))
        returns = [self.route(destination, source)] if back else []
        self.define(destination, returns, fallback[1], **(destination_storage or {}))
        return source, destination

    def subclass(self, name: str = "S", base: type[Any] = Carrier, **body: Any) -> type[Any]:
        made: type[Any] = self.workshop.subclass(base, name, **body)
        return made

    def define(
        self,
        carrier_class: type[Any],
        transfers: Iterable[TransferRoute[Any, Any]] = (),
        fallback: bool = False,
        **storage: Any,
    ) -> type[Any]:
        provider: StorageProvider[Any] = self.workshop.storage(
            elementwise_fallback=fallback, **storage
        )
        register_carrier_definition(
            carrier_class, CarrierDefinition(provider, transfers=tuple(transfers))
        )
        return carrier_class

    def elementwise(self, name: str = "E", **storage: Any) -> type[Any]:
        """A definition-backed class without routes that permits elementwise copies."""
        return self.define(self.subclass(name), (), True, **storage)

    def carrier(self, carrier_class: type[Any], *values: Any, dtype: DType = FLOAT32) -> Any:
        return carrier_class(0, dtype=dtype).new_like(values)

    def tensor(self, carrier_class: type[Any], *values: Any, dtype: DType = FLOAT32) -> Tensor:
        """A flat Tensor over a fresh definition-backed carrier."""
        return self.over(self.carrier(carrier_class, *values, dtype=dtype))

    def over(self, carrier: Any, layout: Layout | None = None, offset: int = 0) -> Tensor:
        return Tensor(carrier, offset, layout or self.flat(carrier.size()))

    def flat(self, size: int) -> Layout:
        return Layout(Shape(size), Stride(1))

    def several(self) -> Tensor:
        """A Tensor of two subtensors."""
        one = Layout.leaf(1, 1)
        parts = [Subtensor(FLOAT32, ArrayCarrier(1, dtype=FLOAT32), 0, one) for _ in range(2)]
        return Tensor._from_representation(TensorRepresentation(PLANES, parts, [one]))

    def values(self, carrier: Any) -> list[Any]:
        return [carrier[slot] for slot in range(carrier.size())]

    def cells(self, tensor: Any) -> Any:
        """What a Tensor's carrier stores, unread by the framework."""
        return tensor.carrier.cells

    def state(self, *carriers: Any) -> list[tuple[Any, ...]]:
        """All that a failure leaves as it was."""
        return [
            (
                carrier.is_released(),
                carrier.is_owned(),
                carrier.is_mutable(),
                carrier.version,
                carrier.size(),
                self.values(carrier),
            )
            for carrier in carriers
        ]


@pytest.fixture
def yard(workshop: Any) -> Yard:
    return Yard(workshop)


class Clock:
    """What profiles read instead of the clock; it stands still unless the test moves it."""

    def __init__(self) -> None:
        self.now = 0

    def pass_by(self, nanoseconds: int) -> None:
        self.now += nanoseconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("strideweave.profiling.recorder.perf_counter_ns", lambda: made.now)
    return made
