"""The distinct slots behind a broadcast layout."""

from strideweave.layout import Layout, Shape, Stride


def distinct_slots(layout: Layout) -> Layout:
    """Address each slot of a broadcast layout once.

    Args:
        layout: Any layout.

    Returns:
        The layout itself when it is injective, else a flat layout of the leaves that do not
        repeat slots, in the same order.
    """
    return layout if layout.is_injective else _kept_leaves(layout, layout)


def representatives(gradient: Layout, layout: Layout) -> Layout:
    """Address, for each distinct slot of a layout, the first coordinate that reads it.

    Args:
        gradient: A placement of the same shape.
        layout: The layout with repeated slots.

    Returns:
        A placement with the shape of ``distinct_slots(layout)``.
    """
    return gradient if layout.is_injective else _kept_leaves(gradient, layout)


def _kept_leaves(placement: Layout, layout: Layout) -> Layout:
    kept = [
        (extent, stride)
        for extent, stride, repeated in zip(
            placement.leaf_extents, placement.leaf_strides, layout.leaf_strides, strict=True
        )
        if repeated != 0
    ]
    extents, strides = [extent for extent, _ in kept], [stride for _, stride in kept]
    return Layout(Shape(extents), Stride(strides))
