"""Why an operation executes the way it does, or is refused, without executing it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, final

from strideweave._record import record
from strideweave.carriers.class_record import ClassRecord
from strideweave.carriers.extension.prepared import Unsupported
from strideweave.operation import dispatch
from strideweave.operation.binding import Binding
from strideweave.operation.capability import OperationCapability
from strideweave.operation.definition import OperationDefinition, operation_definition
from strideweave.operation.execution import prepare_candidate, prepare_composite
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.gradient_trace import GradientStep, traced_gradient
from strideweave.operation.invocation import ResolvedInvocation, ResultSpec
from strideweave.operation.pipeline import InterceptedCall, bind_call, intercepted, until_live
from strideweave.operation.policy import OperationPlan
from strideweave.operation.recording import unrecorded
from strideweave.operation.resolution import Resolution

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.operation.definition import Alignment
    from strideweave.tensor.tensor import Tensor


@final
@record
class CandidateExplanation:
    """One way in which a carrier could have executed the call.

    Attributes:
        kernel_id: The pattern's identifier; for a dispatch hook or composite its qualified name.
        pack: ``(namespace, version)`` of the kernel pack it came with, or None.
        preference: The pattern's preference, 0 for a hook or composite.
        rejection: Why it declined, or None when it accepted or was never asked.
    """

    kernel_id: str
    pack: tuple[str, str] | None
    preference: int
    rejection: str | None

    def __str__(self) -> str:
        origin = "" if self.pack is None else f" from pack {self.pack[0]} {self.pack[1]}"
        return f"{self.kernel_id} (preference {self.preference}{origin})"


@final
@record
class DispatchExplanation:
    """What ``explain`` found.

    Attributes:
        definition: The operation.
        plan: Its dtype plan for these operands.
        results: Specs of the results as the caller gets them: those of an ``einsum``, or of a
            convolution with ``output_dims``, are views of what the carrier makes.
        capability: The carrier's capability that is this plan, or None.
        reason: Why there is no capability, or None.
        candidates: In preparation order.
        winner: The candidate that accepted, or None.
        gradient: The distinct operations that the gradient of a built-in operation evaluates,
            each with whether it falls back to its reference. Empty where the call records no
            graph, and for other operations, whose vjp is not run.
    """

    definition: OperationDefinition
    plan: OperationPlan
    results: tuple[ResultSpec, ...]
    capability: OperationCapability | None
    reason: str | None
    candidates: tuple[CandidateExplanation, ...]
    winner: CandidateExplanation | None
    gradient: tuple[GradientStep, ...]

    def __str__(self) -> str:
        return "\n".join(
            [
                self.definition.name,
                f"  plan: {plan_text(self.plan)}",
                *(f"  result: {spec.dtype.name} {spec.layout}" for spec in self.results),
                *([] if self.reason is None else [f"  refused: {self.reason}"]),
                *(f"  {self._verdict(candidate)}: {candidate}" for candidate in self.candidates),
                *(
                    f"  gradient falls back: {step.operation} {plan_text(step.plan)}"
                    for step in self.gradient
                    if step.by_reference
                ),
            ]
        )

    def _verdict(self, candidate: CandidateExplanation) -> str:
        if candidate is self.winner:
            return "runs"
        if candidate.rejection is not None:
            return f"declined ({candidate.rejection})"
        return "not asked"


def plan_text(plan: OperationPlan) -> str:
    """Write a plan on one line: operands and what they are read as, result, arithmetic."""
    operands = ", ".join(
        f"{'number' if operand.dtype is None else operand.dtype.name} as {operand.convert_to.name}"
        for operand in plan.operands
    )
    parts = [f"({operands}) -> {plan.output.name}", plan.compute.value]
    if plan.accumulation is not None:
        width = "" if plan.accumulator_dtype is None else f" in {plan.accumulator_dtype.name}"
        parts.append(f"{plan.accumulation.value}{width}")
    return ", ".join(parts)


def explain(
    operation: "OperationDefinition | str | Callable[..., Tensor]",
    *operands: object,
    **options: object,
) -> DispatchExplanation:
    """Tell how a call would be dispatched, without executing it.

    Candidates prepare in order until one accepts; what it prepared is discarded. Nothing is
    submitted or published, and no version, graph or profile changes.

    Args:
        operation: A definition, a registered name, or the public function of one operation. A
            function takes its own arguments, such as the description of ``reduce_sum``.
        *operands: Operands of the call.
        **options: Options by name.

    Returns:
        An immutable explanation whose ``str`` is readable.

    Raises:
        TypeError: ``operation`` is none of the three, or the arguments do not bind.
        LookupError: No operation has that name.
        ValueError: The operands do not align.
        RuntimeError: An operand is released.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> carrier = ArrayCarrier(2, dtype=sw.DType.Float32)
        >>> tensor = sw.Tensor(carrier, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> print(sw.explain("exp", tensor))
        exp
          plan: (Float32 as Float32) -> Float32, binary32
          result: Float32 2:1
          runs: reference:exp (preference 0)
    """
    with no_grad(), unrecorded(movements_too=True):
        if isinstance(operation, (OperationDefinition, str)):
            definition = (
                operation_definition(operation) if isinstance(operation, str) else operation
            )
            binding, carrier = bind_call(definition, operands, options)
            return _explained(definition, binding, carrier, definition._alignment)
        if not callable(operation):
            raise TypeError(
                "explain: operation must be an OperationDefinition, a registered name or a public "
                f"function, got {type(operation).__qualname__}"
            )
        call = _intercept(operation, operands, options)
        return _explained(call.definition, call.binding, call.carrier, call.alignment)


def _intercept(
    function: Callable[..., Any], operands: tuple[object, ...], options: dict[str, object]
) -> InterceptedCall:
    with intercepted():
        try:
            function(*operands, **options)
        except InterceptedCall as call:
            return call
    raise TypeError(
        f"explain: {getattr(function, '__qualname__', function)!r} dispatches no operation with a "
        "definition; pass a definition, a registered name or a computing function"
    )


def _explained(
    definition: OperationDefinition,
    binding: Binding,
    carrier: "Carrier",
    alignment: "Alignment | None",
) -> DispatchExplanation:
    resolution, invocation, _ = until_live(definition, carrier, binding, alignment)
    plan = resolution.plan
    capability = carrier._capability(plan)
    reason = None if capability is not None else carrier.unsupported_plan_reason(plan)
    candidates: tuple[CandidateExplanation, ...] = ()
    winner = None
    if capability is not None:
        candidates, winner = _candidates(carrier, carrier._class_record, invocation)
    gradient = (
        traced_gradient(definition, carrier, resolution, invocation)
        if definition._is_builtin
        else ()
    )
    results = _published(resolution)
    return DispatchExplanation(
        definition, plan, results, capability, reason, candidates, winner, gradient
    )


def _published(resolution: Resolution) -> tuple[ResultSpec, ...]:
    layout = resolution.published_layout
    if layout is None:
        return resolution.results
    (made,) = resolution.results
    return (ResultSpec(made.dtype, layout.shape, layout, atol=made.atol, rtol=made.rtol),)


def _candidates(
    carrier: "Carrier", class_record: ClassRecord, invocation: ResolvedInvocation
) -> tuple[tuple[CandidateExplanation, ...], CandidateExplanation | None]:
    provider = class_record.definition
    if provider is None:
        return _hook(carrier, invocation)
    if provider.composite is not None:
        prepared, _ = prepare_composite(carrier, provider.composite, invocation)
        name = f"{type(carrier).__qualname__}.composite"
        return _single(name, prepared.reason if isinstance(prepared, Unsupported) else None)
    asked: dict[str, str | None] = {}
    for candidate in class_record.candidates(invocation.plan):
        prepared_kernel = prepare_candidate(class_record, candidate, invocation)
        if not isinstance(prepared_kernel, Unsupported):
            asked[candidate.pattern.kernel_id] = None
            break
        asked[candidate.pattern.kernel_id] = prepared_kernel.reason
    explained = tuple(
        CandidateExplanation(
            candidate.pattern.kernel_id,
            None if candidate.pack is None else (candidate.pack.namespace, candidate.pack.version),
            candidate.pattern.preference,
            asked.get(candidate.pattern.kernel_id),
        )
        for candidate in class_record.candidates(invocation.plan)
    )
    accepted = [entry for entry in explained if asked.get(entry.kernel_id, "") is None]
    return explained, accepted[0] if accepted else None


def _hook(
    carrier: "Carrier", invocation: ResolvedInvocation
) -> tuple[tuple[CandidateExplanation, ...], CandidateExplanation | None]:
    try:
        dispatch.dispatch(carrier, invocation.name)
    except (NotImplementedError, RuntimeError) as refusal:
        return _single(f"{type(carrier).__qualname__}._dispatch_op", str(refusal))
    return _single(f"{type(carrier).__qualname__}._dispatch_op", None)


def _single(
    name: str, rejection: str | None
) -> tuple[tuple[CandidateExplanation, ...], CandidateExplanation | None]:
    candidate = CandidateExplanation(name, None, 0, rejection)
    return (candidate,), candidate if rejection is None else None
