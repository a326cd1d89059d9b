"""Reverse mode through a view: put each cotangent value where the view read its source."""

import strideweave.host as host
from strideweave.autograd.buffers import gradient_layout, summed_storage
from strideweave.carriers.base import Carrier
from strideweave.layout import Layout
from strideweave.layout.enumeration import slots
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over
from strideweave.tensor.view_layouts import LayoutView


def source_gradient(
    gradient: Tensor, source: Tensor, view: LayoutView, arguments: tuple[object, ...]
) -> Tensor:
    """Give the gradient of a view's source.

    Args:
        gradient: The cotangent, in the view's shape, on any carrier.
        source: The Tensor that was viewed.
        view: What the view does to a layout.
        arguments: The view's arguments after the Tensor.

    Returns:
        A Tensor without a node over fresh storage of the source carrier's exact class, in the
        source's layout when that is injective and else in the canonical layout of its shape.
        Coordinates that the view did not read, and slots that no coordinate reaches, hold zero.

    Raises:
        ValueError: If the source aliases in another way than by stride-zero modes.
        RuntimeError: If the cotangent's carrier is released.
    """
    if not (source._layout.is_injective or source._layout.has_broadcast_aliasing_only):
        raise ValueError(
            f"the source layout {source._layout} has no gradient: its aliasing is not caused only "
            f"by stride-zero broadcast modes"
        )
    if gradient._carrier.is_released():
        raise RuntimeError(
            f"the gradient's {type(gradient._carrier).__qualname__} carrier is released"
        )
    layout = gradient_layout(source._layout)
    start, placement = view(layout, *arguments)
    if placement.is_injective:
        carrier = _scattered(gradient, source._carrier, layout.cosize, start, placement)
    else:
        # Only broadcasting aliases here, and it reads every slot of the gradient.
        carrier = summed_storage(gradient, source._carrier, placement)
    return tensor_over(carrier, 0, layout, source._dtype)


def _scattered(
    gradient: Tensor, prototype: Carrier, size: int, start: int, placement: Layout
) -> Carrier:
    """Fill a fresh Float32 carrier through an injective placement; other slots hold zero."""
    values, numpy = host.read_array(gradient), host.numpy_module()
    if values is not None and numpy is not None:
        storage = numpy.zeros(size, numpy.float32)
        window = host.strided(storage, start, placement)
        if window is not None:
            window[...] = values
            return host.carrier_of(storage, prototype)
    cells = [0.0] * size
    for slot, value in zip(slots(placement), logical_values(gradient), strict=True):
        cells[start + slot] = value
    return prototype.new_like(cells)
