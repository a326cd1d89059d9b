"""The one dispatch pipeline.

``invoke`` and ``call_definition`` bind the arguments and take the operation from the first Tensor's
carrier; ``BoundOperation`` runs the remaining stages, the same for every carrier.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast, final

import strideweave.operation.dispatch as dispatch
from strideweave.dtype import SimpleDType
from strideweave.operation.binding import Binding, bind, common_carrier
from strideweave.operation.capability import UnsupportedOperationPlan
from strideweave.operation.execution import Kernel, Outputs, execute
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.operation.gradient import SavedOutputs, gradients_of_inputs
from strideweave.operation.invocation import ResolvedInvocation
from strideweave.operation.lowering import lowered, published
from strideweave.operation.operation import Operation
from strideweave.operation.policy import OperationExecutionOptions
from strideweave.operation.publication import (
    operand_states,
    publish_mutations,
    validate_results,
)
from strideweave.operation.recording import recording
from strideweave.operation.resolution import NO_OPTIONS, Resolution, resolve
from strideweave.operation.schema import NON_DIFFERENTIABLE
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.operation.definition import Alignment, OperationDefinition
    from strideweave.profiling.recorder import Interval


@final
class BoundOperation(Operation):
    """One execution of a definition on one carrier; the framework builds it."""

    _definition: "OperationDefinition"
    _kernel: Kernel | None
    _resolution: Resolution | None = None
    _invocation: ResolvedInvocation | None = None
    _outputs: SavedOutputs | None = None

    def __init__(self, definition: "OperationDefinition", kernel: Kernel | None) -> None:
        self._definition = definition
        self._kernel = kernel

    def _accept_options(self, options: object) -> OperationExecutionOptions | Mapping[str, object]:
        if isinstance(options, Mapping) and not self._definition._is_builtin:
            return options
        return super()._accept_options(options)

    def _run(
        self,
        inputs: tuple[Any, ...],
        options: OperationExecutionOptions | Mapping[str, object] | None,
        interval: "Interval | None" = None,
    ) -> "Tensor | Outputs":
        self._options = options
        definition = self._definition
        if isinstance(options, OperationExecutionOptions):
            known = any(spec.name == "accumulator_dtype" for spec in definition.schema.options)
            options = {"accumulator_dtype": options.accumulator_dtype} if known else NO_OPTIONS
        binding = bind(definition, inputs, options or NO_OPTIONS)
        common_carrier(definition, binding, self._dispatch_carrier_class)
        carrier = cast("Carrier", self._dispatch_carrier)
        matched = _until_match(definition, carrier, binding, definition._alignment)
        return self._execute(carrier, *matched, interval)

    def _execute(
        self,
        carrier: "Carrier",
        resolution: Resolution,
        invocation: ResolvedInvocation,
        tensors: tuple[Tensor, ...],
        records: bool,
        interval: "Interval | None" = None,
    ) -> "Tensor | Outputs":
        """Run the stages from prepare to publication over a matched call."""
        self._dispatch_carrier = None
        versions = self._saved_versions(resolution, tensors) if records else ()
        outputs = _run_matched(carrier, self._kernel, resolution, invocation, tensors, interval)
        if records:
            self._record(resolution, invocation, tensors, versions, outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _saved_versions(
        self, resolution: Resolution, tensors: tuple[Tensor, ...]
    ) -> tuple[Any, ...]:
        if self._definition._is_builtin:
            return tuple([tensor._version_token() for tensor in tensors])
        saved = resolution.saved_operands
        return tuple(
            tensor._version_token() if position in saved else None
            for position, tensor in zip(resolution.tensor_positions, tensors, strict=True)
        )

    def _record(
        self,
        resolution: Resolution,
        invocation: ResolvedInvocation,
        tensors: tuple[Tensor, ...],
        versions: tuple[Any, ...],
        outputs: Outputs,
    ) -> None:
        self._inputs = tensors
        self._input_versions = versions
        self._resolution = resolution
        self._invocation = invocation
        self._outputs = SavedOutputs(outputs)
        for output in outputs:
            if output.is_differentiable():
                output._autograd_ctx = self

    def backward(self, gradient: Any) -> "tuple[Tensor | None, ...]":
        """Run the definition's vjp and fold its gradients back to the caller's Tensors.

        Args:
            gradient: The cotangent; a tuple with one entry or None per result when there are
                several results.

        Returns:
            One gradient or None per saved input.

        Raises:
            RuntimeError: The definition is not differentiable, the node was released, a saved
                operand was modified or a needed carrier is released.
            TypeError: The cotangent or an entry of the vjp's answer has another type.
            ValueError: A shape or count differs.
        """
        if self._definition.vjp is NON_DIFFERENTIABLE:
            raise RuntimeError(
                f"{self._definition.name} is not differentiable; it has no vector-Jacobian product"
            )
        self.validate_not_freed()
        self.validate_input_versions()
        if self._resolution is None or self._invocation is None or self._outputs is None:
            raise RuntimeError(
                f"{self._definition.name}: backward needs a recorded forward call; run it while "
                "graph recording is on, over a differentiable operand"
            )
        return gradients_of_inputs(
            self._definition, self._resolution, self._invocation, self._outputs, gradient
        )

    def release_saved(self) -> None:
        """Drop everything kept for backward; the operation stays attached to its results."""
        super().release_saved()
        self._resolution = None
        self._invocation = None
        self._outputs = None

    def output_position(self, tensor: Tensor) -> int:
        """Give the position of one of its results among all of them."""
        return 0 if self._outputs is None else self._outputs.position(tensor)

    @property
    def output_count(self) -> int:
        """Number of results that share this node."""
        return 1 if self._outputs is None else self._outputs.count


def _run_matched(
    carrier: "Carrier",
    kernel: Kernel | None,
    resolution: Resolution,
    invocation: ResolvedInvocation,
    tensors: tuple[Tensor, ...],
    interval: "Interval | None" = None,
) -> Outputs:
    """Run the stages prepare, submit, validate and publish, apart from the graph."""
    states = operand_states(tensors)
    if grad_mode.enabled:
        grad_mode.enabled = False
        try:
            outputs, classes = execute(carrier, kernel, invocation)
        finally:
            grad_mode.enabled = True
    else:
        outputs, classes = execute(carrier, kernel, invocation)
    validate_results(outputs, invocation, classes, states)
    if interval is not None:
        interval.close()
    if resolution.mutated_operands:
        publish_mutations(invocation, states)
    if resolution.published_layout is not None:
        return (resolution.publish(outputs[0]),)
    return outputs


def until_live(
    definition: "OperationDefinition",
    carrier: "Carrier",
    binding: Binding,
    alignment: "Alignment | None",
) -> tuple[Resolution, ResolvedInvocation, tuple[Tensor, ...]]:
    """Run the stages roles, align, resolve and live over bound arguments."""
    schema, operands, options, tensors = binding
    if definition._roles is not None:
        definition._roles(operands)
    resolution, invocation = resolve(definition, schema, operands, options, alignment)
    carrier._require_executable(definition.name)
    for tensor in tensors:
        if tensor._carrier is not carrier:
            tensor._carrier._require_executable(definition.name)
    return resolution, invocation, tensors


def _until_match(
    definition: "OperationDefinition",
    carrier: "Carrier",
    binding: Binding,
    alignment: "Alignment | None",
) -> tuple[Resolution, ResolvedInvocation, tuple[Tensor, ...], bool]:
    """Run every stage that precedes provider work; also tell whether the call is recorded."""
    schema, operands, options, tensors = binding
    if definition._roles is not None:
        definition._roles(operands)
    resolution, invocation = resolve(definition, schema, operands, options, alignment)
    if not tensors or carrier is not tensors[0]._carrier:
        carrier._require_executable(definition.name)
    for tensor in tensors:
        stored = tensor._carrier
        if stored._released or stored._class_record.is_dependent:
            stored._require_executable(definition.name)
    records = resolution.records_graph and grad_mode.enabled
    if records and resolution.records_alias:
        raise ValueError(
            f"{definition.name}: a differentiable result would be an operand itself, which already "
            "has a place in the graph; call it under no_grad, or return a fresh result"
        )
    if resolution.mutated_operands:
        _require_mutable(definition.name, invocation)
    record = carrier._class_record
    reach = carrier._capability_set() if record.is_dependent else record.capabilities
    if reach.match(resolution.plan) is None:
        raise UnsupportedOperationPlan(carrier.unsupported_plan_reason(resolution.plan))
    return resolution, invocation, tensors, records


def _require_mutable(name: str, invocation: ResolvedInvocation) -> None:
    for position in invocation.mutated_operands:
        carrier = cast(Tensor, invocation.operands[position])._carrier
        if not carrier.is_mutable():
            raise RuntimeError(
                f"{name}: operand {position} would be mutated, but its "
                f"{type(carrier).__qualname__} is not mutable"
            )


class InterceptedCall(BaseException):
    """Carries a bound call out of the public function that made it, instead of executing it."""

    def __init__(
        self,
        definition: "OperationDefinition",
        binding: Binding,
        carrier: "Carrier",
        alignment: "Alignment | None",
    ) -> None:
        super().__init__(definition.name)
        self.definition = definition
        self.binding = binding
        self.carrier = carrier
        self.alignment = alignment


@contextmanager
def intercepted() -> Iterator[None]:
    """Make public functions of this thread raise ``InterceptedCall`` instead of executing."""
    grad_mode.intercepts = True
    try:
        yield
    finally:
        grad_mode.intercepts = False


def invoke(
    definition: "OperationDefinition",
    operands: tuple[object, ...],
    options: Mapping[str, object] = NO_OPTIONS,
    alignment: "Alignment | None" = None,
) -> Any:
    """Execute a public function's operation on the first Tensor operand's carrier.

    Args:
        definition: The operation.
        operands: Operands as the caller gave them.
        options: Options by name.
        alignment: Views of the operands for this call; the definition's own when None.

    Returns:
        The published Tensor, or the tuple of Tensors the results declare.
    """
    binding, carrier = bind_call(definition, operands, options)
    if grad_mode.intercepts:
        raise InterceptedCall(definition, binding, carrier, alignment or definition._alignment)
    return execute_bound(definition, binding, carrier, alignment)


def call_definition(
    definition: "OperationDefinition",
    operands: tuple[object, ...],
    options: Mapping[str, object],
) -> Any:
    """Execute a definition called directly: every stage up to match precedes the dispatch."""
    binding, carrier = bind_call(definition, operands, options)
    matched = _until_match(definition, carrier, binding, definition._alignment)
    operation = dispatch.operation_for(carrier, definition)
    if type(operation) is BoundOperation and operation._definition is definition:
        operation._claim_use()
        recorder = recording.operations
        if recorder is None:
            return operation._execute(carrier, *matched)
        with recorder.execution(operation, binding[1]) as interval:
            return operation._execute(carrier, *matched, interval)
    return run_own(operation, definition, binding, None)


def bind_call(
    definition: "OperationDefinition",
    operands: tuple[object, ...],
    options: Mapping[str, object],
) -> "tuple[Binding, Carrier]":
    """Bind the arguments of a call and give the carrier that dispatches it."""
    if len(operands) == definition._tensor_arity and not options:
        # What the lines below find for Tensors alone, in one pass: every small call pays it.
        plain: Any = operands
        for tensor in plain:
            if (
                type(tensor) is not Tensor
                or tensor._deeper is not None
                or type(tensor._carrier) is not type(plain[0]._carrier)
            ):
                break
        else:
            carrier = plain[0]._carrier
            if not carrier._class_record.is_dependent:
                return (definition.schema, operands, NO_OPTIONS, plain), carrier
    binding = bind(definition, operands, options)
    tensors = binding[3]
    if not tensors:
        raise TypeError(
            f"{definition.name}: at least one operand must be a Tensor; it decides the carrier"
        )
    carrier = tensors[0]._carrier
    carrier_class = type(carrier)
    for tensor in tensors:
        if type(tensor._carrier) is not carrier_class:
            common_carrier(definition, binding)  # raises
    if carrier._class_record.is_dependent:
        common_carrier(definition, binding)
    return binding, carrier


def execute_bound(
    definition: "OperationDefinition",
    binding: Binding,
    carrier: "Carrier",
    alignment: "Alignment | None",
) -> Any:
    """Take the operation from the carrier and run it over bound arguments."""
    chosen = alignment or definition._alignment
    recorder = recording.operations
    operation: Operation | None = None
    kernel: Kernel | None = None
    # On a definition-backed carrier nothing is asked for the operation, and without a profile or a
    # graph nobody sees it; then there is none.
    if recorder is not None or carrier._class_record.definition is None:
        operation = dispatch.operation_for(carrier, definition)
        if type(operation) is not BoundOperation or operation._definition is not definition:
            return run_own(operation, definition, binding, alignment)
        if operation._is_used:
            operation._claim_use()  # raises
        operation._is_used = True
        kernel = operation._kernel
        if recorder is not None:
            with recorder.execution(operation, binding[1]) as interval:
                matched = _until_match(definition, carrier, binding, chosen)
                return operation._execute(carrier, *matched, interval)
    resolution, invocation, tensors, records = _until_match(definition, carrier, binding, chosen)
    if records:
        node = operation or dispatch.operation_for(carrier, definition)
        assert isinstance(node, BoundOperation)
        node._is_used = True
        return node._execute(carrier, resolution, invocation, tensors, records)
    outputs = _run_matched(carrier, kernel, resolution, invocation, tensors)
    return outputs[0] if len(outputs) == 1 else outputs


def run_own(
    operation: Operation,
    definition: "OperationDefinition",
    binding: Binding,
    alignment: "Alignment | None",
) -> Any:
    """Run the Operation that a definition-free carrier wrote, which resolves by itself."""
    schema, operands, options, _ = binding
    if alignment is not None:
        operands = lowered(schema, operands, alignment)
    accumulator = options.get("accumulator_dtype")
    if accumulator is None:
        result = operation.forward(*operands)
    else:
        own_options = OperationExecutionOptions(definition.name, cast(SimpleDType, accumulator))
        result = operation.forward(*operands, options=own_options)
    if alignment is None or alignment.result_view is None:
        return result
    return published(result, alignment.result_view)
