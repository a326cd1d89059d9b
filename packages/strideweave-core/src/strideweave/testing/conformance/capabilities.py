"""Checks of everything that a carrier advertises, against the pure-Python references."""

from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from strideweave.carriers.capability_queries import capabilities_for_carrier_class
from strideweave.operation.capability import OperationCapability, UnsupportedOperationPlan
from strideweave.operation.policy import resolvable_plans
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.extents import extent_cases, most_slots
from strideweave.testing.conformance.faults import outcome
from strideweave.testing.conformance.plans import (
    advertised_cases,
    advertised_layout_cases,
    advertised_plans,
    failing_cases,
    maker,
    on_reference,
    plain_cases,
    repeated_cases,
    stored,
    tied_cases,
)
from strideweave.testing.operation_case import (
    MakeCarrier,
    OperationCase,
    disagreement,
    run_case,
)

_SHOWN: Final = 5


@check("capabilities.advertised", ability=Ability.COMPUTES)
def advertised(subject: CarrierAdapter[Any]) -> None:
    """What is advertised can be stored, and is what the class says."""
    carrier = subject.make(1, subject.dtypes[0])
    found = carrier.operation_capabilities()
    require(bool(found), f"{subject.name} declares COMPUTES, but advertises nothing")
    if not carrier._is_dependent:
        require(
            found == capabilities_for_carrier_class(subject.carrier_class),
            f"a {subject.name} and its class advertise different capabilities",
        )
    known = {OperationCapability.from_plan(plan) for plan in resolvable_plans()}
    for capability in found:
        require(
            stored(subject, capability),
            f"{subject.name} advertises {_described(capability)}, but does not store all of its "
            f"dtypes; it stores {', '.join(dtype.name for dtype in subject.dtypes)} (pass plans= "
            "to reference_pattern)",
        )
        require(
            capability in known
            or any(case.operation == capability.operation for case in subject.operation_cases),
            f"{subject.name} advertises {_described(capability)}, which is not in the catalogue; "
            "add a call of it to operation_cases",
        )


def _described(capability: OperationCapability) -> str:
    operands = ", ".join(
        "number" if entry.dtype is None else entry.dtype.name for entry in capability.operands
    )
    return f"{capability.operation}({operands}) -> {capability.output.name}"


def require_agreement(subject: CarrierAdapter[Any], cases: Iterable[OperationCase]) -> None:
    """Run cases on the carrier and on the reference, and report the first that differ."""
    __tracebackhide__ = True
    make = maker(subject)
    count, wrong = 0, []
    for case in cases:
        count += 1
        fault = _fault(case, make)
        if fault is not None:
            wrong.append(fault)
    require(
        not wrong,
        f"{len(wrong)} of {count} calls on {subject.name} differ from the reference:\n  "
        + "\n  ".join(wrong[:_SHOWN]),
    )


def _fault(case: OperationCase, make: MakeCarrier) -> str | None:
    expected = run_case(case, on_reference)
    try:
        found = run_case(case, make)
        return disagreement(case, found, expected)
    except UnsupportedOperationPlan as error:
        return f"{case}: it is advertised, but every kernel declines it: {error}"
    except Exception as error:
        return f"{case}: it raised {error!r}"


@check("capabilities.values", ability=Ability.COMPUTES)
def values(subject: CarrierAdapter[Any]) -> None:
    """Every advertised operation gives the reference's values, special ones included."""
    require_agreement(subject, (*advertised_cases(subject, plain_cases), *subject.operation_cases))


@check("capabilities.layouts", ability=Ability.COMPUTES)
def layouts(subject: CarrierAdapter[Any]) -> None:
    """Every advertised operation takes operands of every layout."""
    require_agreement(subject, advertised_layout_cases(subject))


@check("capabilities.extents", ability=Ability.COMPUTES)
def extents(subject: CarrierAdapter[Any]) -> None:
    """Every advertised operation takes one element, modes of equal extents, and many elements."""
    cases = advertised_cases(subject, extent_cases)
    require_agreement(subject, (case for case in cases if subject.has_room(most_slots(case))))


@check("capabilities.repeated", ability=Ability.COMPUTES)
def repeated(subject: CarrierAdapter[Any]) -> None:
    """A call with the layouts of an earlier one has its own offsets and numbers."""
    require_agreement(subject, advertised_cases(subject, repeated_cases))


@check("capabilities.ties", ability=Ability.COMPUTES)
def ties(subject: CarrierAdapter[Any]) -> None:
    """Among equal values the first one wins, in reductions and orders."""
    require_agreement(subject, advertised_cases(subject, tied_cases))


@check("capabilities.errors", ability=Ability.COMPUTES)
def errors(subject: CarrierAdapter[Any]) -> None:
    """What the reference refuses for its values is refused alike."""
    make = maker(subject)
    for plan in advertised_plans(subject):
        for case, expected in failing_cases(plan):
            raised = outcome(partial(run_case, case, make))
            require(
                isinstance(raised, expected),
                f"{case} on {subject.name} must raise {expected.__name__}, as its exact result is "
                f"out of range; it {'gave a result' if raised is None else f'raised {raised!r}'}",
            )
