"""How built-ins resolve: the plan by the dtype policy, the result layout by the operation."""

from collections.abc import Callable
from typing import Any, TypeAlias

from strideweave.layout.construction import canonical_layout
from strideweave.layout.layout import Layout
from strideweave.operation.invocation import BoundOperationCall, ResolvedInvocation, ResultSpec
from strideweave.operation.policy import OperationPlan, resolve_operation_plan
from strideweave.operation.schema import OperandKind
from strideweave.tensor.tensor import Tensor

Resolve: TypeAlias = Callable[[BoundOperationCall], ResolvedInvocation]
# Chooses the positions of the Tensor operands whose values the vjp reads.
Saved: TypeAlias = Callable[[BoundOperationCall], tuple[int, ...]]

# Agreement with the reference for library functions and for sums in free order.
ABSOLUTE_TOLERANCE = 1e-6
RELATIVE_TOLERANCE = 1e-5


def planned(call: BoundOperationCall) -> OperationPlan:
    """Resolve the dtype plan of a bound call."""
    operands = [
        operand.dtype() if isinstance(operand, Tensor) else operand
        for spec, operand in zip(call.schema.operands, call.operands, strict=True)
        if spec.kind is not OperandKind.STRUCTURAL
    ]
    accumulator: Any = call.options.get("accumulator_dtype")
    return resolve_operation_plan(call.definition.name, *operands, accumulator_dtype=accumulator)


def nothing_saved(call: BoundOperationCall) -> tuple[int, ...]:
    """The vjp reads no operand."""
    return ()


def tensors_saved(call: BoundOperationCall) -> tuple[int, ...]:
    """The vjp reads every Tensor operand."""
    return tuple(
        position
        for position, spec in enumerate(call.schema.operands)
        if spec.kind is OperandKind.TENSOR
    )


def resolved(
    call: BoundOperationCall,
    plan: OperationPlan,
    layout: Layout,
    *,
    saved: tuple[int, ...] = (),
    exact: bool = True,
) -> ResolvedInvocation:
    """Make the invocation of a built-in: one allocating result, no effects.

    Args:
        call: The bound call.
        plan: Its dtype plan.
        layout: Layout of the result.
        saved: Positions of the Tensor operands whose values the vjp reads.
        exact: Whether carriers must agree with the reference bit for bit.
    """
    if exact:
        result = ResultSpec(plan.output, layout.shape, layout)
    else:
        result = ResultSpec(
            plan.output, layout.shape, layout, atol=ABSOLUTE_TOLERANCE, rtol=RELATIVE_TOLERANCE
        )
    return ResolvedInvocation(call, plan, (result,), (), saved)


def pointwise_layout(call: BoundOperationCall) -> Layout:
    """Result layout of a pointwise call: the operands' common compact layout, else canonical.

    An operand that alignment widened from a single element has no say.
    """
    aligned = [operand.layout for operand in call.operands if isinstance(operand, Tensor)]
    given = [source.layout for source in call.sources if isinstance(source, Tensor)]
    common = aligned[0].shape
    voting = {
        layout
        for layout, source in zip(aligned, given, strict=True)
        if source.size == layout.size or source.size != 1
    }
    if len(voting) == 1:
        (layout,) = voting
        if layout.is_compact:
            return layout
    return canonical_layout(common)


def pointwise_resolve(saved: Saved, *, exact: bool) -> Resolve:
    """Make the resolve function of a pointwise operation."""

    def resolve(call: BoundOperationCall) -> ResolvedInvocation:
        plan = planned(call)
        return resolved(call, plan, pointwise_layout(call), saved=saved(call), exact=exact)

    return resolve
