"""Validation of what a provider produced, before anyone can see it."""

from typing import TYPE_CHECKING, TypeAlias

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
    """Note the state of every distinct live carrier among the Tensors."""
    states: list[OperandState] = []
    for tensor in tensors:
        carrier = tensor._carrier
        for state in states:
            if state[0] is carrier:
                break
        else:
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
    specs = invocation.results
    if len(outputs) != len(specs):
        raise _conflict(
            invocation, "result_count", f"{len(specs)} result(s) expected, got {len(outputs)}"
        )
    for index, spec in enumerate(specs):
        output = outputs[index]
        if spec.alias_of is not None:
            _check_alias(invocation, index, spec.alias_of, output)
        elif not _fits(output, spec, carrier_classes[index]):
            raise _mismatch(invocation, index, spec, output, carrier_classes[index])
        else:
            _check_fresh(invocation, index, output)
        if index == 0:
            _check_effects(invocation, states)
        if spec.alias_of is None and output._autograd_ctx is not None:
            raise _conflict(
                invocation,
                "autograd",
                f"result {index} already has an autograd node; the framework attaches it",
            )


def _check_alias(invocation: ResolvedInvocation, index: int, position: int, output: Tensor) -> None:
    if output is not invocation.call.operands[position]:
        raise _conflict(
            invocation,
            "alias",
            f"result {index} must be operand {position} itself, got another object",
        )


def _check_fresh(invocation: ResolvedInvocation, index: int, output: Tensor) -> None:
    for operand in invocation.call.operands:
        if output is operand:
            raise _conflict(
                invocation, "alias", f"result {index} must be a fresh Tensor, got an operand itself"
            )


def _fits(output: Tensor, spec: ResultSpec, carrier_class: "type[Carrier]") -> bool:
    carrier = output._carrier
    layout = spec.layout
    return (
        type(carrier) is carrier_class
        and not carrier._released
        and carrier.size() >= output._offset + layout.cosize
        and output._dtype is spec.dtype
        and (output._layout is layout or output._layout == layout)
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
            f"result {index} must live on {carrier_class.__qualname__}, "
            f"got {type(carrier).__qualname__}",
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


def _check_effects(invocation: ResolvedInvocation, states: list[OperandState]) -> None:
    for carrier, version, size in states:
        if (
            (carrier._version != version and not _is_mutated(carrier, invocation))
            or carrier._released
            or carrier.size() != size
        ):
            raise _conflict(
                invocation,
                "mutation",
                f"an operand's {type(carrier).__qualname__} changed its version, size or release "
                "state; declare mutated_operands, or leave operands alone",
            )


def _is_mutated(carrier: "Carrier", invocation: ResolvedInvocation) -> bool:
    operands = (invocation.call.operands[position] for position in invocation.mutated_operands)
    return any(isinstance(operand, Tensor) and operand._carrier is carrier for operand in operands)


def _conflict(invocation: ResolvedInvocation, field: str, detail: str) -> ProviderContractError:
    return ProviderContractError(f"{invocation.name}: {field}: {detail}", field=field)


def publish_mutations(invocation: ResolvedInvocation, states: list[OperandState]) -> None:
    """Advance the version of every mutated carrier by exactly one, whatever the provider wrote."""
    for carrier, version, _ in states:
        if _is_mutated(carrier, invocation):
            carrier._version = version + 1
