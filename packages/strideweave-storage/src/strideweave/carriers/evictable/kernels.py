"""The operations of a hierarchy: each runs on the primaries of its operands."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, cast

from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_set import CapabilitySet
from strideweave.operation.capability import UnsupportedOperationPlan
from strideweave.operation.definition import find_definition
from strideweave.operation.dispatch import bind_kernel, bind_view
from strideweave.operation.invocation import ResolvedInvocation, repeated_invocation
from strideweave.operation.nested import execute_on
from strideweave.operation.operation import VIEW_OPERATION_NAMES, Operation
from strideweave.operation.publication import (
    operand_states,
    publish_mutations,
    validate_results,
)
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    from strideweave.carriers.evictable.carrier import Evictable


def evictable_operation(held: CapabilitySet, operation_name: str) -> Operation:
    """Bind an operation to the primaries' kernel.

    Args:
        held: What the hierarchy executes.
        operation_name: Name of a definition or of a view.

    Returns:
        A fresh operation.

    Raises:
        NotImplementedError: No operation has that name.
        UnsupportedOperationPlan: The hierarchy executes no plan of the operation.
    """
    if operation_name in VIEW_OPERATION_NAMES:
        return bind_view(operation_name)
    if find_definition(operation_name) is None:
        raise NotImplementedError(
            f"Evictable does not execute {operation_name!r}: no operation has that name; "
            "operation_definitions() lists what is defined"
        )
    if not held.of(operation_name):
        raise UnsupportedOperationPlan(
            f"this Evictable executes no {operation_name!r}: its primary does not, or a tier does "
            "not store what it gives"
        )
    return bind_kernel(operation_name, run_on_primaries)


def run_on_primaries(invocation: ResolvedInvocation) -> tuple[Tensor, ...]:
    """Execute an invocation over hierarchies by the kernel of their primaries.

    Args:
        invocation: Its Tensors are on promoted hierarchies of the same tier classes.

    Returns:
        One Tensor per result, over a hierarchy of its own that owns what the kernel made.

    Raises:
        TypeError: The kernel's result is on another carrier class.
    """
    hierarchies: dict[int, Evictable] = {}  # by the identity of the primary
    with _writing(invocation):
        lowered = _over_primaries(invocation, hierarchies)
        tensors = tuple(value for value in lowered.operands if isinstance(value, Tensor))
        primary = tensors[0]._carrier
        states = operand_states(tensors)
        outputs = execute_on(primary, lowered)
        classes = tuple(_checked_class(lowered, output, type(primary)) for output in outputs)
        validate_results(outputs, lowered, classes, states)
        publish_mutations(lowered, states)
    prototype = hierarchies[id(primary)]
    results = []
    for output, spec in zip(outputs, lowered.results, strict=True):
        if spec.alias_of is not None:
            results.append(cast(Tensor, invocation.operands[spec.alias_of]))
            continue
        carrier = output._carrier
        if id(carrier) not in hierarchies:
            hierarchies[id(carrier)] = prototype._over(carrier)
        holder = hierarchies[id(carrier)]
        results.append(tensor_over(holder, output._offset, output._layout, output._dtype))
    return tuple(results)


def _over_primaries(
    invocation: ResolvedInvocation, hierarchies: "dict[int, Evictable]"
) -> ResolvedInvocation:
    """Replace each Tensor by one over its hierarchy's current primary, and note which it was."""
    replaced: dict[int, Tensor] = {}

    def over_primary(value: object) -> object:
        if not isinstance(value, Tensor):
            return value
        found = replaced.get(id(value))
        if found is None:
            hierarchy = cast("Evictable", value._carrier)
            primary = hierarchy._resident_primary(invocation.name)
            hierarchies[id(primary)] = hierarchy
            found = tensor_over(primary, value._offset, value._layout, value._dtype)
            replaced[id(value)] = found
        return found

    definition, schema, operands, sources, options = invocation.call
    replacements = tuple(map(over_primary, operands))
    call = (definition, schema, replacements, tuple(map(over_primary, sources)), options)
    return repeated_invocation(call, replacements, tuple(invocation)[2:])


@contextmanager
def _writing(invocation: ResolvedInvocation) -> Iterator[None]:
    """Give the kernel the owner's access to the primaries that it writes to."""
    carriers = {
        id(carrier): cast("Evictable", carrier)
        for carrier in (
            cast(Tensor, invocation.operands[position])._carrier
            for position in invocation.mutated_operands
        )
    }
    with ExitStack() as accesses:
        for identity in sorted(carriers):  # in one order, so that no two calls wait for each other
            accesses.enter_context(carriers[identity]._writing(invocation.name))
        yield


def _checked_class(
    invocation: ResolvedInvocation, output: Tensor, primary_class: type[Carrier]
) -> type[Carrier]:
    if type(output._carrier) is not primary_class:
        raise TypeError(
            f"{invocation.name}: the kernel of {primary_class.__qualname__} gave a result on "
            f"{type(output._carrier).__qualname__}; a hierarchy takes results on its primary's "
            "class only"
        )
    return primary_class
