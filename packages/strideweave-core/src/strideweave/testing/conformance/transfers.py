"""Checks of movement: values, the source, and what a failure leaves."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, Final

from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import class_record
from strideweave.carriers.extension import PreparedTransfer, TransferRoute
from strideweave.carriers.extension.transfers import transfer_request
from strideweave.carriers.move.entry import copy, move, move_async
from strideweave.carriers.move.routes import select_route
from strideweave.dtype import DType, SimpleDType
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.tensor import Tensor
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter, Peer, over
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.faults import outcome
from strideweave.testing.conformance.injection import (
    InjectedFault,
    failing_transfers,
    raising_storage,
    replaced,
)
from strideweave.testing.conformance.payloads import Payload, payloads
from strideweave.testing.conformance.threads import THREADS, run_in_threads
from strideweave.testing.conformance.values import distinct, same, span_of
from strideweave.testing.operation_case import Value

_READ_BEFORE: Final = 32


def exchanges(subject: CarrierAdapter[Any]) -> list[tuple[Peer, SimpleDType]]:
    """List each peer with each dtype that both sides store.

    Raises:
        ConformanceFailure: There is no such pair, so that nothing could be checked.
    """
    pairs = [
        (peer, dtype) for peer in subject.peers for dtype in subject.dtypes if dtype in peer.dtypes
    ]
    require(
        bool(pairs),
        f"{type(subject).__qualname__} declares transfers of {subject.name}, but none of its peers "
        "stores one of its dtypes",
    )
    return pairs


def _payloads(subject: CarrierAdapter[Any], dtype: SimpleDType, salt: int = 0) -> Iterator[Payload]:
    return (held for held in payloads(dtype, salt) if subject.has_room(held.room))


def can_be_sized(carrier: Carrier) -> bool:
    """Tell whether a move may give slots to an empty carrier."""
    has_definition = carrier._class_record.definition is not None
    return has_definition or callable(getattr(carrier, "_allocate", None))


def declared_route(
    source_class: type[Carrier], destination_class: type[Carrier]
) -> "TransferRoute[Any, Any] | None":
    """Give the TransferRoute of an exact pair, if one is declared."""
    return select_route(source_class, destination_class).transfer


def require_values(found: Tensor, expected: list[Value], what: str) -> None:
    """Compare a moved Tensor slot by slot with the values that it must have."""
    __tracebackhide__ = True
    carrier = found.carrier
    for ordinal, slot in enumerate(slots(found.layout)):
        value = carrier[found.offset + slot]
        require(
            same(value, expected[ordinal]),
            f"{what}: element {ordinal} of {found.layout} is {value!r}, it must be "
            f"{expected[ordinal]!r}",
        )


def attempted(source: Tensor, destination: Carrier, what: str, *, keep: bool) -> Tensor:
    """Move or copy, with no gradient; word a refusal."""
    try:
        with no_grad():
            return copy(source, destination) if keep else move(source, destination)
    except Exception as error:
        raise ConformanceFailure(f"{what} failed: {error!r}") from error


def require_moved(moved: Tensor, destination: Carrier, layout: Layout, what: str) -> None:
    """Check what a move gives besides the values."""
    __tracebackhide__ = True
    require(
        moved.carrier is destination and moved.offset == 0 and moved.layout == layout,
        f"{what} gave {moved.layout} at offset {moved.offset}, it must be {layout} at offset 0 of "
        "the destination",
    )


@check("transfers.out-values", ability=Ability.TRANSFERS_OUT)
def out_values(subject: CarrierAdapter[Any]) -> None:
    """Moves and copies to every peer bring the values of every layout, and gradients back."""
    for peer, dtype in exchanges(subject):
        for payload in _payloads(subject, dtype):
            what = f"{subject.name} to {peer.name}, {dtype.name} of {payload.note}"
            for keep in (True, False):
                source = subject.filled(payload.values, dtype)
                destination = peer.make(payload.room, dtype)
                tensor = Tensor(source, payload.offset, payload.layout)
                moved = attempted(tensor, destination, what, keep=keep)
                require_moved(moved, destination, payload.layout, what)
                require_values(moved, payload.logical, what)
                require(
                    source.is_released() is not keep,
                    f"{what}: the source is {'released' if keep else 'live'} after a "
                    f"{'copy' if keep else 'move'}",
                )
        if dtype is DType.Float32 and Ability.TRANSFERS_IN in subject.abilities:
            _require_gradient(subject, peer)


def _require_gradient(subject: CarrierAdapter[Any], peer: Peer) -> None:
    what = f"the gradient of a move from {subject.name} to {peer.name}"
    source = over(subject.filled([1.0, 2.0, 3.0], DType.Float32), 3)
    seed = over(peer.make(3, DType.Float32), 3)
    seed[...] = span_of(DType.Float32, [0.5, -2.0, 8.0])
    try:
        move_async(source, peer.make(3, DType.Float32)).wait().backward(seed)
    except Exception as error:
        raise ConformanceFailure(f"{what} failed: {error!r}") from error
    gradient = source.grad
    if gradient is None:
        raise ConformanceFailure(f"{what} is missing")
    require(
        type(gradient.carrier) is subject.carrier_class,
        f"{what} is on a {type(gradient.carrier).__qualname__}",
    )
    require_values(gradient, [0.5, -2.0, 8.0], what)


@check("transfers.out-source", ability=Ability.TRANSFERS_OUT)
def out_source(subject: CarrierAdapter[Any]) -> None:
    """A copy, and a move that fails at its end, leave the source as it was."""
    for peer, dtype in exchanges(subject):
        values = distinct(dtype, 5)
        pair = f"from {subject.name} to {peer.name}"
        source, destination = subject.filled(values, dtype), peer.make(5, dtype)
        attempted(over(source, 5), destination, f"a copy {pair}", keep=True)
        _require_source(subject, source, values, f"a copy {pair}")
        _require_apart(subject, source, destination, values, f"a copy {pair}")

        what = f"a move that failed {pair}"
        source, destination = subject.filled(values, dtype), peer.make(5, dtype)
        _fail(subject.carrier_class, peer.carrier_class, source, destination, what)
        _require_source(subject, source, values, what)
        _fail_to_release(subject, source, destination, values)
        again = attempted(over(source, 5), destination, f"repeating {what}", keep=False)
        require_values(again, values, f"repeating {what}")


def _fail(
    source_class: type[Carrier],
    destination_class: type[Carrier],
    source: Carrier,
    destination: Carrier,
    what: str,
) -> None:
    """Move with a fault after the last value."""
    error = InjectedFault("injected at the end of a transfer")
    with failing_transfers(source_class, destination_class, error), no_grad():
        raised = outcome(lambda: move(over(source, 5), destination))
    require(raised is error, f"{what}: the caller got {raised!r} instead of the transfer's own")
    for role, carrier in (("source", source), ("destination", destination)):
        require(
            not (carrier.is_released() or carrier.is_owned()) and carrier.is_mutable(),
            f"{what} left its {role} released, owned or immutable",
        )


def _require_source(
    subject: CarrierAdapter[Any], source: Carrier, values: list[Value], what: str
) -> None:
    require(
        source.version == 0 and not source.is_released() and not source.is_owned(),
        f"{what} changed its source: version {source.version}, released {source.is_released()}, "
        f"owned {source.is_owned()}",
    )
    for slot, value in enumerate(values):
        try:
            found = subject.raw_read(source, slot)
        except Exception as error:
            raise ConformanceFailure(f"{what} took the memory of its source: {error!r}") from error
        require(
            same(found, value),
            f"{what} changed slot {slot} of its source from {value!r} to {found!r}",
        )


def _fail_to_release(
    subject: CarrierAdapter[Any], source: Carrier, destination: Carrier, values: list[Value]
) -> None:
    """Move out of a carrier whose release fails, where that is a callback."""
    if class_record(subject.carrier_class).definition is None:
        return
    error = InjectedFault("injected into release")
    with raising_storage(subject.carrier_class, "release", error), no_grad():
        raised = outcome(lambda: move(over(source, len(values)), destination))
    what = f"a move from {subject.name} whose release raised"
    require(raised is error, f"{what}: the caller got {raised!r} instead of that exception")
    _require_source(subject, source, values, what)


def _require_apart(
    subject: CarrierAdapter[Any],
    source: Carrier,
    destination: Carrier,
    values: list[Value],
    what: str,
) -> None:
    for slot, value in enumerate(values):
        subject.raw_write(source, slot, not value if isinstance(value, bool) else value + 1)
    for slot, value in enumerate(values):
        require(
            same(destination[slot], value),
            f"{what} left both on one memory: a later write to the source changed slot {slot} of "
            f"the destination from {value!r} to {destination[slot]!r}",
        )


@check("transfers.threads", ability=Ability.TRANSFERS_OUT)
def threads(subject: CarrierAdapter[Any]) -> None:
    """Moves in several threads at once bring what each brings alone."""
    for peer, dtype in exchanges(subject):
        what = f"moves from {subject.name} to {peer.name}"
        expected = [distinct(dtype, 30, salt=100 * number) for number in range(THREADS)]
        sources = [over(subject.filled(values, dtype), 30) for values in expected]
        destinations = [peer.make(30, dtype) for _ in expected]
        run_in_threads(
            partial(_move_one, sources, destinations, expected, f"{what} in several threads"), what
        )


def _move_one(
    sources: list[Tensor],
    destinations: list[Carrier],
    expected: list[list[Value]],
    what: str,
    number: int,
) -> None:
    moved = attempted(sources[number], destinations[number], what, keep=False)
    require_values(moved, expected[number], what)


@check("transfers.prepare-changes-nothing", ability=Ability.TRANSFERS_OUT)
def prepare_changes_nothing(subject: CarrierAdapter[Any]) -> None:
    """Preparing a declared route starts and changes nothing."""
    for peer, dtype in exchanges(subject):
        route = declared_route(subject.carrier_class, peer.carrier_class)
        if route is None:
            continue
        values, present = distinct(dtype, 6), distinct(dtype, 6, salt=21)
        source, destination = subject.filled(values, dtype), peer.make(6, dtype)
        what = f"prepare of the route {route.route_id!r} of {subject.name}"
        _fail_to_prepare(route, source, destination, what)
        over(destination, 6)[...] = span_of(dtype, present)
        before = (source.version, destination.version)
        prepared = route.provider.prepare(transfer_request(over(source, 6), destination))
        for slot in range(6):
            require(
                same(destination[slot], present[slot])
                and same(subject.raw_read(source, slot), values[slot]),
                f"{what} changed slot {slot}: it starts the transfer, which submit does",
            )
        require((source.version, destination.version) == before, f"{what} advanced a version")
        submitted = prepared.submit() if isinstance(prepared, PreparedTransfer) else None
        if submitted is not None:
            submitted.wait()


def _fail_to_prepare(
    route: "TransferRoute[Any, Any]", source: Carrier, destination: Carrier, what: str
) -> None:
    error = InjectedFault("injected into prepare")

    def fail(request: object) -> None:
        raise error

    before = (source.version, destination.version)
    with replaced(route.provider, "prepare", fail), no_grad():
        raised = outcome(lambda: move(over(source, 6), destination))
    is_free = not (source.is_owned() or destination.is_owned() or source.is_released())
    require(
        raised is error and is_free and (source.version, destination.version) == before,
        f"{what} raised: the caller got {raised!r}, and the carriers were left changed or owned",
    )


@check("transfers.prepare-abandoned", ability=Ability.TRANSFERS_OUT)
def prepare_abandoned(subject: CarrierAdapter[Any]) -> None:
    """Prepared work that is never submitted holds nothing that later transfers need."""
    for peer, dtype in exchanges(subject):
        route = declared_route(subject.carrier_class, peer.carrier_class)
        if route is None:
            continue
        values = distinct(dtype, 6)
        source, destination = subject.filled(values, dtype), peer.make(6, dtype)
        what = f"the route {route.route_id!r} of {subject.name} after prepared work was dropped"
        try:
            for _ in range(4):
                prepared = route.provider.prepare(transfer_request(over(source, 6), destination))
                require(isinstance(prepared, PreparedTransfer), f"{what} declines a flat Tensor")
                del prepared
        except ConformanceFailure:
            raise
        except Exception as error:
            raise ConformanceFailure(f"{what}: {error!r}") from error
        require_values(attempted(over(source, 6), destination, what, keep=True), values, what)


@check("transfers.in-values", ability=Ability.TRANSFERS_IN)
def in_values(subject: CarrierAdapter[Any]) -> None:
    """Moves and copies from every peer bring the values of every layout."""
    for peer, dtype in exchanges(subject):
        for payload in _payloads(subject, dtype, salt=31):
            what = f"{peer.name} to {subject.name}, {dtype.name} of {payload.note}"
            for keep, is_empty in product((True, False), repeat=2):
                room = payload.room
                destination = _empty(subject, dtype) if is_empty else subject.make(room, dtype)
                if destination is None:
                    continue
                for slot in range(min(destination.size(), _READ_BEFORE)):
                    destination[slot]  # what is read before must not be read again after
                source = peer.make(len(payload.values), dtype)
                over(source, len(payload.values))[...] = span_of(dtype, payload.values)
                tensor = Tensor(source, payload.offset, payload.layout)
                moved = attempted(tensor, destination, what, keep=keep)
                require_moved(moved, destination, payload.layout, what)
                require_values(moved, payload.logical, what)


def _empty(subject: CarrierAdapter[Any], dtype: SimpleDType) -> Carrier | None:
    """Make an empty carrier that a move may size, where the class has such."""
    if not (subject.allows_empty and can_be_sized(subject.make(1, dtype))):
        return None
    empty: Carrier = subject.make(0, dtype)
    return empty


@check("transfers.in-failure", ability=Ability.TRANSFERS_IN)
def in_failure(subject: CarrierAdapter[Any]) -> None:
    """A move into the carrier that fails at its end leaves it usable, and empty if it was."""
    for peer, dtype in exchanges(subject):
        values = distinct(dtype, 5)
        for destination in (subject.make(5, dtype), _empty(subject, dtype)):
            if destination is None:
                continue
            size = destination.size()
            source = over(peer.make(5, dtype), 5)
            source[...] = span_of(dtype, values)
            what = f"a move that failed from {peer.name} to {subject.name} of {size} slots"
            _fail(peer.carrier_class, subject.carrier_class, source.carrier, destination, what)
            require(
                destination.size() == size,
                f"{what} left it with {destination.size()} slots; allocate must be able to set "
                "the extent again, to 0 too",
            )
            if size == 0:
                _fail_to_size(subject, source, destination, what)
            again = attempted(source, destination, f"repeating {what}", keep=False)
            require_values(again, values, f"repeating {what}")


def _fail_to_size(
    subject: CarrierAdapter[Any], source: Tensor, destination: Carrier, what: str
) -> None:
    """Move into an empty carrier whose allocation fails, where that is a callback."""
    if class_record(subject.carrier_class).definition is None:
        return
    error = InjectedFault("injected into allocate")
    with raising_storage(subject.carrier_class, "allocate", error), no_grad():
        raised = outcome(lambda: move(source, destination))
    require(
        raised is error and destination.size() == 0 and not destination.is_owned(),
        f"{what}, and then allocate raised: the caller got {raised!r}, and the carrier has "
        f"{destination.size()} slots",
    )
