"""Recorded views around an Operation that a definition-free carrier wrote itself."""

from typing import TYPE_CHECKING, Any, cast, final

import strideweave.autograd.fold as fold
from strideweave.layout import Layout
from strideweave.layout.construction import canonical_layout
from strideweave.operation.operation import Operation
from strideweave.operation.schema import OperandKind, OperationSchema
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    from strideweave.operation.definition import Alignment, ResultView


@final
class _LoweredView(Operation):
    """The view of one operand or result through an alignment."""

    def __init__(self, layout: Layout, ordinals: Layout) -> None:
        self._operation_name = "rearrange"
        self._layout = layout
        self._ordinals = ordinals

    def _forward(self, *inputs: Any) -> Tensor:
        source: Tensor = inputs[0]
        return tensor_over(source._carrier, source._offset, self._layout)

    def backward(self, gradient: Tensor) -> tuple[Tensor]:
        """Fold the gradient of the view back to the source's coordinates."""
        (source,) = self.inputs()
        return (fold.fold_gradient(gradient, source, self._layout, self._ordinals),)


def lowered(
    schema: OperationSchema, bound: tuple[object, ...], alignment: "Alignment"
) -> tuple[object, ...]:
    """Replace the Tensor operands by recorded views through an alignment."""
    positions = [
        position for position, spec in enumerate(schema.operands) if spec.kind is OperandKind.TENSOR
    ]
    sources = [cast(Tensor, bound[position]) for position in positions]
    layouts = alignment.align(tuple(source._layout for source in sources))
    ordinals = alignment.align(tuple(canonical_layout(source._layout.shape) for source in sources))
    operands = list(bound)
    for position, source, layout, ordinal in zip(
        positions, sources, layouts, ordinals, strict=True
    ):
        if layout != source._layout:
            operands[position] = _LoweredView(layout, ordinal).forward(source)
    return tuple(operands)


def published(result: Tensor, view: "ResultView") -> Tensor:
    """View a result as the caller sees it, recorded like the operation."""
    layout = result._layout
    ordinals = view.publish(canonical_layout(layout.shape))
    viewed: Tensor = _LoweredView(view.publish(layout), ordinals).forward(result)
    return viewed
