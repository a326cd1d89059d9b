"""Catalogue operations inside a vjp: on the carrier where it can, else by reference."""

from typing import TYPE_CHECKING, cast

import strideweave.operation.definition as definitions
from strideweave.operation.execution import as_outputs
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.operation.gradient_trace import tracing
from strideweave.operation.pipeline import bind_call, execute_bound
from strideweave.operation.resolution import resolve
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.operation.definition import Alignment, OperationDefinition


def evaluate(
    operation: "OperationDefinition | str",
    *operands: object,
    alignment: "Alignment | None" = None,
    **options: object,
) -> Tensor:
    """Run a single-result operation without recording it.

    The carrier of the first Tensor operand executes it where it advertises the plan; otherwise
    the reference runs over values read through spans or slots, and allocates on that carrier.

    Args:
        operation: A definition or its registered name.
        *operands: Operands in schema order.
        alignment: Views of the operands for this call; the definition's own when None.
        **options: Options by name.

    Returns:
        The result Tensor.
    """
    definition = (
        definitions.operation_definition(operation) if isinstance(operation, str) else operation
    )
    binding, carrier = bind_call(definition, operands, options)
    schema, bound, bound_options, _ = binding
    chosen = alignment or definition._alignment
    enabled = grad_mode.enabled
    grad_mode.enabled = False
    try:
        resolution, invocation = resolve(definition, schema, bound, bound_options, chosen)
        if tracing.active is not None:
            return tracing.active.follow(resolution)
        if carrier._capability(resolution.plan) is not None:
            return cast(Tensor, execute_bound(definition, binding, carrier, alignment))
        if definition.reference is None:
            raise NotImplementedError(
                f"{definition.name} has no reference, and {type(carrier).__qualname__} does not "
                "execute it; its gradient cannot be computed"
            )
        (output,) = as_outputs(
            definition.reference(invocation), f"the reference of {definition.name}"
        )
        return resolution.publish(output)
    finally:
        grad_mode.enabled = enabled
