"""Sums of cotangents, and the gradients that remain of them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import strideweave.host as host
from strideweave._late import LateModule
from strideweave.autograd.buffers import (
    gradient_layout,
    placed_copy,
    storage_of,
    summed_storage,
)
from strideweave.carriers.base import Carrier
from strideweave.carriers.dependent import DependentCarrier
from strideweave.dtype import DType
from strideweave.layout import Layout
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over

if TYPE_CHECKING:
    import strideweave.operation.evaluation as evaluation
else:  # the pipeline folds gradients with this package
    evaluation = LateModule("strideweave.operation.evaluation")


def add_contributions(target: Tensor, total: Tensor, contribution: Tensor) -> Tensor:
    """Add two cotangents of one tensor elementwise, rounded to the storage dtype.

    Args:
        target: The tensor they belong to.
        total: A cotangent in a layout that fits the target.
        contribution: Another one.

    Returns:
        Their sum, in the target's layout when that is injective.
    """
    carrier = target.carrier
    if isinstance(carrier, DependentCarrier):
        return carrier._accumulate_gradient(total, contribution)
    layout = gradient_layout(target.layout)
    if type(total.carrier) is not type(contribution.carrier):
        total = _on_class_of(target, total, layout)
        contribution = _on_class_of(target, contribution, layout)
    summed = evaluation.evaluate("add", total, contribution)
    if target.layout.is_injective and summed.layout != layout:
        return placed_copy(summed, summed.carrier, layout)
    return summed


def detached_gradient(target: Tensor, total: Tensor) -> Tensor:
    """Copy what arrived at a tensor into a gradient of its own.

    Args:
        target: The tensor the gradient belongs to.
        total: The sum of its cotangents, on any carrier.

    Returns:
        A tensor without a node over fresh storage of the target's exact carrier class, in the
        target's layout when that is injective and in the canonical layout of its shape otherwise.
        Where the target is broadcast, each coordinate holds the sum over all coordinates of its
        slot.
    """
    carrier, layout = target.carrier, gradient_layout(target.layout)
    if type(carrier)._store_tensor is not Carrier._store_tensor and target.layout.is_injective:
        fresh = tensor_over(carrier.allocate_like(layout.cosize), 0, layout)
        if fresh.carrier._store_tensor(fresh, total):
            return fresh
    return placed_copy(_with_shared_slots_summed(target, total), carrier, layout)


def stacked_gradient(target: Tensor, totals: Sequence[Tensor | None]) -> Tensor | None:
    """Stack one detached gradient per cotangent.

    Args:
        target: The tensor the gradients belong to.
        totals: What arrived for each cotangent; None counts as zeros.

    Returns:
        The gradients behind a leading leaf mode whose stride is the ``cosize`` of one gradient's
        layout, or None when no cotangent reached the tensor.
    """
    if all(total is None for total in totals):
        return None
    single = gradient_layout(target.layout)
    layout = Layout.concat(Layout.leaf(len(totals), single.cosize), single)
    slices = [
        None if total is None else _with_shared_slots_summed(target, total) for total in totals
    ]
    numpy = host.numpy_module()
    rows = [0.0 if part is None else host.read_array(part) for part in slices]
    if numpy is not None and not any(row is None for row in rows):
        # Array axes are the leaves reversed, so the leading leaf is the last axis.
        stacked = numpy.stack(numpy.broadcast_arrays(*rows), axis=-1).astype(numpy.float32)
        carrier = host.new_storage(target.carrier, DType.Float32, layout, stacked)
    else:
        columns = [[0.0] * single.size if part is None else logical_values(part) for part in slices]
        interleaved = [value for column in zip(*columns, strict=True) for value in column]
        carrier = storage_of(interleaved, target.carrier, layout)
    return tensor_over(carrier, 0, layout)


def accumulate_gradients(totals: Iterable[tuple[Tensor, Tensor]]) -> None:
    """Add what arrived at tensors to their ``.grad``; nothing is written unless all of it can be.

    Args:
        totals: Pairs of a tensor and the sum of its cotangents.

    Raises:
        TypeError: A ``.grad`` that was set by hand is no Tensor.
        ValueError: It has another shape, or a layout that aliases.
        RuntimeError: It is immutable or released.
    """
    arrived = [
        (tensor, detached_gradient(tensor, total))
        for tensor, total in totals
        if tensor._takes_gradient()
    ]
    for tensor, _ in arrived:
        if tensor.grad is not None:
            _require_accumulable(tensor, tensor.grad)
    writes = [_addition(tensor, gradient) for tensor, gradient in arrived]
    for write in writes:
        write()


def _addition(tensor: Tensor, gradient: Tensor) -> Callable[[], None]:
    """Compute what a tensor's ``.grad`` becomes, and give the write that is left to do."""
    existing = tensor.grad
    if existing is None:
        return partial(setattr, tensor, "grad", gradient)
    carrier = existing.carrier
    if isinstance(carrier, DependentCarrier):
        reached = carrier._accumulate_reached(existing, gradient)
        if reached is not None:
            return partial(_store_parts, existing, reached)
    return partial(existing.__setitem__, ..., add_contributions(tensor, existing, gradient))


def _store_parts(existing: Tensor, sums: Tensor) -> None:
    def store(_: int, part: Tensor, total: Tensor) -> None:
        part[...] = total

    existing.carrier._step_tensor(existing, sums, store)
    existing.carrier._count_write()


def _require_accumulable(tensor: Tensor, existing: object) -> None:
    remedy = "set .grad to None before backward"
    if not isinstance(existing, Tensor):
        raise TypeError(
            f"backward adds to an existing .grad, which must be a Tensor, got "
            f"{type(existing).__qualname__}; {remedy}"
        )
    if existing.dtype() is not tensor.dtype():
        raise TypeError(
            f"backward adds to an existing .grad of dtype {existing.dtype().name}, but the tensor "
            f"has {tensor.dtype().name}; {remedy}"
        )
    if existing.shape != tensor.shape or not existing.layout.is_injective:
        raise ValueError(
            "backward adds to an existing .grad, which needs the tensor's shape in an injective "
            f"layout: the tensor has {tensor.layout!r}, its .grad {existing.layout!r}; {remedy}"
        )
    if existing.carrier.is_released() or not existing.is_mutable():
        state = "released" if existing.carrier.is_released() else "not mutable"
        raise RuntimeError(
            f"backward adds to an existing .grad whose {type(existing.carrier).__qualname__} "
            f"carrier is {state}; {remedy}"
        )


def _with_shared_slots_summed(target: Tensor, total: Tensor) -> Tensor:
    if target.layout.is_injective:
        return total
    return tensor_over(summed_storage(total, target.carrier, target.layout), 0, target.layout)


def _on_class_of(target: Tensor, cotangent: Tensor, layout: Layout) -> Tensor:
    if type(cotangent.carrier) is type(target.carrier):
        return cotangent
    return placed_copy(cotangent, target.carrier, layout)
