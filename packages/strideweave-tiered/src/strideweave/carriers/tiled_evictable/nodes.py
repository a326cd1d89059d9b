"""The nodes of project and scatter in the graph of gradients."""

from typing import TYPE_CHECKING, Any, TypeVar, final

from strideweave.carriers.tiled_evictable import gradients
from strideweave.operation import Operation, is_grad_enabled
from strideweave.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.requests import CompactGrid

NodeT = TypeVar("NodeT", bound=Operation)


def recorded(node: NodeT, *inputs: Tensor) -> NodeT | None:
    """Save the inputs of a node at the call, if a graph is built and one is differentiable."""
    if not is_grad_enabled() or not any(tensor.is_differentiable() for tensor in inputs):
        return None
    node.store_inputs(*inputs)
    return node


@final
class ProjectNode(Operation):
    """The node of a compact Tensor; its gradient is scattered back."""

    def __init__(self, compact: "CompactGrid") -> None:
        self._operation_name = "project"
        self._compact = compact

    def backward(self, gradient: Any) -> tuple[Tensor]:
        """Scatter a gradient of the compact Tensor into the selected tiles.

        Args:
            gradient: A Tensor of the compact shape.

        Returns:
            One tiled gradient, implicit zero outside the selection.

        Raises:
            TypeError: ``gradient`` is no Tensor.
            ValueError: Its shape differs.
            RuntimeError: Its carrier or the inputs were released.
        """
        self.validate_not_freed()
        (source,) = self.inputs()
        return (gradients.scattered(gradient, source, self._compact),)


@final
class ScatterNode(Operation):
    """The node of a scattered full Tensor."""

    def __init__(self, compact: "CompactGrid", is_added: bool) -> None:
        self._operation_name = "scatter"
        self._compact = compact
        self._is_added = is_added

    def backward(self, gradient: Any) -> tuple[Tensor | None, Tensor | None]:
        """Divide a gradient of the full Tensor between the compact one and the template.

        Args:
            gradient: A Tensor of the full shape.

        Returns:
            The selected tiles as a compact Tensor, and a tiled gradient of the template.

        Raises:
            TypeError: ``gradient`` is no Tensor.
            ValueError: Its shape differs.
            RuntimeError: Its carrier or the inputs were released.
        """
        self.validate_not_freed()
        compact, template = self.inputs()
        source = gradients.checked_cotangent(gradient, template.layout, "scatter")
        return (
            gradients.gathered(source, compact, template, self._compact),
            gradients.template_gradient(source, template, self._compact, self._is_added),
        )
