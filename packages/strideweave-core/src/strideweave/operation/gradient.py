"""Backward of a bound operation: cotangents in, one gradient per saved input out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast, final
from weakref import ref

from strideweave.autograd.fold import fold_gradient
from strideweave.carriers.dependent import DependentCarrier
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.operation.invocation import ResolvedInvocation, vjp_context
from strideweave.operation.recording import recording
from strideweave.operation.resolution import Resolution, resolve
from strideweave.operation.schema import NonDifferentiable
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.operation.definition import OperationDefinition


@final
class SavedOutputs:
    """Published results, kept without a reference cycle through their autograd node."""

    __slots__ = ("_published", "_twins", "count")

    def __init__(self, outputs: tuple[Tensor, ...]) -> None:
        self._published = tuple([ref(output) for output in outputs])
        self._twins = tuple([output.detach() for output in outputs])
        self.count = len(outputs)

    def tensors(self) -> tuple[Tensor, ...]:
        """Give the published Tensors, or equal ones over the same storage where they are gone."""
        return tuple(
            twin if published() is None else cast(Tensor, published())
            for published, twin in zip(self._published, self._twins, strict=True)
        )

    def position(self, tensor: Tensor) -> int:
        """Give the result position of a published Tensor."""
        for position, published in enumerate(self._published):
            if published() is tensor:
                return position
        raise ValueError("the Tensor is no result of this operation")


def gradients_of_inputs(
    definition: "OperationDefinition",
    resolution: Resolution,
    invocation: ResolvedInvocation,
    outputs: SavedOutputs,
    gradient: object,
) -> tuple[Tensor | None, ...]:
    """Run the vjp and fold its answers back to the Tensors the caller gave.

    Raises:
        TypeError: A cotangent, or an entry of the vjp's answer, has another type or dtype.
        ValueError: A count or shape differs.
        RuntimeError: The cotangent, or an operand the vjp reads, has no live values.
    """
    results = outputs.tensors()
    cotangents = _checked_cotangents(definition, results, gradient)
    for position in resolution.saved_operands:
        operand = cast(Tensor, invocation.operands[position])
        operand._carrier._require_executable(f"{definition.name} backward")
    call = RecordedCall(resolution, invocation, results, cotangents)
    carrier = cast(Tensor, invocation.call.sources[resolution.tensor_positions[0]])._carrier
    enabled, operations = grad_mode.enabled, recording.operations
    grad_mode.enabled, recording.operations = False, None
    try:
        if isinstance(carrier, DependentCarrier):
            return carrier._differentiate(call)
        return call.differentiate()
    finally:
        grad_mode.enabled, recording.operations = enabled, operations


@final
class RecordedCall:
    """One call of an operation at the moment of its backward, for ``_differentiate``.

    Attributes:
        invocation: The call, with its aligned operands; ``call.sources`` are the caller's own.
    """

    __slots__ = ("_cotangents", "_dense", "_resolution", "_results", "invocation")

    def __init__(
        self,
        resolution: Resolution,
        invocation: ResolvedInvocation,
        results: tuple[Tensor, ...],
        cotangents: tuple[Tensor | None, ...],
    ) -> None:
        self._resolution = resolution
        self._results = results
        self._cotangents = cotangents
        self._dense: tuple[Tensor | None, ...] | None = None
        self.invocation = invocation

    @property
    def tensor_positions(self) -> tuple[int, ...]:
        """Positions of the Tensor operands: there is one gradient, or None, for each of them."""
        return self._resolution.tensor_positions

    def takes_gradient(self, position: int) -> bool:
        """Tell whether a gradient of the operand at a position is wanted."""
        source = cast(Tensor, self.invocation.call.sources[position])
        return position in self._resolution.differentiable and source._takes_gradient()

    def cotangents(self) -> tuple[Tensor | None, ...]:
        """Give what arrived for each result, in the operation's own shapes, as dense Tensors."""
        if self._dense is None:
            dense = tuple(
                None if entry is None else entry._carrier._vjp_operand(entry)
                for entry in self._cotangents
            )
            if self._resolution.published_layout is not None:
                dense = (self._resolution.restore(cast(Tensor, dense[0])),)
            self._dense = dense
        return self._dense

    def differentiate(self, readable: Sequence[Tensor] | None = None) -> tuple[Tensor | None, ...]:
        """Run the vjp over dense operands, as for every carrier without a way of its own.

        Args:
            readable: Stand-ins for the operands whose values the vjp reads, in the order of
                ``invocation.saved_operands``; by default each carrier's ``_vjp_operand``.

        Returns:
            One gradient or None per Tensor operand, in the representation of its carrier.

        Raises:
            TypeError: The vjp's answer has another type or dtype.
            ValueError: A count or shape differs.
        """
        cotangents = self.cotangents()
        invocation, resolution, results = self.invocation, self._resolution, self._results
        saved = _readable_operands(invocation) if readable is None else tuple(readable)
        if resolution.published_layout is not None:
            results = (resolution.restore(results[0]),)
        entries = _run_vjp(resolution, invocation, results, saved, cotangents)
        return _spread(resolution, invocation, entries)

    def differentiate_block(
        self, operands: Sequence[object], cotangent: Tensor
    ) -> tuple[Tensor | None, ...]:
        """Run the vjp over one block of the operands, whose gradients depend on it alone.

        Args:
            operands: One per operand of the call: blocks of the aligned Tensors, of one dense
                carrier class, and the other operands as they are. Only blocks of
                ``invocation.saved_operands`` need values.
            cotangent: The block of the one result's cotangent that they give.

        Returns:
            Per Tensor operand the gradient of its block, in the block's shape, or None.

        Raises:
            TypeError: The vjp's answer has another type or dtype.
            ValueError: A count or shape differs.

        The vjp must not read the results of the call.
        """
        recorded = self.invocation.call
        resolution, invocation = resolve(
            recorded.definition, recorded.schema, tuple(operands), recorded.options, None
        )
        saved = tuple(cast(Tensor, operands[p]) for p in invocation.saved_operands)
        entries = _run_vjp(resolution, invocation, (), saved, (cotangent,))
        by_position = dict(zip(resolution.differentiable, entries, strict=True))
        return tuple(map(by_position.get, resolution.tensor_positions))


def _run_vjp(
    resolution: Resolution,
    invocation: ResolvedInvocation,
    results: tuple[Tensor, ...],
    saved: tuple[Tensor, ...],
    cotangents: tuple[Tensor | None, ...],
) -> tuple[Tensor | None, ...]:
    definition = invocation.definition
    assert not isinstance(definition.vjp, NonDifferentiable)
    answers = definition.vjp(vjp_context(invocation, results, saved), cotangents)
    return _checked_answers(definition, resolution, invocation, answers)


def _checked_cotangents(
    definition: "OperationDefinition", results: tuple[Tensor, ...], gradient: object
) -> tuple[Tensor | None, ...]:
    entries = gradient if len(results) > 1 else (gradient,)
    if not isinstance(entries, tuple) or len(entries) != len(results):
        raise TypeError(
            f"{definition.name}: backward takes a tuple of {len(results)} cotangents, "
            f"got {type(gradient).__qualname__}"
        )
    cotangents: list[Tensor | None] = []
    for position, (entry, result) in enumerate(zip(entries, results, strict=True)):
        if entry is None and len(results) > 1:
            cotangents.append(None)
            continue
        if not isinstance(entry, Tensor):
            raise TypeError(
                f"{definition.name}: gradient must be a Tensor, got {type(entry).__qualname__}"
            )
        require_one_subtensor(entry, "backward")
        if entry._layout.shape != result._layout.shape:
            raise ValueError(
                f"{definition.name}: gradient {position} has shape {entry._layout.shape}, "
                f"the result has shape {result._layout.shape}"
            )
        entry._carrier._require_executable(f"{definition.name} backward")
        cotangents.append(entry)
    return tuple(cotangents)


def _readable_operands(invocation: ResolvedInvocation) -> tuple[Tensor, ...]:
    """Give what the vjp reads for saved operands, once for an operand that is saved twice."""
    readable: dict[int, Tensor] = {}
    saved = [cast(Tensor, invocation.operands[p]) for p in invocation.saved_operands]
    for operand in saved:
        if id(operand) not in readable:
            readable[id(operand)] = operand._carrier._vjp_operand(operand)
    return tuple([readable[id(operand)] for operand in saved])


def _checked_answers(
    definition: "OperationDefinition",
    resolution: Resolution,
    invocation: ResolvedInvocation,
    answers: Any,
) -> tuple[Tensor | None, ...]:
    positions = resolution.differentiable
    if not isinstance(answers, tuple):
        raise TypeError(
            f"{definition.name}: vjp must return a tuple, got {type(answers).__qualname__}"
        )
    for index, answer in enumerate(answers):
        if answer is not None and not isinstance(answer, Tensor):
            raise TypeError(
                f"{definition.name}: vjp entry {index} must be a Tensor or None, "
                f"got {type(answer).__qualname__}"
            )
    if len(answers) != len(positions):
        raise ValueError(
            f"{definition.name}: vjp must return one entry per differentiable operand, "
            f"{len(positions)}, got {len(answers)}"
        )
    for answer, position in zip(answers, positions, strict=True):
        operand = cast(Tensor, invocation.operands[position])
        if answer is None or not operand.is_differentiable():
            continue
        if answer._layout.shape != operand._layout.shape:
            raise ValueError(
                f"{definition.name}: the gradient of operand {position} has shape "
                f"{answer._layout.shape}, the operand has shape {operand._layout.shape}"
            )
        if answer._dtype is not operand._dtype:
            raise TypeError(
                f"{definition.name}: the gradient of operand {position} has dtype "
                f"{answer._dtype!r}, the operand has {operand._dtype!r}"
            )
    return answers


def _spread(
    resolution: Resolution, invocation: ResolvedInvocation, entries: tuple[Tensor | None, ...]
) -> tuple[Tensor | None, ...]:
    by_position = dict(zip(resolution.differentiable, entries, strict=True))
    ordinals = resolution.ordinal_layouts()
    gradients: list[Tensor | None] = []
    for index, position in enumerate(resolution.tensor_positions):
        gradient = by_position.get(position)
        source = cast(Tensor, invocation.call.sources[position])
        operand = cast(Tensor, invocation.operands[position])
        if gradient is None or not source._takes_gradient():
            gradients.append(None)
            continue
        if operand is source or ordinals is None:
            folded = fold_gradient(gradient, source, None, None)
        else:
            folded = fold_gradient(gradient, source, operand._layout, ordinals[index])
        gradients.append(source._carrier._vjp_gradient(folded, source))
    return tuple(gradients)
