"""Tiled carriers over tiers of core, and a pair of tiers whose transfers a test controls."""

from array import array
from collections.abc import Callable, Iterable, Iterator
from math import prod
from threading import Event
from typing import Any, Protocol, final

import pytest

from strideweave import (
    Carrier,
    CarrierDefinition,
    DType,
    KernelExecutionInterface,
    KernelProvider,
    Layout,
    Shape,
    StorageProvider,
    Tensor,
    TiledEvictable,
    TransferRoute,
    register_carrier_definition,
)
from strideweave.carriers.extension import (
    PreparedTransfer,
    TransferProvider,
    TransferRequest,
    reference_pattern,
)
from strideweave.carriers.tiled_evictable import ResidencyPolicy
from strideweave.layout.construction import canonical_layout
from strideweave.operation import operation_definition
from strideweave.testing import ArrayCarrier

DIRECT = ("add", "elementwise_mul", "mul", "relu", "reduce_sum", "matmul")


@final
class Completion:
    """A transfer that ends when the test says so."""

    def __init__(self, copy: Callable[[], None]) -> None:
        self._copy = copy
        self._ended = Event()
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        return self._ended.is_set()

    def wait(self) -> None:
        assert self._ended.wait(30), "the test never finished this transfer"
        if self._error is not None:
            raise self._error

    def finish(self, error: Exception | None = None) -> None:
        if error is None:
            self._copy()
        self._error = error
        self._ended.set()


class Transfers:
    """What the controlled tiers transferred, and what happens to the next transfers."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.failing: dict[int, str] = {}
        self.is_held = False
        self.pending: list[Completion] = []
        self.on_submit: Callable[[], object] = lambda: None

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]  # one object that both definitions know

    def fail(self, position: int, stage: str) -> None:
        """Let the transfer at a position fail at ``prepare``, ``submit`` or ``complete``."""
        self.failing = {len(self.log) + position: stage}

    def attempt(
        self, call: Callable[[], object], position: int, stage: str, count: int = 1
    ) -> bool | None:
        """Call something while transfers from a position on fail.

        Returns:
            Whether it failed by that; None where it came to no transfer at the position.
        """
        place = len(self.log) + position
        self.failing = dict.fromkeys(range(place, place + count), stage)
        try:
            call()
        except OSError as error:
            assert "the test fails" in str(error)
            has_failed = True
        else:
            has_failed = False
        self.failing = {}
        return has_failed if len(self.log) > place else None

    def release(self) -> None:
        """Finish everything that is held, and hold nothing more."""
        self.is_held = False
        for completion in self.pending:
            if not completion.done:
                completion.finish()

    def prepare(self, request: "TransferRequest[Any, Any]") -> PreparedTransfer:
        stage = self.failing.get(len(self.log))
        self.log.append("in" if isinstance(request.destination, FastTier) else "out")
        if stage == "prepare":
            raise OSError("the test fails this preparation")
        source, destination = request.tensor.carrier, request.destination

        def copy() -> None:
            assert isinstance(source, (FastTier, SlowTier))
            assert isinstance(destination, (FastTier, SlowTier))
            destination.cells[:] = source.cells

        def submit() -> Completion | None:
            self.on_submit()
            if stage == "submit":
                raise OSError("the test fails this submission")
            if not self.is_held and stage is None:
                copy()
                return None
            completion = Completion(copy)
            if stage == "complete":
                completion.finish(OSError("the test fails this transfer"))
            else:
                self.pending.append(completion)
            return completion

        return PreparedTransfer(submit)


TRANSFERS = Transfers()


class FastTier(Carrier):
    """Computes by reference, with spans; moves to SlowTier only."""

    cells: "array[Any]"


class SlowTier(Carrier):
    """Only stores, without spans; moves to FastTier only."""

    cells: "array[Any]"


def _storage(*, spans: bool) -> "StorageProvider[Any]":
    codes = {DType.Float32: "f", DType.Int32: "i"}

    def allocate(carrier: Any, slots: int) -> None:
        code = codes[carrier.dtype()]
        carrier.cells = array(code, bytes(4 * slots))

    def read_span(carrier: Any, start: int, out: "memoryview[Any]") -> None:
        out.cast("B")[:] = memoryview(carrier.cells).cast("B")[4 * start : 4 * (start + len(out))]

    def write_span(carrier: Any, start: int, values: "memoryview[Any]") -> None:
        memoryview(carrier.cells).cast("B")[4 * start : 4 * (start + len(values))] = values.cast(
            "B"
        )

    return StorageProvider(
        supports_dtype=lambda carrier, dtype: dtype in codes,
        physical_size=lambda carrier: len(carrier.cells),
        allocate=allocate,
        release=lambda carrier: setattr(carrier, "cells", array("f")),
        read=lambda carrier, index: carrier.cells[index],
        write=lambda carrier, index, value: carrier.cells.__setitem__(index, value),
        read_span=read_span if spans else None,
        write_span=write_span if spans else None,
    )


def _register() -> None:
    provider: TransferProvider[Any, Any] = TransferProvider(TRANSFERS.prepare)
    patterns = [reference_pattern(operation_definition(name)) for name in DIRECT]
    register_carrier_definition(
        FastTier,
        CarrierDefinition(
            _storage(spans=True),
            KernelProvider(KernelExecutionInterface("1"), patterns),
            transfers=[TransferRoute(FastTier, SlowTier, "fast.slow", provider)],
        ),
    )
    register_carrier_definition(
        SlowTier,
        CarrierDefinition(
            _storage(spans=False),
            transfers=[TransferRoute(SlowTier, FastTier, "slow.fast", provider)],
        ),
    )


_register()


class MakeTiled(Protocol):
    """Builds a TiledEvictable."""

    def __call__(
        self,
        grid: Iterable[int],
        tile: Iterable[int],
        values: Iterable[Any] | None = None,
        *,
        stored: bool = False,
        capacity: int | None = None,
        policy: ResidencyPolicy | None = None,
        dtype: DType = DType.Float32,
        tiers: tuple[type[Carrier], type[Carrier]] = (ArrayCarrier, ArrayCarrier),
    ) -> TiledEvictable: ...


@pytest.fixture
def tiled() -> MakeTiled:
    """Build a carrier whose slots hold 0, 1, 2, ... or given values.

    The values are the primary's, or the secondary's if ``stored``; ``()`` leaves all tiles invalid.
    """

    def make(
        grid: Iterable[int],
        tile: Iterable[int],
        values: Iterable[Any] | None = None,
        *,
        stored: bool = False,
        capacity: int | None = None,
        policy: ResidencyPolicy | None = None,
        dtype: DType = DType.Float32,
        tiers: tuple[type[Carrier], type[Carrier]] = (ArrayCarrier, ArrayCarrier),
    ) -> TiledEvictable:
        grid, tile = tuple(grid), tuple(tile)
        entries = list(range(prod(grid) * prod(tile)) if values is None else values)
        primary, secondary = (tier(0, dtype=dtype) for tier in tiers)
        if entries and stored:
            secondary = secondary.new_like(entries)
        elif entries:
            primary = primary.new_like(entries)
        return TiledEvictable(
            primary, secondary, grid, tile, residency_policy=policy, primary_capacity=capacity
        )

    return make


@pytest.fixture
def controlled() -> Iterator[Transfers]:
    """Control the transfers between FastTier and SlowTier."""
    TRANSFERS.reset()
    yield TRANSFERS
    TRANSFERS.release()


@pytest.fixture
def controlled_tiers() -> tuple[type[Carrier], type[Carrier]]:
    """Give the classes whose transfers ``controlled`` controls."""
    return FastTier, SlowTier


@pytest.fixture
def full() -> Callable[..., Tensor]:
    """View a whole carrier as a Tensor, in the canonical layout or a given one."""

    def make(carrier: TiledEvictable, layout: str | None = None) -> Tensor:
        if layout is not None:
            return Tensor(carrier, 0, Layout.parse(layout))
        return Tensor(carrier, 0, canonical_layout(Shape(list(carrier.logical_shape))))

    return make


@pytest.fixture
def dense() -> Callable[..., Tensor]:
    """Build a Tensor of given extents, or of one mode, in canonical layout."""

    def make(
        values: Iterable[Any],
        *extents: int,
        dtype: DType = DType.Float32,
        tier: type[Carrier] = ArrayCarrier,
    ) -> Tensor:
        carrier = tier(0, dtype=dtype).new_like(list(values))
        return Tensor(carrier, 0, canonical_layout(Shape(list(extents or (carrier.size(),)))))

    return make
