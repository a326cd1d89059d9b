"""Preparing and submitting one resolved invocation: by hook kernel, pattern or composite."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from strideweave.carriers.class_record import (
    ClassRecord,
    KernelCandidate,
    is_concrete_carrier_class,
)
from strideweave.carriers.extension.composite import CompositeProvider
from strideweave.carriers.extension.interface import are_compatible
from strideweave.carriers.extension.prepared import PreparedComposite, PreparedKernel, Unsupported
from strideweave.carriers.extension.registration import described_apart
from strideweave.carriers.extension.results import ProviderResult, accept_completion
from strideweave.carriers.provider_notes import add_provider_note
from strideweave.operation.capability import UnsupportedOperationPlan
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier

Kernel: TypeAlias = Callable[[ResolvedInvocation], Tensor | tuple[Tensor, ...]]
Outputs: TypeAlias = tuple[Tensor, ...]
AnswerT = TypeVar("AnswerT")
ResultClasses: TypeAlias = "tuple[type[Carrier], ...]"


def call_provider(
    callback: Callable[..., AnswerT],
    arguments: tuple[object, ...],
    carrier_class: "type[Carrier]",
    name: str,
    operation: str,
) -> AnswerT:
    """Call a provider; what it raises propagates as it is, with a note that says whose it was."""
    try:
        return callback(*arguments)
    except Exception as error:
        add_provider_note(error, carrier_class, name, operation)
        raise


def as_outputs(value: object, source: str) -> Outputs:
    """Turn what a kernel or reference returned into a tuple of Tensors.

    Raises:
        TypeError: It is neither a Tensor nor a tuple of Tensors.
    """
    if isinstance(value, Tensor):
        return (value,)
    if not isinstance(value, tuple):
        raise TypeError(
            f"{source} must return a Tensor or a tuple of Tensors, got {type(value).__qualname__}"
        )
    for position, entry in enumerate(value):
        if not isinstance(entry, Tensor):
            raise TypeError(
                f"{source}: result {position} must be a Tensor, got {type(entry).__qualname__}"
            )
    return value


def execute(
    carrier: "Carrier", kernel: Kernel | None, invocation: ResolvedInvocation
) -> tuple[Outputs, ResultClasses]:
    """Run the invocation once and wait for it.

    Args:
        carrier: The dispatching carrier.
        kernel: The hook's kernel on a definition-free carrier, else None.
        invocation: What to execute.

    Returns:
        The outputs, and the exact carrier class that each of them must have.

    Raises:
        TypeError: A provider returned something else than its contract says.
        UnsupportedOperationPlan: Every candidate declined.
    """
    if kernel is not None:
        value = kernel(invocation)
        if isinstance(value, Tensor):
            return (value,), (type(carrier),)
        outputs = as_outputs(value, f"the kernel of {invocation.name}")
        return outputs, (type(carrier),) * len(outputs)
    record = carrier._class_record
    definition = record.definition
    assert definition is not None
    if definition.composite is not None:
        return _run_composite(carrier, definition.composite, invocation)
    rejections: list[str] = []
    # A plan names its operation, and a name belongs to one definition for good, so the candidates
    # for the plan are patterns of the invocation's definition.
    for candidate in record.candidates(invocation.plan):
        prepared = prepare_candidate(record, candidate, invocation)
        if type(prepared) is PreparedKernel:
            outputs = _submit(prepared, record.carrier_class, invocation)
            return outputs, (record.carrier_class,) * len(outputs)
        assert isinstance(prepared, Unsupported)
        rejections.append(f"{candidate.pattern.kernel_id}: {prepared.reason}")
    _refuse(record.carrier_class, invocation, rejections)


def prepare_candidate(
    record: ClassRecord, candidate: KernelCandidate, invocation: ResolvedInvocation
) -> PreparedKernel | Unsupported:
    """Let one matching pattern prepare.

    Args:
        record: The sealed record of a class with a kernel provider.
        candidate: One of its candidates for the plan.
        invocation: What to execute.

    Returns:
        Its prepared work or its rejection.

    Raises:
        TypeError: The pattern returned something else, or work of another interface.
    """
    interface = record.interface
    assert interface is not None
    pattern = candidate.pattern
    prepare = pattern.prepare
    try:
        prepared = prepare(invocation, interface)
    except Exception as error:
        name = f"KernelPattern.prepare ({pattern.kernel_id!r})"
        add_provider_note(error, record.carrier_class, name, invocation.name)
        raise
    if type(prepared) is PreparedKernel:
        if prepared.interface is not interface:
            _require_interface(record, pattern.kernel_id, prepared)
    elif type(prepared) is not Unsupported:
        raise TypeError(
            f"KernelPattern {pattern.kernel_id!r} of {record.carrier_class.__qualname__}: "
            "prepare must return a PreparedKernel or Unsupported, "
            f"got {type(prepared).__qualname__}"
        )
    return prepared


def _require_interface(record: ClassRecord, kernel_id: str, prepared: PreparedKernel) -> None:
    expected = record.interface
    assert expected is not None
    given = prepared.interface
    if not are_compatible(given, expected):
        raise TypeError(
            f"KernelPattern {kernel_id!r} of {record.carrier_class.__qualname__}: the prepared "
            f"interface is {described_apart(type(given), type(expected))} {given.version!r}, the "
            f"provider's is {described_apart(type(expected), type(given))} {expected.version!r}; "
            "prepare with the interface that prepare was given"
        )


def _refuse(
    carrier_class: "type[Carrier]", invocation: ResolvedInvocation, rejections: list[str]
) -> NoReturn:
    reasons = "; ".join(rejections) or "no candidate serves it"
    raise UnsupportedOperationPlan(
        f"{carrier_class.__qualname__} does not execute this {invocation.name}: {reasons}"
    )


def prepare_composite(
    carrier: "Carrier", composite: "CompositeProvider[Any]", invocation: ResolvedInvocation
) -> tuple[PreparedComposite | Unsupported, ResultClasses]:
    """Ask a dependent carrier's provider for its result classes and for prepared work.

    Raises:
        TypeError: A callback returned something else.
        ValueError: There is not one result class per result.
    """
    classes = _result_classes(carrier, composite, invocation)
    prepared = call_provider(
        composite.prepare,
        (carrier, invocation),
        type(carrier),
        "CompositeProvider.prepare",
        invocation.name,
    )
    if type(prepared) is not PreparedComposite and type(prepared) is not Unsupported:
        raise TypeError(
            f"CompositeProvider of {type(carrier).__qualname__}: prepare must return a "
            f"PreparedComposite or Unsupported, got {type(prepared).__qualname__}"
        )
    return prepared, classes


def _run_composite(
    carrier: "Carrier", composite: "CompositeProvider[Any]", invocation: ResolvedInvocation
) -> tuple[Outputs, ResultClasses]:
    carrier_class = type(carrier)
    prepared, classes = prepare_composite(carrier, composite, invocation)
    if isinstance(prepared, Unsupported):
        _refuse(carrier_class, invocation, [prepared.reason])
    return _submit(prepared, carrier_class, invocation), classes


def _result_classes(
    carrier: "Carrier", composite: "CompositeProvider[Any]", invocation: ResolvedInvocation
) -> ResultClasses:
    owner = f"CompositeProvider of {type(carrier).__qualname__}: result_carriers"
    classes = call_provider(
        composite.result_carriers,
        (carrier, invocation),
        type(carrier),
        "CompositeProvider.result_carriers",
        invocation.name,
    )
    if not isinstance(classes, tuple):
        raise TypeError(
            f"{owner} must return a tuple of Carrier classes, got {type(classes).__qualname__}"
        )
    for position, entry in enumerate(classes):
        if not is_concrete_carrier_class(entry):
            raise TypeError(f"{owner}[{position}] must be a concrete Carrier class, got {entry!r}")
    if len(classes) != len(invocation.results):
        raise ValueError(
            f"{owner} must name one class per result, {len(invocation.results)}, got {len(classes)}"
        )
    return classes


def _submit(
    prepared: PreparedKernel | PreparedComposite,
    carrier_class: "type[Carrier]",
    invocation: ResolvedInvocation,
) -> Outputs:
    try:
        prepared._permissions.pop()
    except IndexError:
        prepared._claim_submission()  # raises
    submit = prepared.submit
    try:
        submitted = submit()
    except Exception as error:
        add_provider_note(error, carrier_class, "submit", invocation.name)
        raise
    if type(submitted) is ProviderResult:
        return submitted.outputs
    source = f"submit of {carrier_class.__qualname__} for {invocation.name}"
    accepted = accept_completion(submitted, source=source, immediate="a ProviderResult")
    result = call_provider(
        accepted.wait, (), carrier_class, "ProviderCompletion.wait", invocation.name
    )
    if type(result) is not ProviderResult:
        raise TypeError(
            f"{source}: the completion must give a ProviderResult, got {type(result).__qualname__}"
        )
    if accepted.done is not True:
        raise TypeError(f"{source}: the completion's done must be True after wait() returned")
    return result.outputs
