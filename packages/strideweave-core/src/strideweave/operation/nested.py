"""Executing on one carrier what a carrier that composes it has resolved."""

from typing import TYPE_CHECKING

import strideweave.operation.dispatch as dispatch
from strideweave.operation.execution import Outputs, as_outputs, execute
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.operation.pipeline import BoundOperation, run_own
from strideweave.operation.recording import recording
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier


def execute_on(carrier: "Carrier", invocation: ResolvedInvocation) -> Outputs:
    """Run the kernel that a carrier has for an invocation, as an operation inside the running one.

    The stages before were those of the composing carrier. Graph building is off, as in every
    kernel, and the results are not validated yet.

    Args:
        carrier: A live carrier that executes the invocation's plan.
        invocation: Its Tensors are on carriers of the class of ``carrier``.

    Returns:
        What the kernel gave.
    """
    operation = dispatch.operation_for(carrier, invocation.definition)
    if type(operation) is not BoundOperation or operation._definition is not invocation.definition:
        call = invocation.call
        tensors = tuple(value for value in call.operands if isinstance(value, Tensor))
        binding = (call.schema, call.operands, call.options, tensors)
        value = run_own(operation, call.definition, binding, None)
        return as_outputs(value, f"{type(operation).__qualname__}.forward")
    operation._claim_use()
    recorder = recording.operations
    if recorder is None:
        return execute(carrier, operation._kernel, invocation)[0]
    with recorder.execution(operation, invocation.operands) as interval:
        outputs, _ = execute(carrier, operation._kernel, invocation)
        interval.close()
    return outputs
