"""Carriers whose transfers have a fault."""

import threading
import time
from array import array
from collections.abc import Callable
from typing import Any, Final

from strideweave.carriers.extension import PreparedTransfer, TransferRequest
from strideweave.testing import Ability, Peer

from .workshop import (
    FLOATS,
    Broken,
    Packed,
    PackedAdapter,
    allocate,
    broken,
    carry,
    define,
    format_of,
    read,
    route,
    width,
    write,
    write_span,
)

Request = TransferRequest[Any, Any]
_DEVICE_SECONDS: Final = 0.03
OUT: Final = Ability.TRANSFERS_OUT
IN: Final = Ability.TRANSFERS_IN
ASYNCHRONOUS: Final = Ability.ASYNCHRONOUS_TRANSFERS


# The route reads from slot 0, wherever the Tensor begins.
def _carry_from_zero(request: Request) -> None:
    for slot in range(request.physical_span):
        request.destination[slot] = read(request.source, slot)


RouteIgnoresOffset: Final = define("RouteIgnoresOffset", transfers=[route(_carry_from_zero)])


# The route expects compact Tensors, and permits no other way.
def _prepare_compact(request: Request) -> Any:
    if request.layout.cosize != request.layout.size:
        raise ValueError("only compact Tensors are transferred")
    return PreparedTransfer(lambda: carry(request))


RouteWantsCompact: Final = define(
    "RouteWantsCompact", transfers=[route(carry, prepare=_prepare_compact)]
)


# The source is wiped as soon as its values are out.
def _carry_and_wipe(request: Request) -> None:
    carry(request)
    request.source.memory[:] = bytes(len(request.source.memory))


WipesSource: Final = define("WipesSource", transfers=[route(_carry_and_wipe)])


# The route publishes by itself: the source is closed when the last value is out.
def _carry_and_close(request: Request) -> None:
    carry(request)
    request.source.is_closed = True


def _read_open(carrier: Any, index: int) -> Any:
    if getattr(carrier, "is_closed", False):
        raise ValueError("closed after its transfer")
    return read(carrier, index)


class ClosingAdapter(PackedAdapter):
    def raw_read(self, carrier: Any, slot: int) -> object:
        return _read_open(carrier, slot)


PublishesItself: Final = define(
    "PublishesItself", transfers=[route(_carry_and_close)], read=_read_open
)


# Whole carriers are handed over without a copy.
class Arrayed(Packed):
    """Keeps an array instead of bytes."""


def _allocate_array(carrier: Any, slots: int) -> None:
    typecode = format_of(carrier).replace("?", "b")
    carrier.memory = array(typecode, bytes(slots * width(carrier)))


def _release_array(carrier: Any) -> None:
    carrier.memory = array("b")


def _hand_over(request: Request) -> None:
    source, destination = request.source, request.destination
    if request.tensor.offset == 0 and source.size() == destination.size():
        destination.slots = source.memory
    else:
        carry(request)


SharesWithDestination: Final = define(
    "SharesWithDestination",
    base=Arrayed,
    transfers=[route(_hand_over)],
    physical_size=lambda carrier: len(carrier.memory),
    allocate=_allocate_array,
    release=_release_array,
)


# Preparation copies already, so that submission is fast.
def _prepare_eagerly(request: Request) -> PreparedTransfer:
    for slot in range(request.physical_span):
        value = read(request.source, request.tensor.offset + slot)
        request.destination.slots[slot] = value
    return PreparedTransfer(lambda: None)


PreparesEagerly: Final = define(
    "PreparesEagerly", transfers=[route(carry, prepare=_prepare_eagerly)]
)

# Preparation takes one of four staging buffers, and submission gives it back.
_TAKEN: Final[list[Request]] = []


def _prepare_staged(request: Request) -> PreparedTransfer:
    if len(_TAKEN) == 4:
        raise RuntimeError("all staging buffers are taken")
    _TAKEN.append(request)

    def submit() -> None:
        carry(request)
        _TAKEN.pop()

    return PreparedTransfer(submit)


HoldsStaging: Final = define("HoldsStaging", transfers=[route(carry, prepare=_prepare_staged)])


# Values come in by a route of another class, to which the destination's slots begin at the
# source's offset.
def _carry_in(request: Request) -> None:
    size = request.destination.size()
    for slot in range(request.physical_span):
        value = read(request.source, request.tensor.offset + slot)
        write(request.destination, min(slot + request.tensor.offset, size - 1), value)


ShiftedInput: Final = define("ShiftedInput")
Feeder: Final = define("Feeder", transfers=[route(_carry_in, destination=ShiftedInput)])


# What was read before a transfer is read again after it.
def _allocate_remembering(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.remembered = {}


def _read_remembering(carrier: Any, index: int) -> Any:
    return carrier.remembered.setdefault(index, read(carrier, index))


def _write_forgetting(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier.remembered.pop(index, None)


StaleAfterTransfer: Final = define(
    "StaleAfterTransfer",
    allocate=_allocate_remembering,
    read=_read_remembering,
    write=_write_forgetting,
    write_span=write_span,
)


# A carrier that gets another extent keeps what it has, and adds to it.
def _allocate_more(carrier: Any, slots: int) -> None:
    carrier.memory = bytearray(getattr(carrier, "memory", b"")) + bytes(slots * width(carrier))


OnlyGrows: Final = define("OnlyGrows", allocate=_allocate_more)


class Completion:
    """Work in a thread of its own."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        return not self._thread.is_alive()

    def wait(self) -> None:
        self._thread.join()


class DoneAtOnce(Completion):
    """Says that it is done as soon as it is submitted."""

    @property
    def done(self) -> bool:
        return True


class WaitsOnce(Completion):
    """Gives its thread up with the first wait."""

    _thread: Any

    def wait(self) -> None:
        thread, self._thread = self._thread, None
        thread.join()

    @property
    def done(self) -> bool:
        return self._thread is None or not self._thread.is_alive()


def _later(request: Request, kind: type[Completion] = Completion) -> Completion:
    values = [
        read(request.source, request.tensor.offset + slot) for slot in range(request.physical_span)
    ]

    def work() -> None:
        time.sleep(_DEVICE_SECONDS)
        for slot, value in enumerate(values):
            request.destination.slots[slot] = value

    return kind(work)


def _one_dtype(name: str, submit: Callable[[Request], Any]) -> type[Any]:
    """Define a carrier of Float32 only, since waiting for more of them shows nothing more."""
    return define(
        name, transfers=[route(submit)], supports_dtype=lambda carrier, dtype: dtype in FLOATS
    )


DoneTooEarly: Final = _one_dtype("DoneTooEarly", lambda request: _later(request, DoneAtOnce))
WaitedForOnce: Final = _one_dtype("WaitedForOnce", lambda request: _later(request, WaitsOnce))
NeverAsynchronous: Final = _one_dtype("NeverAsynchronous", carry)

# All transfers of a thread go through one staging buffer, which is filled at submission.
_STAGING: Final = threading.local()


def _later_through_staging(request: Request) -> Completion:
    if not hasattr(_STAGING, "values"):
        _STAGING.values = []
    staging = _STAGING.values
    staging[:] = [
        read(request.source, request.tensor.offset + slot) for slot in range(request.physical_span)
    ]

    def work() -> None:
        time.sleep(_DEVICE_SECONDS)
        for slot, value in enumerate(staging):
            request.destination.slots[slot] = value

    return Completion(work)


ReusesStaging: Final = _one_dtype("ReusesStaging", _later_through_staging)
_FEEDER: Final = Peer(Feeder, lambda size, dtype: Feeder(size, dtype=dtype))

BROKEN: Final[list[Broken]] = [
    broken(RouteIgnoresOffset, "transfers.out-values", "at offset 3: element 0", OUT, IN),
    broken(RouteWantsCompact, "transfers.out-values", "only compact Tensors", OUT, IN),
    broken(WipesSource, "transfers.out-source", "a copy .* changed slot 0 of its source", OUT, IN),
    broken(
        PublishesItself,
        "transfers.out-source",
        "a copy .* took the memory of its source",
        OUT,
        IN,
        adapter=ClosingAdapter,
    ),
    broken(SharesWithDestination, "transfers.out-source", "both on one memory", OUT, IN),
    broken(PreparesEagerly, "transfers.prepare-changes-nothing", "it starts the transfer", OUT, IN),
    broken(
        HoldsStaging,
        "transfers.prepare-abandoned",
        "all staging buffers are taken",
        OUT,
        IN,
        reset=_TAKEN.clear,
    ),
    broken(
        ShiftedInput, "transfers.in-values", "Feeder to ShiftedInput.*element", IN, peers=(_FEEDER,)
    ),
    broken(
        StaleAfterTransfer,
        "transfers.in-values",
        "ArrayCarrier to StaleAfterTransfer.* element 0 .* is 0.0",
        IN,
    ),
    broken(OnlyGrows, "transfers.in-failure", "left it with 5 slots", OUT, IN),
    broken(
        DoneTooEarly,
        "completions.done",
        "says that it is done too early",
        OUT,
        ASYNCHRONOUS,
        dtypes=FLOATS,
    ),
    broken(
        NeverAsynchronous, "completions.done", "gave a completion", OUT, ASYNCHRONOUS, dtypes=FLOATS
    ),
    broken(
        WaitedForOnce, "completions.wait", "waiting for .* twice", OUT, ASYNCHRONOUS, dtypes=FLOATS
    ),
    broken(
        ReusesStaging,
        "completions.in-flight",
        "under way together: element 0",
        OUT,
        ASYNCHRONOUS,
        dtypes=FLOATS,
    ),
]
