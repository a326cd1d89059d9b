"""From a bound call to its plan and results, computed once per distinct signature."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, final

from strideweave.dtype import DType
from strideweave.layout import Layout
from strideweave.layout.construction import canonical_layout
from strideweave.operation.invocation import (
    ResolvedInvocation,
    ResultSpec,
    bound_call,
    repeated_invocation,
)
from strideweave.operation.policy import OperandRole, OperationPlan
from strideweave.operation.policy.weak_scalar import weak_scalar_branch
from strideweave.operation.schema import NON_DIFFERENTIABLE, OperandKind, OperationSchema
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    from strideweave.operation.definition import Alignment, OperationDefinition

NO_OPTIONS: Mapping[str, object] = MappingProxyType({})
_CACHED_SIGNATURES = 512


@final
class Resolution:
    """Everything about a call that depends only on dtypes, layouts, parameters and options.

    It holds no Tensor and no carrier, so it can be kept and shared.
    """

    __slots__ = (
        "_ordinal_layouts",
        "alignment",
        "differentiable",
        "layouts",
        "mutated_operands",
        "plan",
        "published_layout",
        "records_alias",
        "records_graph",
        "results",
        "saved_operands",
        "shared_fields",
        "source_layouts",
        "tensor_positions",
    )

    def __init__(
        self,
        definition: "OperationDefinition",
        schema: OperationSchema,
        sources: tuple[object, ...],
        invocation: ResolvedInvocation,
        alignment: "Alignment | None",
    ) -> None:
        self.plan: OperationPlan = invocation.plan
        self.results: tuple[ResultSpec, ...] = invocation.results
        self.mutated_operands = invocation.mutated_operands
        self.saved_operands = invocation.saved_operands
        # The fields of the invocation after its operands.
        self.shared_fields = tuple(invocation)[2:]
        self.alignment = alignment
        view = None if alignment is None else alignment.result_view
        # None where the caller gets the result as it is.
        self.published_layout: Layout | None = (
            None if view is None else view.publish(self.results[0].layout)
        )
        self.tensor_positions = tuple(
            position
            for position, spec in enumerate(schema.operands)
            if spec.kind is OperandKind.TENSOR
        )
        tensors = [cast(Tensor, sources[position]) for position in self.tensor_positions]
        aligned = [
            cast(Tensor, invocation.operands[position]) for position in self.tensor_positions
        ]
        self.source_layouts = tuple(tensor._layout for tensor in tensors)
        # None where every operand is used as the same object.
        self.layouts: tuple[Layout, ...] | None = (
            None
            if all(map(_is_same, tensors, aligned))
            else tuple(tensor._layout for tensor in aligned)
        )
        # Positions that the vjp answers for, and whether their dtype takes part.
        self.differentiable = tuple(
            position for position, spec in enumerate(schema.operands) if spec.differentiable
        )
        takes_part = any(
            cast(Tensor, sources[position])._dtype is DType.Float32
            for position in self.differentiable
        )
        node_results = [spec for spec in self.results if spec.dtype is DType.Float32]
        self.records_graph = bool(
            definition.vjp is not NON_DIFFERENTIABLE and takes_part and node_results
        )
        self.records_alias = self.records_graph and any(
            spec.alias_of is not None for spec in node_results
        )
        self._ordinal_layouts: tuple[Layout, ...] | None = None

    def publish(self, output: Tensor) -> Tensor:
        """View the one result as the caller sees it."""
        if self.published_layout is None:
            return output
        return tensor_over(output._carrier, output._offset, self.published_layout, output._dtype)

    def restore(self, tensor: Tensor) -> Tensor:
        """View a Tensor that is shaped like the published result in the operation's own shape."""
        view = None if self.alignment is None else self.alignment.result_view
        if view is None:
            return tensor
        layout = view.restore(tensor._layout)
        return tensor_over(tensor._carrier, tensor._offset, layout, tensor._dtype)

    def ordinal_layouts(self) -> tuple[Layout, ...] | None:
        """Give, per Tensor operand, the map from aligned coordinates to source ordinals.

        Returns:
            None where no operand was aligned.
        """
        if self.layouts is None or self.alignment is None:
            return None
        if self._ordinal_layouts is None:
            self._ordinal_layouts = self.alignment.align(
                tuple(canonical_layout(layout.shape) for layout in self.source_layouts)
            )
        return self._ordinal_layouts


def _is_same(source: object, aligned: object) -> bool:
    return source is aligned


def resolve(
    definition: "OperationDefinition",
    schema: OperationSchema,
    sources: tuple[Any, ...],
    options: Mapping[str, object],
    alignment: "Alignment | None",
) -> tuple[Resolution, ResolvedInvocation]:
    """Align a bound call and resolve it.

    Args:
        definition: The operation.
        schema: The selected schema.
        sources: Complete operands as the caller gave them.
        options: Every option.
        alignment: Views to apply to the Tensor operands.

    Returns:
        The shareable resolution, and the invocation of this call.

    Raises:
        TypeError: The dtypes have no plan, or ``resolve`` returned something else.
        ValueError: The layouts cannot be aligned, or the invocation contradicts the call.
    """
    if not definition._is_builtin:
        return _resolve_fresh(definition, schema, sources, options, alignment)
    pair: tuple[object, ...] | None = None
    resolution: Resolution | None = None
    if definition._tensor_arity == 2:
        lhs, rhs = sources
        # The same layout objects as before spare hashing them; the entry keeps them alive.
        pair = (alignment, lhs._dtype, id(lhs._layout), rhs._dtype, id(rhs._layout))
        known = definition._pairs.get(pair)
        if known is not None:
            resolution = known[0]
    if resolution is None:
        signature = _signature(schema, sources, options, alignment)
        resolution = definition._resolutions.get(signature)
        if resolution is None:
            found = _resolve_fresh(definition, schema, sources, options, alignment)
            _keep(definition._resolutions, signature, found[0])
            return found
        if pair is not None:
            _keep(definition._pairs, pair, (resolution, sources[0]._layout, sources[1]._layout))
    operands = sources if resolution.layouts is None else _view_operands(resolution, sources)
    return resolution, repeated_invocation(
        (definition, schema, operands, sources, options), operands, resolution.shared_fields
    )


def _keep(cache: dict[Any, Any], key: object, value: object) -> None:
    if len(cache) >= _CACHED_SIGNATURES:
        cache.clear()
    cache[key] = value


def _signature(
    schema: OperationSchema,
    sources: tuple[Any, ...],
    options: Mapping[str, object],
    alignment: "Alignment | None",
) -> tuple[object, ...]:
    parts: list[object] = [alignment]
    for spec, value in zip(schema.operands, sources, strict=True):
        kind = spec.kind
        if kind is OperandKind.TENSOR:
            parts.append(value._dtype)
            parts.append(value._layout)
        elif kind is OperandKind.WEAK_SCALAR:
            parts.append(weak_scalar_branch(value))
        else:
            parts.append(value)
    if options:
        parts.extend(options.values())
    return tuple(parts)


def _view_operands(resolution: Resolution, sources: tuple[object, ...]) -> tuple[object, ...]:
    assert resolution.layouts is not None
    operands = list(sources)
    for position, layout in zip(resolution.tensor_positions, resolution.layouts, strict=True):
        operands[position] = _viewed(cast(Tensor, sources[position]), layout)
    return tuple(operands)


def _viewed(tensor: Tensor, layout: Layout) -> Tensor:
    if layout is tensor._layout or layout == tensor._layout:
        return tensor
    return tensor_over(tensor._carrier, tensor._offset, layout)


def _aligned(
    schema: OperationSchema, sources: tuple[object, ...], alignment: "Alignment | None"
) -> tuple[object, ...]:
    if alignment is None:
        return sources
    positions = [
        position for position, spec in enumerate(schema.operands) if spec.kind is OperandKind.TENSOR
    ]
    layouts = alignment.align(tuple(cast(Tensor, sources[p])._layout for p in positions))
    operands = list(sources)
    for position, layout in zip(positions, layouts, strict=True):
        operands[position] = _viewed(cast(Tensor, sources[position]), layout)
    return tuple(operands)


def _resolve_fresh(
    definition: "OperationDefinition",
    schema: OperationSchema,
    sources: tuple[object, ...],
    options: Mapping[str, object],
    alignment: "Alignment | None",
) -> tuple[Resolution, ResolvedInvocation]:
    operands = _aligned(schema, sources, alignment)
    call = bound_call(definition, schema, operands, sources, options)
    invocation = definition.resolve(call)
    if not isinstance(invocation, ResolvedInvocation):
        raise TypeError(
            f"{definition.name}: resolve must return a ResolvedInvocation, "
            f"got {type(invocation).__qualname__}"
        )
    if invocation.call is not call:
        raise ValueError(
            f"{definition.name}: resolve returned an invocation of another call; build it from "
            "the BoundOperationCall it was given"
        )
    _check_against_call(definition, invocation)
    return Resolution(definition, schema, sources, invocation, alignment), invocation


def _check_against_call(definition: "OperationDefinition", invocation: ResolvedInvocation) -> None:
    planned = [
        (spec.name, operand)
        for spec, operand in zip(invocation.call.schema.operands, invocation.operands, strict=True)
        if spec.kind is not OperandKind.STRUCTURAL
    ]
    for (name, operand), plan in zip(planned, invocation.plan.operands, strict=True):
        if plan.role is OperandRole.TENSOR and plan.dtype is not cast(Tensor, operand)._dtype:
            raise ValueError(
                f"{definition.name}: the plan gives {name} the dtype {plan.dtype!r}, the Tensor "
                f"has {cast(Tensor, operand)._dtype!r}"
            )
    if invocation.results[0].dtype is not invocation.plan.output:
        raise ValueError(
            f"{definition.name}: results[0].dtype {invocation.results[0].dtype!r} is not the "
            f"plan's output {invocation.plan.output!r}"
        )
    for index, spec in enumerate(invocation.results):
        if spec.alias_of is None:
            continue
        operand = cast(Tensor, invocation.operands[spec.alias_of])
        if spec.dtype is not operand._dtype or spec.layout != operand._layout:
            raise ValueError(
                f"{definition.name}: results[{index}] aliases operand {spec.alias_of} but its "
                "dtype, shape or layout differs from that operand's"
            )
