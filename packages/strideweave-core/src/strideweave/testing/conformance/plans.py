"""Calls of what a carrier advertises, as cases for the checks."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from math import ceil
from typing import Any, TypeAlias

from strideweave.carriers.base import Carrier
from strideweave.dtype import SimpleDType
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots
from strideweave.operation.capability import OperationCapability
from strideweave.operation.policy import OperationPlan, resolvable_plans
from strideweave.testing.array_carrier import ArrayCarrier
from strideweave.testing.case_values import (
    failing_values,
    smooth_values,
    special_values,
    tied_values,
)
from strideweave.testing.cases import ORDERING, cases_of, takes_gradient
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.faults import outcome
from strideweave.testing.operation_case import (
    MakeCarrier,
    OperandCase,
    OperationCase,
    Value,
    operand,
    run_case,
)

Cases: TypeAlias = tuple[OperationCase, ...]


def on_reference(values: Sequence[Value], dtype: SimpleDType) -> Carrier:
    """Make a carrier that executes the pure-Python references."""
    return ArrayCarrier(0, dtype=dtype).new_like(values)


def maker(subject: CarrierAdapter[Any], *, mutable: bool = True) -> MakeCarrier:
    """Give what makes carriers under test from values."""
    prototypes = {dtype: subject.make(1, dtype) for dtype in subject.dtypes}

    def make(values: Sequence[Value], dtype: SimpleDType) -> Carrier:
        made: Carrier = prototypes[dtype].new_like(values, mutable=mutable)
        return made

    return make


def stored(subject: CarrierAdapter[Any], plan: OperationPlan | OperationCapability) -> bool:
    """Tell whether a carrier stores the operands and results of a plan."""
    dtypes = {entry.dtype for entry in plan.operands if entry.dtype is not None}
    return {*dtypes, plan.output} <= {*subject.dtypes}


@cache
def _known_plans() -> tuple[OperationPlan, ...]:
    return resolvable_plans()


def advertised_plans(subject: CarrierAdapter[Any]) -> list[OperationPlan]:
    """List the plans of the catalogue that the carrier advertises and can store."""
    carrier = subject.make(1, subject.dtypes[0])
    return [
        plan
        for plan in _known_plans()
        if stored(subject, plan) and carrier.supports_operation_plan(plan)
    ]


def advertised_cases(
    subject: CarrierAdapter[Any], cases: Callable[[OperationPlan], Cases]
) -> Iterator[OperationCase]:
    """Give the cases of every advertised plan."""
    for plan in advertised_plans(subject):
        yield from cases(plan)


def advertised_layout_cases(subject: CarrierAdapter[Any]) -> Iterator[OperationCase]:
    """Give the layout cases of every advertised plan, or as many as the author wants of each.

    Plan after plan begins one case later, so that the plans of an operation differ in what is
    left out.
    """
    for position, plan in enumerate(advertised_plans(subject)):
        cases = layout_cases(plan)
        wanted = subject.layouts_per_plan
        step = 1 if wanted is None else max(1, ceil(len(cases) / wanted))
        yield from cases[position % step :: step]


def _plainly(case: OperationCase) -> OperationCase:
    """Place every operand of a case without offset, holes or shared slots."""
    return replace(
        case,
        operands=tuple(
            _plain(given) if isinstance(given, OperandCase) else given for given in case.operands
        ),
    )


def _plain(given: OperandCase) -> OperandCase:
    values = [given.storage[given.offset + slot] for slot in slots(given.layout)]
    return operand(given.dtype, values, canonical_layout(given.layout.shape))


def _distinct(cases: Iterator[OperationCase]) -> Cases:
    """Drop cases that differ in their names only."""
    found = {
        repr((case.operation, case.operands, case.options, case.description)): case
        for case in cases
    }
    return tuple(found.values())


@cache
def plain_cases(plan: OperationPlan) -> Cases:
    """Special values in compact operands."""
    return _distinct(_plainly(case) for case in cases_of(plan, special_values))


@cache
def layout_cases(plan: OperationPlan) -> Cases:
    """Moderate values in operands with offsets, holes, permutations and shared slots."""
    return tuple(case for case in cases_of(plan, smooth_values) if not _is_plain(case))


def _is_plain(case: OperationCase) -> bool:
    return all(
        given.offset == 0 and given.layout == canonical_layout(given.layout.shape)
        for given in case.operands
        if isinstance(given, OperandCase)
    )


@cache
def tied_cases(plan: OperationPlan) -> Cases:
    """Equal largest and smallest values, where the order of equals matters."""
    if plan.operation not in ORDERING:
        return ()
    return _distinct(_plainly(case) for case in cases_of(plan, tied_values))


@cache
def failing_cases(plan: OperationPlan) -> tuple[tuple[OperationCase, type[BaseException]], ...]:
    """Calls that the reference refuses for their values, with what it raises."""
    cases = _distinct(_plainly(case) for case in cases_of(plan, failing_values))
    raised = [(case, outcome(partial(run_case, case, on_reference))) for case in cases]
    return tuple((case, type(error)) for case, error in raised if error is not None)


@cache
def one_case(plan: OperationPlan) -> Cases:
    """One call of moderate values in compact operands."""
    return (_plainly(next(cases_of(plan, smooth_values))),)


def calls(subject: CarrierAdapter[Any]) -> Iterator[OperationCase]:
    """Give one call of each advertised plan, and the author's own."""
    yield from advertised_cases(subject, one_case)
    yield from subject.operation_cases


@cache
def repeated_cases(plan: OperationPlan) -> Cases:
    """A call, and two with its layouts: at other offsets, and with other numbers."""
    (first,) = one_case(plan)
    operands = tuple(map(_displaced, first.operands))
    cases = [first, replace(first, operands=operands, name=f"{first} again, at other offsets")]
    numbers = _altered(plan, first.operands)
    if numbers != first.operands:
        cases.append(replace(first, operands=numbers, name=f"{first} again, with other numbers"))
    return tuple(cases)


def _displaced(given: object) -> object:
    """Move an operand to later slots of its carrier."""
    if not isinstance(given, OperandCase):
        return given
    before = [not value if isinstance(value, bool) else value + 1 for value in given.storage[:3]]
    return replace(given, storage=(*before, *given.storage), offset=given.offset + len(before))


def _altered(plan: OperationPlan, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Change the numbers that take part in the arithmetic."""
    numbers = {at for at, entry in enumerate(plan.operands) if entry.dtype is None}
    if plan.operation == "pad":
        numbers.add(len(operands) - 1)
    return tuple(
        _other(given) if position in numbers else given for position, given in enumerate(operands)
    )


def _other(number: Value) -> Value:
    if isinstance(number, bool):
        return not number
    return number + (1 if isinstance(number, int) else 0.5)


@cache
def some_layout_cases(plan: OperationPlan) -> Cases:
    """A few of the layout cases, of different families."""
    return layout_cases(plan)[::3]


@cache
def gradient_calls(plan: OperationPlan) -> Cases:
    """Calls through which gradients flow: one with compact operands, some with others."""
    if not takes_gradient(plan):
        return ()
    return (*one_case(plan), *some_layout_cases(plan))
