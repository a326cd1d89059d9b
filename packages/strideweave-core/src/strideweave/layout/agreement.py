"""Whether two layouts are the same map."""

from strideweave.layout.layout import Layout


def agree(one: Layout, other: Layout) -> bool:
    """Whether both have one shape and give every coordinate of it the same index.

    Only 0 is ever multiplied by the stride of an extent of 1, so it does not matter.
    """
    if one.shape != other.shape:
        return False
    strides = zip(one.leaf_strides, other.leaf_strides, strict=True)
    return all(
        extent == 1 or first == second
        for extent, (first, second) in zip(one.leaf_extents, strides, strict=True)
    )
