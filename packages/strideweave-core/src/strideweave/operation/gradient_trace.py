"""Which operations a gradient would evaluate, found over Tensors that hold nothing."""

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, final

from strideweave._record import record
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType
from strideweave.operation.invocation import ResolvedInvocation, repeated_invocation, vjp_context
from strideweave.operation.policy import OperationPlan
from strideweave.operation.resolution import Resolution
from strideweave.operation.schema import NonDifferentiable
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    from strideweave.operation.definition import OperationDefinition


@final
@record
class GradientStep:
    """One operation that a gradient evaluates.

    Attributes:
        operation: Its name.
        plan: Its dtype plan.
        by_reference: Whether the carrier lacks the plan, so that the operation's reference runs.
    """

    operation: str
    plan: OperationPlan
    by_reference: bool


@final
class GradientTrace:
    """Collects the steps of one gradient that would run on a carrier."""

    __slots__ = ("carrier", "steps")

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier
        self.steps: list[GradientStep] = []

    def follow(self, resolution: Resolution) -> Tensor:
        """Note one step and give the empty Tensor that stands for its result."""
        plan = resolution.plan
        step = GradientStep(plan.operation, plan, self.carrier._capability(plan) is None)
        if step not in self.steps:
            self.steps.append(step)
        (spec,) = resolution.results
        blank = _Blank(spec.layout.cosize, spec.dtype)
        return resolution.publish(tensor_over(blank, 0, spec.layout))


class _Tracing(threading.local):
    active: GradientTrace | None = None


tracing = _Tracing()


def traced_gradient(
    definition: "OperationDefinition",
    carrier: Carrier,
    resolution: Resolution,
    invocation: ResolvedInvocation,
) -> tuple[GradientStep, ...]:
    """Tell what the vjp of a built-in operation evaluates, in the order in which it first does.

    A vjp that looks at values sees zeros.

    Args:
        definition: A built-in operation.
        carrier: The carrier of the call.
        resolution: The resolution of the call.
        invocation: The resolved call.

    Returns:
        The distinct steps; none where the call records no graph.
    """
    if not resolution.records_graph:
        return ()
    assert not isinstance(definition.vjp, NonDifferentiable)
    operands = tuple(_blank_like(operand) for operand in invocation.operands)
    fields = (definition, invocation.call.schema, operands, operands, invocation.options)
    blank = repeated_invocation(fields, operands, resolution.shared_fields)
    results = tuple(
        tensor_over(_Blank(spec.layout.cosize, spec.dtype), 0, spec.layout)
        for spec in resolution.results
    )
    saved = tuple(cast(Tensor, operands[position]) for position in resolution.saved_operands)
    trace = GradientTrace(carrier)
    tracing.active = trace
    try:
        definition.vjp(vjp_context(blank, results, saved), results)
    finally:
        tracing.active = None
    return tuple(trace.steps)


def _blank_like(operand: object) -> object:
    if not isinstance(operand, Tensor):
        return operand
    layout = operand._layout
    return tensor_over(_Blank(layout.cosize, operand._dtype), 0, layout)


@final
class _Blank(Carrier):
    """Storage that takes no memory and reads as zeros."""

    def __init__(self, slots: int, dtype: DType) -> None:
        self._slots = slots
        self._slot_dtype = dtype
        super().__init__()

    def size(self) -> int:
        return self._slots

    def dtype(self) -> DType:
        return self._slot_dtype

    def get_value(self, index: SupportsIndex) -> Any:
        self._readable_slot(index)
        return 0

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "_Blank":
        return _Blank(sum(1 for _ in values), dtype or self._slot_dtype)

    def allocate_like(
        self,
        size: SupportsIndex,
        *,
        mutable: bool = True,
        dtype: DType | None = None,
        empty: bool = False,
    ) -> "_Blank":
        return _Blank(int(size), dtype or self._slot_dtype)

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return True

    def _is_mutable(self) -> bool:
        return True

    def _read_span(self, start: int, out: memoryview) -> object:
        out.cast("B")[:] = bytes(out.nbytes)
        return None
