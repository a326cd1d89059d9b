"""Every algebra operation against brute force: exact, or refused with ValueError."""

from itertools import combinations
from math import prod
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from strideweave.layout import IndexMap, Layout, Node, Permutation, Shape, Stride, Tree
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots

pytestmark = pytest.mark.rule("G-1")

LARGEST = 400

leaves = st.tuples(
    st.sampled_from([1, 2, 2, 3, 4, 6]), st.sampled_from([0, 1, 1, 2, 3, 4, 5, 6, 8, 9, 12, 24])
)
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=5)


def extents(tree: Any) -> Any:
    return tree[0] if isinstance(tree, tuple) else [extents(item) for item in tree]


def strides(tree: Any) -> Any:
    return tree[1] if isinstance(tree, tuple) else [strides(item) for item in tree]


def layout_of(forest: list[Any]) -> Layout:
    return Layout(Shape(extents(forest)), Stride(strides(forest)))


layouts = st.lists(trees, max_size=3).map(layout_of).filter(lambda layout: layout.size <= LARGEST)
flat = st.lists(leaves, min_size=1, max_size=3).map(layout_of)


@st.composite
def compact_layouts(draw: st.DrawFn) -> Layout:
    """A layout whose strides are a gapless chain in some order of its leaves."""
    forest = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(forest))))
    steps, radix = [0] * len(forest), 1
    for position in order:
        steps[position] = radix
        radix *= forest[position]
    assume(radix <= LARGEST)
    return Layout(Shape(forest), Stride(steps))


@st.composite
def divisor_tiles(draw: st.DrawFn, size: int) -> Layout:
    """A tile of one or two leaves built from divisors of a size."""
    divisors = [number for number in range(1, size + 1) if size % number == 0]
    parts = draw(
        st.lists(st.tuples(st.sampled_from(divisors), st.sampled_from(divisors)), max_size=2)
    )
    return layout_of(parts)


def values(index_map: IndexMap) -> list[int]:
    return [index_map(ordinal) for ordinal in range(index_map.size)]


def by_definition(layout: Layout) -> list[int]:
    found = []
    for ordinal in range(layout.size):
        index = 0
        for extent, stride in layout.infix():
            index += ordinal % extent * stride
            ordinal //= extent
        found.append(index)
    return found


@pytest.mark.rule("L-13", "L-14", "L-15", "L-16")
@given(layouts)
def test_members_against_enumeration(layout: Layout) -> None:
    indices = by_definition(layout)
    assert values(layout) == slots(layout) == indices
    assert [layout(layout.shape.decode(ordinal)) for ordinal in range(layout.size)] == indices
    assert layout.cosize == max(indices) + 1
    assert layout.is_injective == (len(set(indices)) == layout.size)
    assert layout.is_compact == (sorted(indices) == [*range(layout.size)])
    distinct = layout_of([(e, s) for e, s in layout.infix() if s])
    aliasing = not layout.is_injective and len(set(by_definition(distinct))) == distinct.size
    assert layout.has_broadcast_aliasing_only == aliasing


@pytest.mark.rule("L-16")
@given(
    st.lists(st.tuples(st.integers(2, 6), st.integers(1, 40)), min_size=2, max_size=5).filter(
        lambda leaves: prod(extent for extent, _ in leaves) <= 2000
    )
)
def test_injectivity_of_interleaved_leaves(leaves: list[tuple[int, int]]) -> None:
    layout = layout_of(leaves)
    assert layout.is_injective == (len(set(slots(layout))) == layout.size)


@pytest.mark.rule("L-36")
@given(layouts, compact_layouts())
def test_generic_injectivity_is_never_wrong(outer: Layout, inner: Layout) -> None:
    assume(inner.cosize <= outer.size)
    composed = outer.compose(inner)
    if composed.is_injective is not None:
        assert composed.is_injective == (len(set(values(composed))) == composed.size)


@pytest.mark.rule("L-17")
@given(layouts, st.integers(1, 24))
def test_uniform_preimage_extent(layout: Layout, target: int) -> None:
    extent = layout.uniform_preimage_extent(Shape(target))
    indices = by_definition(layout)
    if extent is not None:
        assert sorted(indices) == sorted([*range(target)] * extent)
    elif layout.is_compact:
        assert layout.size != target


@pytest.mark.rule("L-25")
@given(layouts)
def test_coalescing_keeps_the_function(layout: Layout) -> None:
    merged = Layout.coalesce(layout)
    assert merged.depth == 1
    assert slots(merged) == slots(layout)
    assert Layout.coalesce(merged) == merged
    flattened, recipe = Layout.flatten_layout(layout)
    assert slots(flattened) == slots(layout)
    by_mode = Layout.coalesce_by_mode(layout, Tree(*[Node.Leaf] * len(layout)))
    assert slots(by_mode) == slots(layout)
    by_leaf = Layout.coalesce_by_mode(layout, Tree.bake_tree(recipe))
    assert slots(by_leaf) == slots(layout)


@pytest.mark.rule("L-26")
@given(layouts, st.integers(1, 30))
def test_choose_and_modout_keep_the_ordinals_they_name(layout: Layout, number: int) -> None:
    indices = by_definition(layout)
    try:
        assert slots(Layout.choose(layout, number)) == indices[::number]
        assert layout.size % number == 0
    except ValueError:
        event("not chosen")
    try:
        assert slots(Layout.modout(layout, number)) == indices[:number]
        assert number <= layout.size
    except ValueError:
        event("not cut")


def assert_composed(outer: Layout, inner: Layout) -> None:
    lowered = Layout.compose_layouts(outer, inner)
    assert slots(lowered) == [by_definition(outer)[index] for index in by_definition(inner)]


@pytest.mark.rule("L-27")
@given(layouts, layouts)
def test_lowering_any_tile(outer: Layout, inner: Layout) -> None:
    try:
        assert_composed(outer, inner)
    except ValueError:
        event("refused")


@pytest.mark.rule("L-27")
@given(st.data(), layouts)
def test_lowering_a_tile_of_divisors(data: st.DataObject, outer: Layout) -> None:
    try:
        assert_composed(outer, data.draw(divisor_tiles(outer.size)))
    except ValueError:
        event("refused")


@pytest.mark.rule("L-27")
@given(flat, flat)
def test_a_refused_carry_would_have_been_wrong(outer: Layout, inner: Layout) -> None:
    assume(inner.cosize <= outer.size <= LARGEST)
    try:
        Layout.compose_layouts(outer, inner)
    except ValueError as refusal:
        assume("carries" in str(refusal))
        expected = [by_definition(outer)[index] for index in by_definition(inner)]
        summed = sums(
            [
                [by_definition(outer)[component * stride] for component in range(extent)]
                for extent, stride in inner.infix()
            ]
        )
        assert summed != expected


@pytest.mark.rule("L-33", "L-35", "L-36")
@given(layouts, st.one_of(layouts, compact_layouts()))
def test_composition_is_total_on_fitting_layouts(outer: Layout, inner: Layout) -> None:
    assume(inner.cosize <= outer.size)
    composed = outer.compose(inner)
    event(type(composed).__name__)
    assert composed.shape.size == inner.size
    assert values(composed) == [by_definition(outer)[index] for index in by_definition(inner)]
    for ordinal in range(inner.size):
        assert composed(inner.shape.decode(ordinal)) == composed(ordinal)


@pytest.mark.rule("L-33", "L-36")
@given(layouts, st.data())
def test_composition_is_associative(outer: Layout, data: st.DataObject) -> None:
    middle = Permutation(data.draw(st.permutations(range(outer.size))), outer.size)
    inner = data.draw(st.one_of(layouts, compact_layouts()))
    assume(inner.cosize <= middle.size)
    left = outer.compose(middle).compose(inner)
    right = outer.compose(middle.compose(inner))
    assert values(left) == values(right)


@pytest.mark.rule("L-29")
@given(layouts, st.integers(1, 96))
def test_a_complement_tiles_its_target(tile: Layout, cotarget: int) -> None:
    try:
        rest = Layout.complement(tile, cotarget)
    except ValueError:
        event("refused")
        return
    together = Layout.make_layout(tile, rest)
    assert sorted(slots(together)) == [*range(cotarget)]


@pytest.mark.rule("L-30")
@given(st.data(), layouts)
def test_division_neither_loses_nor_grows(data: st.DataObject, layout: Layout) -> None:
    tile = data.draw(divisor_tiles(layout.size))
    try:
        divided = Layout.divide(layout, tile)
    except ValueError:
        event("refused")
        return
    assert divided.size == layout.size
    assert sorted(slots(divided)) == sorted(slots(layout))
    assert slots(divided)[: tile.size] == [by_definition(layout)[i] for i in by_definition(tile)]


@pytest.mark.rule("L-28", "L-30")
@given(st.data(), layouts)
def test_tilers_act_mode_by_mode(data: st.DataObject, layout: Layout) -> None:
    count = data.draw(st.integers(0, len(layout)))
    tiler = [data.draw(divisor_tiles(layout[mode].size)) for mode in range(count)]
    try:
        composed = layout.compose(tiler)
        divided = Layout.divide_tiler(layout, tiler)
        zipped = Layout.zipped_divide(layout, tiler)
    except ValueError:
        event("refused")
        return
    parts = [
        [by_definition(layout[mode])[index] for index in by_definition(tile)]
        for mode, tile in enumerate(tiler)
    ]
    trailing = [by_definition(layout[mode]) for mode in range(count, len(layout))]
    assert slots(composed) == sums([*parts, *trailing])
    assert sorted(slots(divided)) == sorted(slots(layout)) == sorted(slots(zipped))
    inside = prod(tile.size for tile in tiler)
    assert slots(zipped)[:inside] == sums(parts)


def sums(columns: list[list[int]]) -> list[int]:
    """All sums of one entry per column, first column fastest."""
    total = [0]
    for column in columns:
        total = [entry + partial for entry in column for partial in total]
    return total


@pytest.mark.rule("L-21", "L-22", "L-23")
@given(layouts, st.data())
def test_rearrangements_undo(layout: Layout, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(layout))))
    permuted = Layout.permute(layout, order)
    assert [permuted[j] for j in range(len(layout))] == [layout[i] for i in order]
    assert Layout.permute(permuted, [order.index(i) for i in range(len(layout))]) == layout
    assume(all(len(mode) for mode in layout))  # appending drops empty modes
    output, selection = Tree(*map(Node.id, order)), Tree(*[1] * len(layout))
    moved = Layout.rearrange(layout, output, selection)
    restored = Layout.rearrange(moved, *Layout.reverse_rearrange(output, selection))
    assert slots(restored) == slots(layout)


@pytest.mark.rule("L-24")
@given(layouts, st.data())
def test_broadcast_reads_the_clamped_coordinate(layout: Layout, data: st.DataObject) -> None:
    flattened = Layout.flatten_layout(layout)[0]
    target = [
        data.draw(st.integers(1, 3)) if extent == 1 else extent for extent in layout.leaf_extents
    ]
    wide = flattened.broadcast_to(Shape(target))
    for components in map(wide.shape.decode, range(wide.size)):
        clamped = [
            component if extent > 1 else 0
            for component, extent in zip(components, flattened.leaf_extents, strict=True)
        ]
        assert wide(components) == flattened(clamped)


@pytest.mark.rule("L-43")
@given(layouts)
def test_notation_round_trips(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout
    assert eval(repr(layout)) == layout


@pytest.mark.rule("L-2")
@given(layouts)
def test_canonical_layouts_count(layout: Layout) -> None:
    assert slots(canonical_layout(layout.shape)) == [*range(layout.size)]


@pytest.mark.rule("L-16")
def test_pairs_collide_exactly_when_enumeration_says_so() -> None:
    cases = list(combinations([(e, s) for e in (2, 3, 4) for s in range(1, 9)], 2))
    for pair in cases:
        layout = layout_of(list(pair))
        assert layout.is_injective == (len(set(slots(layout))) == layout.size)
