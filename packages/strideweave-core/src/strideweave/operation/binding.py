"""From a caller's arguments to a schema with complete operands and options on one carrier class."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from strideweave.carriers.dependent import DependentCarrier
from strideweave.operation.resolution import NO_OPTIONS
from strideweave.operation.schema import (
    OperandKind,
    OperationSchema,
    bind_options,
    complete_operands,
    select_schema,
)
from strideweave.tensor.boundary import require_one_subtensor_each
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.operation.definition import OperationDefinition


# The selected schema, complete operands with structural values normalized, every option, and the
# Tensors among the operands. A plain tuple: one is made per call.
Binding: TypeAlias = tuple[
    OperationSchema, tuple[object, ...], Mapping[str, object], tuple[Tensor, ...]
]


def bind(
    definition: "OperationDefinition", operands: tuple[object, ...], options: Mapping[str, object]
) -> Binding:
    """Match arguments to the definition's schema.

    Raises:
        NotImplementedError: A Tensor has several subtensors.
        TypeError: An operand or option is missing, extra, unknown or of the wrong kind.
        ValueError: A structural value is refused by the operation.
    """
    if len(operands) == definition._tensor_arity and not options:
        for operand in operands:
            if not isinstance(operand, Tensor) or operand._deeper is not None:
                break
        else:
            checked: Any = operands
            return definition.schema, operands, NO_OPTIONS, checked
    require_one_subtensor_each(operands)
    name = definition.name
    candidates = complete_operands(name, definition.overloads, definition._optional, operands)
    bound_options = bind_options(name, definition.schema.options, options)
    schema, complete = select_schema(name, candidates)
    if definition._parameters is not None:
        complete = definition._parameters(complete, bound_options)
    tensors = tuple(
        operand
        for spec, operand in zip(schema.operands, complete, strict=True)
        if spec.kind is OperandKind.TENSOR and isinstance(operand, Tensor)
    )
    frozen = MappingProxyType(bound_options) if bound_options else NO_OPTIONS
    return schema, complete, frozen, tensors


def common_carrier(
    definition: "OperationDefinition",
    binding: Binding,
    dispatch_class: "type[Carrier] | None" = None,
) -> "Carrier | None":
    """Require one exact carrier class of all Tensor operands.

    Args:
        definition: The operation, for messages.
        binding: Its bound arguments.
        dispatch_class: The class an operation was dispatched for, which it then has to be.

    Returns:
        The first Tensor operand's carrier, None without a Tensor operand.

    Raises:
        TypeError: Two classes differ.
    """
    schema, operands, _, tensors = binding
    if not tensors:
        return None
    first = tensors[0]._carrier
    expected = dispatch_class or type(first)
    for tensor in tensors:
        if type(tensor._carrier) is not expected:
            found = type(tensor._carrier)
            name = next(
                spec.name
                for spec, operand in zip(schema.operands, operands, strict=True)
                if operand is tensor
            )
            raise carrier_mismatch(definition.name, name, found, expected)
    if len(tensors) > 1 and isinstance(first, DependentCarrier):
        for tensor in tensors[1:]:
            first._check_partner(tensor._carrier, definition.name)
    return first


def carrier_mismatch(
    operation: str, name: str, found: "type[Carrier]", expected: "type[Carrier]"
) -> TypeError:
    """Build the error of an operand on another carrier class than the first one's."""
    remedies = (expected._instead_of_mixing, found._instead_of_mixing)
    remedy = next(filter(None, remedies), "move or copy it there first")
    return TypeError(
        f"{operation}: carriers must match: {name} lives on {_named(found, expected)}, expected "
        f"{_named(expected, found)}; {remedy}"
    )


def _named(carrier_class: type, other: type) -> str:
    if carrier_class.__qualname__ == other.__qualname__:
        return f"{carrier_class.__module__}.{carrier_class.__qualname__}"
    return carrier_class.__qualname__
