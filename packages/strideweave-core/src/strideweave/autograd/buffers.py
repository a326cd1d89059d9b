"""Gradient buffers: fresh storage of one carrier class, filled through a layout.

Everything here is array arithmetic where the values can be read as an array, and a loop over plain
values elsewhere.
"""

from array import array
from collections.abc import Sequence
from typing import Any

import strideweave.host as host
from strideweave.carriers.base import Carrier
from strideweave.dtype import DType, storage_zero
from strideweave.layout import Layout
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots
from strideweave.tensor.access import logical_values
from strideweave.tensor.tensor import Tensor, tensor_over


def gradient_layout(layout: Layout) -> Layout:
    """Return the layout of the gradient of a tensor in ``layout``."""
    return layout if layout.is_injective else canonical_layout(layout.shape)


def placed_copy(
    values: Tensor, prototype: Carrier, layout: Layout, dtype: DType = DType.Float32
) -> Tensor:
    """Copy values into fresh storage.

    Args:
        values: A tensor on any carrier.
        prototype: A carrier of the class to allocate.
        layout: An injective placement whose leaves have the extents of the values' leaves; slots
            it does not address hold zero.
        dtype: What to allocate and to convert to.

    Returns:
        A leaf in ``layout`` at offset 0.
    """
    elements = host.read_array(values)
    if elements is not None:
        carrier = host.new_storage(prototype, dtype, layout, elements)
    else:
        carrier = storage_of(logical_values(values), prototype, layout, dtype)
    return tensor_over(carrier, 0, layout, dtype)


def summed_storage(values: Tensor, prototype: Carrier, placement: Layout) -> Carrier:
    """Add the values that a placement sends to one slot.

    Args:
        values: A Float32 tensor on any carrier.
        prototype: A carrier of the class to allocate.
        placement: Maps each coordinate of ``values`` to a slot; it need not be injective.

    Returns:
        A fresh carrier of ``placement.cosize`` slots. Each holds the sum of its values, added in
        binary64 to +0.0 in ascending logical order and rounded once.
    """
    elements, numpy = host.read_array(values), host.numpy_module()
    if elements is None or numpy is None:
        sums = [0.0] * placement.cosize
        for slot, value in zip(slots(placement), logical_values(values), strict=True):
            sums[slot] += value
        return prototype.new_like(array("f", sums).tolist())
    # bincount adds its weights one by one in the order given, which is the logical one.
    totals = numpy.bincount(_slot_array(numpy, placement), elements.ravel(), placement.cosize)
    with numpy.errstate(over="ignore"):
        return host.carrier_of(totals.astype(numpy.float32), prototype)


def _slot_array(numpy: Any, placement: Layout) -> host.HostArray:
    """Enumerate the slots of a placement in logical order."""
    indexes = numpy.zeros((), numpy.intp)
    for extent, stride in zip(placement.leaf_extents, placement.leaf_strides, strict=True):
        indexes = numpy.add.outer(numpy.arange(extent) * stride, indexes)
    return indexes.ravel()


def storage_of(
    values: Sequence[Any], prototype: Carrier, layout: Layout, dtype: DType = DType.Float32
) -> Carrier:
    """Place plain values in logical order into a fresh carrier; other slots hold zero."""
    if dtype is DType.Float32:
        values = array("f", values).tolist()
    if layout != canonical_layout(layout.shape):
        placed = [storage_zero(dtype)] * layout.cosize
        for slot, value in zip(slots(layout), values, strict=True):
            placed[slot] = value
        values = placed
    if dtype is prototype.dtype():
        return prototype.new_like(values)
    return prototype.new_like(values, dtype=dtype)
