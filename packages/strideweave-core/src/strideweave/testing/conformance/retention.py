"""Checks of what calls and transfers keep of the carriers that they were given."""

import gc
import time
import weakref
from typing import Any, Final

from strideweave.carriers.base import Carrier
from strideweave.carriers.move.entry import copy
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.tensor import Tensor
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter, over
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.plans import calls, maker
from strideweave.testing.conformance.transfers import exchanges
from strideweave.testing.conformance.values import distinct
from strideweave.testing.operation_case import call_case

_PATIENCE_SECONDS: Final = 2.0

_Watched = list[tuple[str, "weakref.ref[Carrier]"]]


def _kept(watched: _Watched) -> list[str]:
    """Name what is still alive when nobody uses it any more."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while kept := [what for what, reference in watched if reference() is not None]:
        if time.monotonic() > deadline:
            break
        gc.collect()  # a worker's last frame may go a little later
    return kept


@check("kernels.collected", ability=Ability.COMPUTES)
def kernels(subject: CarrierAdapter[Any]) -> None:
    """Nothing keeps the operands or the result of a call that nobody uses any more."""
    watched: _Watched = []
    make = maker(subject)
    for case in calls(subject):
        operands = case.build(make)
        with no_grad():
            result = call_case(case, operands)
        watched.append((f"the result of {case}", weakref.ref(result.carrier)))
        watched += [
            (f"operand {position} of {case}", weakref.ref(given.carrier))
            for position, given in enumerate(operands)
            if isinstance(given, Tensor)
        ]
        del operands, result
    kept = _kept(watched)
    require(
        not kept,
        f"{subject.name}: {len(kept)} of {len(watched)} carriers are never collected, first "
        f"{''.join(kept[:1])}; a kernel keeps what it was given or what it gave",
    )


@check("transfers.collected", ability=Ability.TRANSFERS_OUT)
def transfers(subject: CarrierAdapter[Any]) -> None:
    """Nothing keeps the carriers of a transfer that nobody uses any more."""
    watched: _Watched = []
    for peer, dtype in exchanges(subject):
        source, destination = subject.filled(distinct(dtype, 3), dtype), peer.make(3, dtype)
        with no_grad():
            copy(over(source, 3), destination)
        pair = f"a copy of {dtype.name} to {peer.name}"
        watched.append((f"the source of {pair}", weakref.ref(source)))
        watched.append((f"the destination of {pair}", weakref.ref(destination)))
        del source, destination
    kept = _kept(watched)
    require(
        not kept,
        f"{subject.name}: nothing uses {', '.join(kept)} any more, but something keeps it; a route "
        "gives up its carriers with the end of a transfer",
    )
