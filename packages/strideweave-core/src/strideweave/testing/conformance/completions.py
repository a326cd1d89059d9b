"""Checks of completions that a carrier's routes and kernels give."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.carriers.extension import PreparedTransfer, ProviderCompletion
from strideweave.carriers.extension.transfers import transfer_request
from strideweave.carriers.move.entry import copy_async
from strideweave.operation.grad_mode import no_grad
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter, over
from strideweave.testing.conformance.check import ConformanceFailure, check, require
from strideweave.testing.conformance.mutability import require_refused
from strideweave.testing.conformance.threads import run_in_threads
from strideweave.testing.conformance.transfers import declared_route, exchanges, require_values
from strideweave.testing.conformance.values import distinct, same
from strideweave.testing.operation_case import Value

_SLOTS: Final = 200
_PATIENCE_SECONDS: Final = 20.0


@final
@record
class _Submitted:
    """A transfer whose submission gave a completion."""

    completion: ProviderCompletion[Any]
    source: Carrier
    destination: Carrier
    values: list[Value]
    what: str


def _submitted(subject: CarrierAdapter[Any]) -> list[_Submitted]:
    """Submit one transfer per peer and dtype, and keep those that gave a completion."""
    found = []
    for peer, dtype in exchanges(subject):
        route = declared_route(subject.carrier_class, peer.carrier_class)
        if route is None:
            continue
        values = distinct(dtype, _SLOTS)
        source, destination = subject.filled(values, dtype), peer.make(_SLOTS, dtype)
        prepared = route.provider.prepare(transfer_request(over(source, _SLOTS), destination))
        submitted = prepared.submit() if isinstance(prepared, PreparedTransfer) else None
        if submitted is not None:
            what = f"the completion of the route {route.route_id!r} of {subject.name}"
            found.append(_Submitted(submitted, source, destination, values, what))
    return found


def until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds.

    Raises:
        ConformanceFailure: It does not within the patience of the kit.
    """
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not holds():
        require(time.monotonic() < deadline, f"{what} within {_PATIENCE_SECONDS:.0f} s")
        time.sleep(0)


def require_one_outcome(completion: ProviderCompletion[Any], what: str) -> None:
    """Wait for a completion in several threads, twice in each, for one and the same outcome."""
    outcomes: list[object] = []

    def wait(number: int) -> None:
        for _ in range(2):
            outcomes.append(completion.wait())

    try:
        run_in_threads(wait, f"waiting for {what}, twice in each thread,")
    except ConformanceFailure as failure:
        raise ConformanceFailure(
            f"{failure}; every wait gives the same outcome, however often it is called"
        ) from failure
    require(
        all(entry is outcomes[0] for entry in outcomes),
        f"{what} gives another object at each wait; all waits give the identical one",
    )
    require(completion.done is True, f"{what} is not done after wait returned")


@check("completions.done", ability=Ability.ASYNCHRONOUS_TRANSFERS)
def done(subject: CarrierAdapter[Any]) -> None:
    """A transfer is done when its values are there, and not before."""
    for _ in range(3):
        transfers = _submitted(subject)
        require(
            bool(transfers),
            f"{subject.name} declares ASYNCHRONOUS_TRANSFERS, but submit of no route to its peers "
            "gave a completion",
        )
        for transfer in transfers:
            until(partial(_is_done, transfer), f"{transfer.what} is not done")
            arrived = [transfer.destination[slot] for slot in range(_SLOTS)]
            transfer.completion.wait()
            missing = [
                slot for slot, value in enumerate(transfer.values) if not same(arrived[slot], value)
            ]
            require(
                not missing,
                f"{transfer.what} says that it is done too early: {len(missing)} of {_SLOTS} "
                "values were not in the destination yet",
            )


@check("completions.wait", ability=Ability.ASYNCHRONOUS_TRANSFERS)
def wait(subject: CarrierAdapter[Any]) -> None:
    """A completion can be waited for by several threads, and again."""
    for transfer in _submitted(subject):
        require_one_outcome(transfer.completion, transfer.what)


@check("completions.in-flight", ability=Ability.ASYNCHRONOUS_TRANSFERS)
def in_flight(subject: CarrierAdapter[Any]) -> None:
    """Transfers that are under way together keep to their own values, watched or not."""
    for peer, dtype in exchanges(subject):
        expected = [distinct(dtype, _SLOTS, salt=1000 * turn) for turn in range(3)]
        sources = [over(subject.filled(values, dtype), _SLOTS) for values in expected]
        destinations = [peer.make(_SLOTS, dtype) for _ in expected]
        what = f"transfers from {subject.name} to {peer.name} that are under way together"
        with no_grad(), subject.slow_transfer():
            handles = [copy_async(*pair) for pair in zip(sources, destinations, strict=True)]
            is_held = type(subject).slow_transfer is not CarrierAdapter.slow_transfer
            if is_held and declared_route(subject.carrier_class, peer.carrier_class):
                _require_pending(handles, sources, what)
            del handles[1]  # nobody waits for this one
        for handle in handles:
            handle.wait(_PATIENCE_SECONDS)
        until(partial(_is_free, destinations[1]), f"{what}: one never ended")
        for destination, values in zip(destinations, expected, strict=True):
            require_values(over(destination, _SLOTS), values, what)


def _is_done(transfer: _Submitted) -> bool:
    return transfer.completion.done


def _is_free(carrier: Carrier) -> bool:
    return not carrier.is_owned()


def _require_pending(handles: list[Any], sources: list[Any], what: str) -> None:
    for handle, source in zip(handles, sources, strict=True):
        require(not handle.done, f"{what}: a handle is done while slow_transfer holds it back")
        require(source.carrier.is_owned(), f"{what}: a source is not owned while it is read")
        require_refused(source.carrier.release, f"{what}: releasing a source")
