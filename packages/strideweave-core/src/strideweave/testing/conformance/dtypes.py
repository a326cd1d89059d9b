"""Checks of what a carrier says about dtypes."""

from typing import Any, Final

from strideweave.carriers.base import Carrier
from strideweave.dtype import DType, SimpleDType
from strideweave.dtype.registry import registry
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import ConformanceFailure, check, require

_VALUES: Final[tuple[SimpleDType, ...]] = (DType.Float32, DType.Int32, DType.Bool)


@check("dtypes.supported")
def supported(subject: CarrierAdapter[Any]) -> None:
    """A carrier stores the dtypes that it says it stores, and refuses the others."""
    prototype = subject.make(1, subject.dtypes[0])
    for dtype in _VALUES:
        answer = prototype.supports_storage_dtype(dtype)
        require(
            answer == (dtype in subject.dtypes),
            f"{subject.name} says {answer} to storing {dtype.name}, which the test class "
            f"{'lists' if dtype in subject.dtypes else 'does not list'} in dtypes",
        )
    for described in registry.snapshot():
        if prototype.supports_storage_dtype(described):
            _require_stored(subject, prototype, described)
        else:
            _require_refused(subject, prototype, described)


def _require_stored(subject: CarrierAdapter[Any], prototype: Carrier, dtype: DType) -> None:
    try:
        found = prototype.allocate_like(1, dtype=dtype).dtype()
    except Exception as error:
        raise ConformanceFailure(
            f"{subject.name} says that it stores {dtype.name}, but cannot allocate it: {error!r}"
        ) from error
    require(found is dtype, f"{subject.name} allocated as {dtype.name} says it is {found.name}")


def _require_refused(subject: CarrierAdapter[Any], prototype: Carrier, dtype: DType) -> None:
    try:
        prototype.allocate_like(1, dtype=dtype)
    except Exception:
        return
    raise ConformanceFailure(
        f"{subject.name} says that it does not store {dtype.name}, but allocates it"
    )


@check("dtypes.unchanging")
def unchanging(subject: CarrierAdapter[Any]) -> None:
    """What a carrier says about dtypes does not depend on its state."""
    expected = _answers(subject.make(2, subject.dtypes[0]))
    for dtype in subject.dtypes:
        carrier = subject.make(2, dtype)
        states: list[tuple[str, Carrier]] = [
            (f"of {dtype.name}", carrier),
            ("that is immutable", subject.make(2, dtype, mutable=False)),
        ]
        for state, other in states:
            _require_answers(subject, state, other, expected)
        carrier.release()
        _require_answers(subject, "that is released", carrier, expected)
        found = carrier.dtype()
        require(found is dtype, f"{subject.name} of {dtype.name} says {found!r} after its release")


def _answers(carrier: Carrier) -> dict[str, bool]:
    return {dtype.name: carrier.supports_storage_dtype(dtype) for dtype in registry.snapshot()}


def _require_answers(
    subject: CarrierAdapter[Any], state: str, carrier: Carrier, expected: dict[str, bool]
) -> None:
    try:
        found = _answers(carrier)
    except Exception as error:
        raise ConformanceFailure(
            f"a {subject.name} {state} cannot tell which dtypes it stores: {error!r}"
        ) from error
    changed = [name for name in expected if found[name] != expected[name]]
    require(
        not changed,
        f"a {subject.name} {state} gives another answer to storing {', '.join(changed)} than a "
        "fresh one; supports_dtype must not depend on the carrier's state",
    )
