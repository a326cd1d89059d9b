"""Accumulation of gradients into the leaves of a graph."""

from typing import TYPE_CHECKING

from strideweave.autograd.accumulation import accumulate_gradients
from strideweave.autograd.cotangent import (
    admit_cotangent,
    implicit_cotangent,
    require_cotangent,
)
from strideweave.autograd.traversal import Graph, Totals, gathered_gradient, sweep
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.recording import unrecorded
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.operation.operation import Operation


def run_backward(tensor: Tensor, gradient: object = None, retain_graph: bool = False) -> None:
    """Accumulate the gradients of every leaf that ``tensor`` was computed from.

    Args:
        tensor: A differentiable tensor; a leaf accumulates the gradient itself.
        gradient: Its cotangent, or None for 1.
        retain_graph: Keep the graph for another traversal.

    Raises:
        NotImplementedError: The tensor has several subtensors.
        RuntimeError: Its dtype is not differentiable, the cotangent's carrier or the graph was
            released, or a saved tensor was modified in place.
        TypeError: The cotangent, or what an operation returned, is not a Tensor.
        ValueError: A cotangent is missing or has a wrong layout.
    """
    require_one_subtensor(tensor, "backward")
    tensor._require_differentiable("backward")
    if gradient is None:
        cotangent = implicit_cotangent(tensor)
    else:
        cotangent = require_cotangent(tensor, gradient, "backward")
    with no_grad(), unrecorded(movements_too=False):
        totals = Totals()
        totals.add(tensor, admit_cotangent(tensor, cotangent))
        operation = tensor.autograd_ctx
        graph = None if operation is None else Graph(operation, tensor)
        if graph is not None:
            sweep(graph, gathered_gradient(graph.root, totals), totals, _accumulates)
        accumulate_gradients(totals.items())
    if graph is not None and not retain_graph:
        graph.release()


def backwards_traversal(
    gradient: object, operation: "Operation | None", retain_graph: bool = False
) -> None:
    """Accumulate the gradients of every leaf below an operation.

    Args:
        gradient: Handed to the operation's ``backward`` as it is.
        operation: The root, or None to do nothing.
        retain_graph: Keep the graph for another traversal.

    Raises:
        AttributeError: ``operation`` is not an operation.
        RuntimeError: The graph was released, or a saved tensor was modified in place.
        TypeError: ``gradient`` is no Tensor.
        ValueError: ``gradient`` has another shape than the operation's result.
    """
    if operation is None:
        return
    with no_grad(), unrecorded(movements_too=False):
        totals = Totals()
        graph = Graph(operation)
        sweep(graph, gradient, totals, _accumulates)
        accumulate_gradients(totals.items())
    if not retain_graph:
        graph.release()


def _accumulates(tensor: Tensor) -> bool:
    return tensor.autograd_ctx is None or bool(tensor._retains_grad)
