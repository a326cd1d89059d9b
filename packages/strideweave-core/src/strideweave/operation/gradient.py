"""Backward of a bound operation: cotangents in, one gradient per saved input out."""

from typing import TYPE_CHECKING, Any, cast, final
from weakref import ref

from strideweave.autograd.fold import fold_gradient
from strideweave.operation.grad_mode import mode as grad_mode
from strideweave.operation.invocation import ResolvedInvocation, vjp_context
from strideweave.operation.recording import recording
from strideweave.operation.resolution import Resolution
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
    saved = _readable_operands(definition, invocation, resolution.saved_operands)
    assert not isinstance(definition.vjp, NonDifferentiable)
    enabled, operations = grad_mode.enabled, recording.operations
    grad_mode.enabled, recording.operations = False, None
    try:
        if resolution.published_layout is not None:
            results = (resolution.restore(results[0]),)
            cotangents = (resolution.restore(cast(Tensor, cotangents[0])),)
        answers = definition.vjp(vjp_context(invocation, results, saved), cotangents)
        entries = _checked_answers(definition, resolution, invocation, answers)
        return _spread(resolution, invocation, entries)
    finally:
        grad_mode.enabled, recording.operations = enabled, operations


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
        cotangents.append(entry._carrier._vjp_operand(entry))
    return tuple(cotangents)


def _readable_operands(
    definition: "OperationDefinition", invocation: ResolvedInvocation, positions: tuple[int, ...]
) -> tuple[Tensor, ...]:
    """Give what the vjp reads for saved operands, once for an operand that is saved twice."""
    readable: dict[int, Tensor] = {}
    for position in positions:
        operand = cast(Tensor, invocation.operands[position])
        if id(operand) not in readable:
            operand._carrier._require_executable(f"{definition.name} backward")
            readable[id(operand)] = operand._carrier._vjp_operand(operand)
    return tuple([readable[id(invocation.operands[position])] for position in positions])


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
