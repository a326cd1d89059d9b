"""Validation of what a provider produced, before anyone can see it."""

from typing import TYPE_CHECKING, TypeAlias

from strideweave.carriers.extension.registration import described_apart
from strideweave.operation.invocation import ResolvedInvocation, ResultSpec
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier


class ProviderContractError(RuntimeError):
    """A provider or kernel returned results that contradict the resolved invocation.

    Attributes:
        field: The conflicting field: ``result_count``, ``carrier``, ``storage_size``, ``dtype``,
            ``shape``, ``layout``, ``alias``, ``mutation`` or ``autograd``.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


# A carrier with its version and size before submission, when it was live.
OperandState: TypeAlias = "tuple[Carrier, int, int]"


def operand_states(tensors: tuple[Tensor, ...]) -> list[OperandState]:
    """Note the state of every Tensor's live carrier; one that several share comes repeatedly."""
    states: list[OperandState] = []
    for tensor in tensors:
        carrier = tensor._carrier
        states.append((carrier, carrier._version, carrier.size()))
    return states


def validate_results(
    outputs: tuple[Tensor, ...],
    invocation: ResolvedInvocation,
    carrier_classes: "tuple[type[Carrier], ...]",
    states: list[OperandState],
) -> None:
    """Check results against their specs without reading a value.

    Args:
        outputs: What the provider produced.
        invocation: The executed invocation.
        carrier_classes: The exact carrier class of each result.
        states: Operand carriers before submission.

    Raises:
        ProviderContractError: Something differs; nothing was published.
    """
    # One frame for the whole check of a good result: every call pays it.
    specs = invocation.results
    operands = invocation.operands
    if len(outputs) != len(specs):
        raise _conflict(
            invocation, "result_count", f"{len(specs)} result(s) expected, got {len(outputs)}"
        )
    for index, spec in enumerate(specs):
        output = outputs[index]
        carrier = output._carrier
        layout = spec.layout
        if spec.alias_of is not None:
            if output is not operands[spec.alias_of]:
                raise _other_alias(invocation, index, spec.alias_of)
        elif (
            type(carrier) is not carrier_classes[index]
            or carrier._released
            or carrier.size() < output._offset + layout.cosize
            or output._dtype is not spec.dtype
            or (output._layout is not layout and output._layout != layout)
        ):
            raise _mismatch(invocation, index, spec, output, carrier_classes[index])
        else:
            for operand in operands:
                if output is operand:
                    raise _undeclared_alias(invocation, index)
        if index == 0:
            for carrier, version, size in states:
                if carrier._version != version or carrier._released or carrier.size() != size:
                    _check_effect(invocation, carrier, size)
        if spec.alias_of is None and output._autograd_ctx is not None:
            raise _conflict(
                invocation,
                "autograd",
                f"result {index} already has an autograd node; the framework attaches it",
            )


def _other_alias(
    invocation: ResolvedInvocation, index: int, position: int
) -> ProviderContractError:
    return _conflict(
        invocation,
        "alias",
        f"result {index} must be operand {position} itself, got another object",
    )


def _undeclared_alias(invocation: ResolvedInvocation, index: int) -> ProviderContractError:
    return _conflict(
        invocation, "alias", f"result {index} must be a fresh Tensor, got an operand itself"
    )


def _mismatch(
    invocation: ResolvedInvocation,
    index: int,
    spec: ResultSpec,
    output: Tensor,
    carrier_class: "type[Carrier]",
) -> ProviderContractError:
    carrier = output._carrier
    needed = output._offset + spec.layout.cosize
    if type(carrier) is not carrier_class:
        return _conflict(
            invocation,
            "carrier",
            f"result {index} must live on {described_apart(carrier_class, type(carrier))}, "
            f"got {described_apart(type(carrier), carrier_class)}",
        )
    if carrier._released or carrier.size() < needed:
        found = "released storage" if carrier._released else f"{carrier.size()} slots"
        return _conflict(
            invocation,
            "storage_size",
            f"result {index} needs {needed} live slots, got {found}",
        )
    if output._dtype is not spec.dtype:
        return _conflict(
            invocation,
            "dtype",
            f"result {index} must have dtype {spec.dtype!r}, got {output._dtype!r}",
        )
    if output._layout.shape != spec.shape:
        return _conflict(
            invocation,
            "shape",
            f"result {index} must have shape {spec.shape}, got {output._layout.shape}",
        )
    return _conflict(
        invocation,
        "layout",
        f"result {index} must have layout {spec.layout}, got {output._layout}",
    )


def _check_effect(invocation: ResolvedInvocation, carrier: "Carrier", size: int) -> None:
    """Refuse a changed operand carrier, unless only the version of a mutated one changed."""
    if carrier._released or carrier.size() != size or not _is_mutated(carrier, invocation):
        raise _conflict(
            invocation,
            "mutation",
            f"an operand's {type(carrier).__qualname__} changed its version, size or release "
            "state; declare mutated_operands, or leave operands alone",
        )


def _is_mutated(carrier: "Carrier", invocation: ResolvedInvocation) -> bool:
    operands = (invocation.operands[position] for position in invocation.mutated_operands)
    return any(isinstance(operand, Tensor) and operand._carrier is carrier for operand in operands)


def _conflict(invocation: ResolvedInvocation, field: str, detail: str) -> ProviderContractError:
    return ProviderContractError(f"{invocation.name}: {field}: {detail}", field=field)


def publish_mutations(invocation: ResolvedInvocation, states: list[OperandState]) -> None:
    """Advance the version of every mutated carrier by exactly one, whatever the provider wrote."""
    for carrier, version, _ in states:
        if _is_mutated(carrier, invocation):
            carrier._version = version + 1
