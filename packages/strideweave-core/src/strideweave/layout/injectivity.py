"""Exact and structural decisions whether two coordinates share an index.

A collision is a nonzero difference of coordinates `d` with `|d_i| < extent_i` and
`sum(d_i * stride_i) == 0`. It is found from the leaves alone; no coordinate is enumerated.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod

from strideweave.layout.modes import Leaf


def is_injective(leaves: Sequence[Leaf]) -> bool:
    """Whether no two coordinates share an index."""
    active = _by_stride(leaves)
    if _is_crowded(active):
        return False
    return not _collides(_interleaved_core(active))


def structural_injectivity(leaves: Sequence[Leaf]) -> bool | None:
    """The bounded test of generic compositions: `None` where pairs and spans do not decide."""
    active = _by_stride(leaves)
    if _is_crowded(active):
        return False
    for position, first in enumerate(active):
        if any(_pair_collides(first, second) for second in active[position + 1 :]):
            return False
    span = 1
    for extent, stride in active:
        if stride == span - 1:
            return False
        if stride < span:
            return None
        span += (extent - 1) * stride
    return True


def _by_stride(leaves: Sequence[Leaf]) -> list[Leaf]:
    return sorted((leaf for leaf in leaves if leaf.extent > 1), key=lambda leaf: leaf.stride)


def _is_crowded(active: Sequence[Leaf]) -> bool:
    """Whether a zero stride or the number of coordinates alone forces a collision."""
    if any(leaf.stride == 0 for leaf in active):
        return True
    return prod(leaf.extent for leaf in active) > 1 + _reach(active)


def _reach(leaves: Sequence[Leaf]) -> int:
    return sum((extent - 1) * stride for extent, stride in leaves)


def _interleaved_core(active: Sequence[Leaf]) -> list[Leaf]:
    """Drop from the top every leaf whose one step is longer than all smaller leaves together."""
    core = list(active)
    while core and core[-1].stride > _reach(core[:-1]):
        core.pop()
    return core


def _collides(leaves: Sequence[Leaf]) -> bool:
    """Whether a nonzero difference sums to zero; leaves are sorted by stride."""
    if len(leaves) < 2:
        return False
    if len(leaves) == 2:
        return _pair_collides(leaves[0], leaves[1])
    *smaller, largest = leaves
    if _collides(smaller):
        return True
    # Differences come in opposite pairs, so one sign of the largest leaf suffices.
    bound = min(largest.extent - 1, _reach(smaller) // largest.stride)
    return any(_attains(smaller, step * largest.stride) for step in range(1, bound + 1))


def _pair_collides(first: Leaf, second: Leaf) -> bool:
    common = gcd(first.stride, second.stride)
    return second.stride // common < first.extent and first.stride // common < second.extent


def _attains(leaves: Sequence[Leaf], target: int) -> bool:
    """Whether some difference over two or more leaves sums to `target`."""
    if len(leaves) == 2:
        return _pair_attains(leaves[0], leaves[1], target)
    if target % gcd(*(leaf.stride for leaf in leaves)):
        return False
    *smaller, largest = leaves
    reach = _reach(smaller)
    low = max(1 - largest.extent, -((reach - target) // largest.stride))
    high = min(largest.extent - 1, (target + reach) // largest.stride)
    return any(_attains(smaller, target - step * largest.stride) for step in range(low, high + 1))


def _pair_attains(first: Leaf, second: Leaf, target: int) -> bool:
    """Solve `x * first + y * second == target` within the extents, in constant time."""
    common = gcd(first.stride, second.stride)
    if target % common:
        return False
    one, other, goal = first.stride // common, second.stride // common, target // common
    room = other * (second.extent - 1)
    low = max(1 - first.extent, -((room - goal) // one))
    high = min(first.extent - 1, (goal + room) // one)
    residue = goal * pow(one, -1, other)
    return low + (residue - low) % other <= high
