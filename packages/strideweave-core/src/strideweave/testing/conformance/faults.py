"""Checks of what stays as it was when a callback raises."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from strideweave.carriers.base import Carrier
from strideweave.dtype import SimpleDType
from strideweave.testing.conformance.adapter import CarrierAdapter, over
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.injection import (
    InjectedFault,
    raising_storage,
    storage_callback,
)
from strideweave.testing.conformance.values import distinct, same, span_of

_SLOTS: Final = 4


def outcome(act: Callable[[], object]) -> BaseException | None:
    """Run something and give what it raised."""
    try:
        act()
    except BaseException as error:
        return error
    return None


@check("faults.construction", needs_definition=True)
def construction(subject: CarrierAdapter[Any]) -> None:
    """A failing construction raises what failed, and leaves no storage behind."""
    for dtype in subject.dtypes:
        carrier_class = type(subject.make(_SLOTS, dtype))
        for name in ("supports_dtype", "allocate", "physical_size"):
            error = InjectedFault(f"injected into {name}")
            with raising_storage(carrier_class, name, error):
                raised = outcome(partial(subject.make, _SLOTS, dtype))
            require(
                raised is error,
                f"{name} of {subject.name} raised during construction, and the caller got "
                f"{raised!r} instead of that exception",
            )
            if name == "physical_size":  # storage was allocated before
                _require_given_up(subject, error)


def _require_given_up(subject: CarrierAdapter[Any], error: BaseException) -> None:
    notes = [note for note in getattr(error, "__notes__", ()) if "releasing the unfinished" in note]
    require(
        not notes,
        f"release of {subject.name} fails on a carrier whose construction was not finished, which "
        f"leaks its storage: {' '.join(notes)}",
    )


@check("faults.storage", needs_definition=True)
def storage(subject: CarrierAdapter[Any]) -> None:
    """A raising storage callback changes nothing, and its exception reaches the caller."""
    for dtype in subject.dtypes:
        for name, use in _uses(dtype).items():
            if storage_callback(subject.carrier_class, name) is not None:
                carrier = subject.filled(distinct(dtype, _SLOTS), dtype)
                _require_unharmed(subject, carrier, name, use)


def _uses(dtype: SimpleDType) -> dict[str, Callable[[Carrier], object]]:
    """Give, for each storage callback, a public use that calls it."""
    values = distinct(dtype, _SLOTS, salt=11)
    return {
        "read": lambda carrier: carrier[1],
        "write": lambda carrier: carrier.__setitem__(1, values[0]),
        "physical_size": lambda carrier: carrier.size(),
        "supports_dtype": lambda carrier: carrier.supports_storage_dtype(dtype),
        "read_span": lambda carrier: over(carrier, _SLOTS).tolist(),
        "write_span": lambda carrier: over(carrier, _SLOTS).__setitem__(
            ..., span_of(dtype, values)
        ),
        "release": lambda carrier: carrier.release(),
    }


def _require_unharmed(
    subject: CarrierAdapter[Any], carrier: Any, name: str, use: Callable[[Carrier], object]
) -> None:
    before = _state(subject, carrier)
    error = InjectedFault(f"injected into {name}")
    with raising_storage(type(carrier), name, error) as called:
        raised = outcome(lambda: use(carrier))
    if not called:
        return  # the framework reached the storage another way
    require(
        raised is error,
        f"{name} of {subject.name} raised, and the caller got {raised!r} instead of that "
        "exception; something between swallows it",
    )
    for (fact, old), new in zip(before.items(), _state(subject, carrier).values(), strict=True):
        kept = all(map(same, new, old)) if fact == "values" else new == old
        require(kept, f"a raising {name} of {subject.name} changed its {fact} from {old} to {new}")
    again = outcome(lambda: use(carrier))
    require(
        again is None, f"after {name} of {subject.name} raised once, it fails for good: {again!r}"
    )


def _state(subject: CarrierAdapter[Any], carrier: Carrier) -> dict[str, Any]:
    return {
        "version": carrier.version,
        "ownership": carrier.is_owned(),
        "release state": carrier.is_released(),
        "values": subject.raw_values(carrier, _SLOTS),
    }
