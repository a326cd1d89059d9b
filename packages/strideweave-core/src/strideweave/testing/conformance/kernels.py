"""Checks of how kernels treat memory, threads and failures, beyond the values they give."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeAlias

from strideweave.carriers.base import Carrier
from strideweave.carriers.class_record import class_record
from strideweave.carriers.dependent import DependentCarrier
from strideweave.carriers.extension import PreparedKernel, ProviderCompletion, ProviderResult
from strideweave.dtype import SimpleDType
from strideweave.operation.grad_mode import no_grad
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter, over
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.completions import require_one_outcome
from strideweave.testing.conformance.faults import outcome
from strideweave.testing.conformance.injection import (
    InjectedFault,
    raising_kernels,
    raising_storage,
    replaced,
)
from strideweave.testing.conformance.plans import (
    advertised_cases,
    calls,
    maker,
    on_reference,
    some_layout_cases,
)
from strideweave.testing.conformance.threads import run_in_threads
from strideweave.testing.conformance.values import distinct, same, span_of
from strideweave.testing.operation_case import (
    MakeCarrier,
    OperandCase,
    OperationCase,
    Value,
    call_case,
    disagreement,
    run_case,
)


def _placed_calls(subject: CarrierAdapter[Any]) -> Iterator[OperationCase]:
    """Give some calls of each advertised plan over operands of other layouts."""
    yield from advertised_cases(subject, some_layout_cases)


def _tensors(operands: tuple[Any, ...]) -> list[Tensor]:
    return [given for given in operands if isinstance(given, Tensor)]


@check("kernels.fresh-results", ability=Ability.COMPUTES)
def fresh_results(subject: CarrierAdapter[Any]) -> None:
    """A result has memory of its own: neither an operand's nor an earlier result's."""
    make = maker(subject)
    for case in calls(subject):
        operands = case.build(make)
        with no_grad():
            first = call_case(case, operands)
            kept = logical_values(first)
            outcome(partial(call_case, case, _reversed(case).build(make)))
        _require_kept(subject, case, first, kept, "an earlier result", "a later call")
        for tensor in _tensors(operands):
            carrier = tensor.carrier
            for slot, value in enumerate(distinct(tensor.dtype(), carrier.size(), salt=60)):  # type: ignore[arg-type]  # operands have simple dtypes
                subject.raw_write(carrier, slot, value)
        _require_kept(subject, case, first, kept, "an operand", "a write to the operand")


def _require_kept(
    subject: CarrierAdapter[Any],
    case: OperationCase,
    result: Tensor,
    kept: list[Any],
    owner: str,
    event: str,
) -> None:
    found = logical_values(result)
    require(
        all(map(same, found, kept)),
        f"{case}: the result on {subject.name} shares its storage with {owner}: {event} changed "
        f"it from {kept!r} to {found!r}",
    )


@check("kernels.operands", ability=Ability.COMPUTES)
def operands_kept(subject: CarrierAdapter[Any]) -> None:
    """A call leaves all memory of its operands alone, slots outside their layouts included."""
    mutable, immutable = maker(subject), maker(subject, mutable=False)
    given = [(case, immutable) for case in calls(subject)]
    given += [(case, mutable) for case in (*calls(subject), *_placed_calls(subject))]
    for case, make in given:
        operands = case.build(make)
        before = [_raw(subject, tensor.carrier) for tensor in _tensors(operands)]
        with no_grad():
            call_case(case, operands)
        for position, (tensor, old) in enumerate(zip(_tensors(operands), before, strict=True)):
            new = _raw(subject, tensor.carrier)
            changed = [slot for slot, value in enumerate(old) if not same(new[slot], value)]
            require(
                not changed,
                f"{case} on {subject.name} wrote to memory of its operand {position}: slots "
                f"{changed}; a kernel only reads its operands",
            )


@check("kernels.current-operands", ability=Ability.COMPUTES)
def current_operands(subject: CarrierAdapter[Any]) -> None:
    """A call sees what was written to its operands since the last call."""
    make = maker(subject)
    for case in calls(subject):
        operands = case.build(make)
        with no_grad():
            call_case(case, operands)
            again = _reversed(case)
            if outcome(partial(run_case, again, on_reference)) is not None:
                continue  # indices in another order may be out of range
            writes = (("slot by slot", _write_slots, again), ("in bulk", _write_span, case))
            for manner, write, changed in writes:
                for tensor, given in zip(_tensors(operands), _operands(changed), strict=True):
                    write(tensor.carrier, given)
                found = call_case(case, operands)
                fault = disagreement(changed, found, run_case(changed, on_reference))
                require(
                    fault is None,
                    f"a later call on {subject.name} does not see what was written to its operands "
                    f"{manner} since the last one: {fault}",
                )


def _write_slots(carrier: Carrier, given: OperandCase) -> None:
    for slot, value in enumerate(given.storage):
        carrier[slot] = value


def _write_span(carrier: Carrier, given: OperandCase) -> None:
    over(carrier, len(given.storage))[...] = span_of(given.dtype, given.storage)


def _operands(case: OperationCase) -> list[OperandCase]:
    return [given for given in case.operands if isinstance(given, OperandCase)]


def _reversed(case: OperationCase) -> OperationCase:
    operands = tuple(
        OperandCase(
            given.dtype, (*given.storage[-2::-1], given.storage[-1]), given.offset, given.layout
        )  # the last slot is behind the operand
        if isinstance(given, OperandCase)
        else given
        for given in case.operands
    )
    return OperationCase(
        case.name, case.operation, operands, case.options, case.description, case.agreement
    )


@check("kernels.same-carrier", ability=Ability.COMPUTES)
def same_carrier(subject: CarrierAdapter[Any]) -> None:
    """Operands may lie on one carrier, side by side or in the same slots."""
    for case in calls(subject):
        for place, arrange in (("beside each other", _beside), ("in the same slots", _identified)):
            arranged = arrange(case)
            if arranged is None:
                continue
            with no_grad():
                expected = call_case(case, arranged(on_reference))
                found = call_case(case, arranged(maker(subject)))
            fault = disagreement(case, found, expected)
            require(
                fault is None,
                f"operands {place} on one {subject.name} give another result than the reference: "
                f"{fault}",
            )


Build: TypeAlias = Callable[[MakeCarrier], tuple[Any, ...]]


def _beside(case: OperationCase) -> Build | None:
    """Build operands of equal dtypes on one carrier, or tell that there are no such."""
    given = _operands(case)
    if len({operand.dtype for operand in given}) == len(given):
        return None

    def build(make: MakeCarrier) -> tuple[Any, ...]:
        stored: dict[SimpleDType, list[Value]] = {operand.dtype: [] for operand in given}
        starts = []
        for operand in given:
            starts.append(len(stored[operand.dtype]))
            stored[operand.dtype] += operand.storage
        carriers = {dtype: make(values, dtype) for dtype, values in stored.items()}
        tensors = iter(
            Tensor(carriers[operand.dtype], start + operand.offset, operand.layout)
            for operand, start in zip(given, starts, strict=True)
        )
        return tuple(
            next(tensors) if isinstance(entry, OperandCase) else entry for entry in case.operands
        )

    return build


def _identified(case: OperationCase) -> Build | None:
    """Build one Tensor for two operands, or tell that they differ in more than values."""
    given = _operands(case)
    if len(given) != 2 or len({(operand.dtype, operand.layout) for operand in given}) == 2:
        return None

    def build(make: MakeCarrier) -> tuple[Any, ...]:
        tensor = given[0].tensor(make)
        return tuple(tensor if isinstance(entry, OperandCase) else entry for entry in case.operands)

    return build


@check("kernels.threads", ability=Ability.COMPUTES)
def threads(subject: CarrierAdapter[Any]) -> None:
    """Calls in several threads at once give what each gives alone."""
    make = maker(subject)
    for case in calls(subject):
        cases = [case, _reversed(case)]
        if outcome(partial(run_case, cases[1], on_reference)) is not None:
            cases = [case, case]  # indices in another order may be out of range
        given = [(entry, entry.build(make), run_case(entry, on_reference)) for entry in cases]
        run_in_threads(partial(_agree, subject, given), f"{case} on {subject.name}")


def _agree(
    subject: CarrierAdapter[Any],
    given: list[tuple[OperationCase, tuple[Any, ...], Tensor]],
    number: int,
) -> None:
    case, operands, expected = given[number % len(given)]
    with no_grad():
        for _ in range(3):
            fault = disagreement(case, call_case(case, operands), expected)
            require(fault is None, f"with other threads at work, on {subject.name}: {fault}")


@check("kernels.failure", ability=Ability.COMPUTES, needs_definition=True)
def failure(subject: CarrierAdapter[Any]) -> None:
    """A call that fails anywhere passes that on, changes nothing, and works the next time."""
    make = maker(subject)
    for case in calls(subject):
        operands = case.build(make)
        for place, inject in (
            ("allocating its result", partial(raising_storage, subject.carrier_class, "allocate")),
            ("prepare", partial(raising_kernels, subject.carrier_class, prepares=True)),
            ("submit", partial(raising_kernels, subject.carrier_class, prepares=False)),
        ):
            before = _states(subject, operands)
            error = InjectedFault(f"injected into {place}")
            with no_grad(), inject(error=error):
                raised = outcome(partial(call_case, case, operands))
            _require_passed_on(case, subject, place, raised, error)
            for (facts, old), (now, new) in zip(before, _states(subject, operands), strict=True):
                require(
                    facts == now and all(map(same, new, old)),
                    f"{case} on {subject.name} failed in {place} and changed an operand",
                )
            with no_grad():
                again = outcome(partial(call_case, case, operands))
            require(
                again is None,
                f"{case} on {subject.name} failed once in {place}, and now fails for good: "
                f"{again!r}",
            )


def _require_passed_on(
    case: OperationCase,
    subject: CarrierAdapter[Any],
    place: str,
    raised: BaseException | None,
    error: BaseException,
) -> None:
    is_elsewhere = raised is None and isinstance(
        subject.make(1, subject.dtypes[0]), DependentCarrier
    )
    require(
        raised is error or is_elsewhere,  # a dependent carrier's result is made by its tiers
        f"{case} on {subject.name}: {place} raised, and the caller got {raised!r} instead of that "
        "exception",
    )


def _states(
    subject: CarrierAdapter[Any], operands: tuple[Any, ...]
) -> list[tuple[tuple[int, bool, bool], list[Any]]]:
    carriers = [tensor.carrier for tensor in _tensors(operands)]
    return [
        ((held.version, held.is_owned(), held.is_released()), _raw(subject, held))
        for held in carriers
    ]


def _raw(subject: CarrierAdapter[Any], carrier: Carrier) -> list[Any]:
    return subject.raw_values(carrier, carrier.size())


@check("kernels.completions", ability=Ability.ASYNCHRONOUS_KERNELS)
def completions(subject: CarrierAdapter[Any]) -> None:
    """A kernel's completion has one outcome, for every thread and at every wait."""
    found: list[tuple[str, ProviderCompletion[Any]]] = []
    make = maker(subject)
    with ExitStack() as recorders, no_grad():
        for candidate in class_record(subject.carrier_class).patterns:
            pattern = candidate.pattern
            prepare = partial(_recording, pattern.prepare, pattern.kernel_id, found)
            recorders.enter_context(replaced(pattern, "prepare", prepare))
        for case in calls(subject):
            run_case(case, make)
    require(
        bool(found),
        f"{subject.name} declares ASYNCHRONOUS_KERNELS, but submit of no kernel gave a completion",
    )
    for kernel_id, completion in found:
        require_one_outcome(completion, f"the completion of the kernel {kernel_id!r}")


def _recording(
    prepare: Any,
    kernel_id: str,
    found: list[tuple[str, ProviderCompletion[Any]]],
    *arguments: Any,
) -> Any:
    prepared = prepare(*arguments)
    if not isinstance(prepared, PreparedKernel):
        return prepared

    def submit() -> Any:
        submitted = prepared.submit()
        if not isinstance(submitted, ProviderResult):
            found.append((kernel_id, submitted))
        return submitted

    return PreparedKernel(prepared.interface, submit)
