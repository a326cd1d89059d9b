"""Gradients as values, without touching any ``.grad``."""

from collections.abc import Iterable

from strideweave.autograd.accumulation import detached_gradient, stacked_gradient
from strideweave.autograd.cotangent import (
    admit_cotangent,
    require_cotangent,
)
from strideweave.autograd.traversal import Graph, Totals, gathered_gradient, sweep
from strideweave.layout.agreement import agree
from strideweave.operation.grad_mode import no_grad
from strideweave.operation.recording import unrecorded
from strideweave.tensor.boundary import require_one_subtensor
from strideweave.tensor.tensor import Tensor, tensor_over


def grad(
    output: Tensor,
    inputs: Iterable[Tensor],
    cotangents: Tensor,
    *,
    batched: bool = False,
    retain_graph: bool = False,
) -> tuple[Tensor | None, ...]:
    """Compute vector-Jacobian products of ``output`` with respect to ``inputs``.

    No ``.grad`` is read or written, and ``retain_grad`` has no effect.

    Args:
        output: The differentiable tensor to start from.
        inputs: Differentiable tensors: leaves, intermediate results, ``output`` itself, in any
            order and as often as wanted.
        cotangents: The cotangent of ``output``, in the layout of ``output``. With ``batched``,
            K of them: a layout with one leaf mode of extent K in front of the modes of ``output``.
        batched: Whether ``cotangents`` holds several cotangents.
        retain_graph: Keep the graph for another traversal.

    Returns:
        One entry per input: a detached gradient in fresh storage of the input's exact carrier
        class, or None when no cotangent reached it. Its layout is the input's own when that is
        injective and the canonical layout of its shape otherwise; with ``batched`` a leaf mode of
        extent K precedes it, whose stride is the ``cosize`` of that layout.

    Raises:
        TypeError: ``inputs`` is a Tensor or not iterable; ``output``, an input or ``cotangents`` is
            no Tensor.
        NotImplementedError: ``output`` has several subtensors.
        RuntimeError: ``output`` is not differentiable, the graph was released, or a saved tensor
            was modified in place.
        ValueError: An input is not differentiable, or the layout of ``cotangents`` does not fit.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> x = sw.friendly.tensor([2.0, 3.0], carrier=ArrayCarrier)
        >>> y = sw.friendly.tensor([5.0, 7.0], carrier=ArrayCarrier)
        >>> (gradient,) = sw.grad(x * y, [x], sw.friendly.tensor([1.0, 10.0], carrier=ArrayCarrier))
        >>> gradient.tolist(), x.grad
        ([5.0, 70.0], None)
    """
    requested = _requested_tensors(inputs)
    _require_output(output)
    for position, tensor in enumerate(requested):
        _require_input(tensor, position)
    seeds = _seeds(output, cotangents, batched)
    with no_grad(), unrecorded(movements_too=False):
        operation = output.autograd_ctx
        graph = None if operation is None else Graph(operation, output)
        answers = [_propagate(graph, output, seed, requested) for seed in seeds]
        if batched:
            gradients = tuple(
                stacked_gradient(tensor, [answer[position] for answer in answers])
                for position, tensor in enumerate(requested)
            )
        else:
            gradients = tuple(
                None if total is None else detached_gradient(tensor, total)
                for tensor, total in zip(requested, answers[0], strict=True)
            )
    if graph is not None and not retain_graph:
        graph.release()
    return gradients


def _propagate(
    graph: Graph | None, output: Tensor, seed: Tensor, requested: tuple[Tensor, ...]
) -> list[Tensor | None]:
    """Send one cotangent through the graph and give what arrived at each requested tensor."""
    wanted = {id(tensor) for tensor in requested}
    totals = Totals()
    totals.add(output, seed)
    if graph is not None:
        root_gradient = gathered_gradient(graph.root, totals)
        sweep(graph, root_gradient, totals, lambda tensor: id(tensor) in wanted)
    return [totals.get(tensor) for tensor in requested]


def _requested_tensors(inputs: object) -> tuple[Tensor, ...]:
    if isinstance(inputs, Tensor):
        raise TypeError(
            "grad: inputs must be an iterable of Tensors, got a single Tensor; pass [tensor]"
        )
    if not isinstance(inputs, Iterable):
        raise TypeError(
            f"grad: inputs must be an iterable of Tensors, got {type(inputs).__qualname__}"
        )
    return tuple(inputs)


def _require_output(output: object) -> None:
    if not isinstance(output, Tensor):
        raise TypeError(f"grad: output must be a Tensor, got {type(output).__qualname__}")
    require_one_subtensor(output, "grad")
    output._require_differentiable("grad")


def _require_input(tensor: object, position: int) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"grad: inputs[{position}] must be a Tensor, got {type(tensor).__qualname__}"
        )
    if not tensor.is_differentiable():
        raise ValueError(
            f"grad: inputs[{position}] is not differentiable: its dtype is "
            f"{tensor.dtype().name}, gradients exist for Float32 only"
        )


def _seeds(output: Tensor, cotangents: object, batched: bool) -> list[Tensor]:
    """Check the cotangents and give them one by one."""
    if not batched:
        cotangent = require_cotangent(output, cotangents, "grad")
        return [admit_cotangent(output, cotangent)]
    if not isinstance(cotangents, Tensor):
        raise TypeError(
            "grad with batched=True requires a Tensor gradient that holds all cotangents, "
            f"got {type(cotangents).__qualname__}"
        )
    require_one_subtensor(cotangents, "backward")
    layout = cotangents.layout
    if (
        len(layout) == 0
        or not isinstance(layout.shape.top_level[0], int)
        or not agree(layout[1:], output.layout)
    ):
        raise ValueError(
            "grad: batched cotangents need one extra leaf mode in front of the modes of the "
            f"output: the output has {output.layout!r}, the cotangents have {layout!r}"
        )
    batch = layout[0]
    slices = [
        tensor_over(cotangents.carrier, cotangents.offset + batch.index(k), output.layout)
        for k in range(batch.size)
    ]
    checked = [
        require_cotangent(output, cotangent, f"grad: batched cotangent {k}")
        for k, cotangent in enumerate(slices)
    ]
    return [admit_cotangent(output, cotangent) for cotangent in checked]
