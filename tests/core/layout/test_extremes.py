"""Extents and strides far beyond machine integers."""

import pytest

from strideweave.layout import Layout, Permutation, Shape, Stride, Swizzle, SwizzleStage
from strideweave.layout.construction import canonical_layout

pytestmark = pytest.mark.rule("G-2")

parse = Layout.parse
HUGE = 2**63


@pytest.mark.rule("L-7", "L-8", "L-14")
@pytest.mark.parametrize("shape", [Shape(65536, 65536), Shape(2**31 + 1), Shape(HUGE, [HUGE, 3])])
def test_huge_domains_index_exactly(shape: Shape) -> None:
    layout = canonical_layout(shape)
    last = shape.size - 1
    assert layout.cosize == layout.size == shape.size
    assert layout(last) == shape.encode(shape.decode(last)) == last
    assert layout.is_compact
    with pytest.raises(ValueError, match="not in domain"):
        layout(shape.size)


@pytest.mark.rule("L-16", "L-17")
def test_huge_layouts_decide_without_enumeration() -> None:
    assert parse(f"({HUGE},{HUGE}):({HUGE},1)").is_injective
    assert not parse(f"({HUGE},{HUGE}):(0,1)").is_injective
    assert parse(f"({HUGE},{HUGE}):(0,1)").has_broadcast_aliasing_only
    assert not parse(f"({HUGE},{HUGE}):(1,1)").is_injective
    assert parse(f"({HUGE},{HUGE - 1}):({HUGE - 1},{HUGE})").is_injective
    assert not parse(f"({HUGE + 1},{HUGE}):({HUGE - 1},{HUGE})").is_injective
    assert parse(f"({HUGE},2,2):(2,{HUGE + 1},{2 * HUGE + 2})").is_injective
    assert not parse(f"({HUGE},2,2):(2,{HUGE + 1},{2 * HUGE + 3})").is_injective
    assert parse(f"({HUGE},{HUGE}):(0,1)").uniform_preimage_extent(Shape(HUGE)) == HUGE


@pytest.mark.rule("L-25", "L-27", "L-29", "L-30")
def test_huge_layouts_divide_and_compose() -> None:
    layout = parse(f"({HUGE},65536):(1,{HUGE})")
    assert Layout.coalesce(layout) == Layout.leaf(HUGE * 65536, 1)
    tile = Layout.leaf(65536, HUGE)
    assert Layout.complement(tile, layout.size) == Layout.leaf(HUGE, 1)
    assert Layout.divide(layout, tile) == parse(f"(65536,{HUGE}):({HUGE},1)")
    padded = parse(f"({HUGE},65536):(1,{2 * HUGE})")
    composed = Layout.compose_layouts(padded, parse(f"(65536,2):({HUGE},1)"))
    assert composed == parse(f"(65536,2):({2 * HUGE},1)")
    assert composed(composed.size - 1) == 65535 * 2 * HUGE + 1
    with pytest.raises(ValueError, match="tile cosize"):
        Layout.compose_layouts(padded, Layout.leaf(2, HUGE * 65536))


@pytest.mark.rule("L-33", "L-39")
def test_huge_index_maps_compose() -> None:
    swizzle = Swizzle(Shape(2**40, 2**40), SwizzleStage(20, 0, 60))
    layout = parse(f"({2**40},{2**40}):(1,{2**41})")
    composed = layout.compose(swizzle)
    key = (1, 2**39)
    assert composed(key) == layout(swizzle(key))
    assert composed.is_injective is True
    with pytest.raises(ValueError, match="inner codomain exceeds"):
        layout.compose(Permutation([0], 2**80 + 1))


@pytest.mark.rule("L-4", "L-43")
def test_huge_values_round_trip() -> None:
    layout = Layout(Shape(HUGE, [2**100]), Stride(2**70, [0]))
    assert layout.cosize == (HUGE - 1) * 2**70 + 1
    assert Layout.parse(str(layout)) == layout
    assert hash(layout) == hash(Layout.parse(str(layout)))
