"""All indices of a layout at once."""

from __future__ import annotations

from strideweave.layout.coalescing import coalesce
from strideweave.layout.layout import Layout


def slots(layout: Layout) -> list[int]:
    """The index of every ordinal, in logical order.

    Built leaf by leaf, so no coordinate is decoded per element.

    Args:
        layout: Any layout small enough to be enumerated.

    Returns:
        A list of `layout.size` indices.

    Examples:
        >>> from strideweave import Layout
        >>> slots(Layout.parse("(2,3):(1,10)"))
        [0, 1, 10, 11, 20, 21]
    """
    indices = [0]
    for extent, stride in coalesce(layout._leaves):
        if stride == 0:
            indices = indices * extent
        elif len(indices) == 1:
            indices = list(range(0, extent * stride, stride))
        else:
            steps = range(0, extent * stride, stride)
            indices = [step + index for step in steps for index in indices]
    return indices
