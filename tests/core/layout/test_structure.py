"""Combining, selecting, rearranging, permuting, widening and coalescing modes."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

from strideweave.layout import Layout, Node, Shape, Stride, Tree

MATRIX = Layout.parse("(2,3):(1,2)")
ONE_LEAF = Layout.parse("((3),2):((2),1)")
identified = Node.id
parse = Layout.parse


@pytest.mark.rule("L-18")
def test_concat_splices() -> None:
    assert Layout.concat(MATRIX, ONE_LEAF) == parse("(2,3,(3),2):(1,2,(2),1)")
    assert MATRIX + MATRIX == parse("(2,3,2,3):(1,2,1,2)")


@pytest.mark.rule("L-18")
def test_append_nests_all_but_leaves() -> None:
    assert Layout.append(MATRIX, parse("(3,4):(1,2)")) == parse("(2,3,(3,4)):(1,2,(1,2))")
    assert Layout.append(MATRIX, Layout.leaf(4, 6)) == parse("(2,3,4):(1,2,6)")
    assert Layout.append(MATRIX, Layout.empty()) == MATRIX
    assert Layout.append(Layout.empty(), MATRIX) == parse("((2,3)):((1,2))")


@pytest.mark.rule("L-18")
def test_only_layouts_combine() -> None:
    other: Any = Shape(3)
    for combine in (Layout.concat, Layout.append):
        with pytest.raises(TypeError, match="b must be a Layout, got Shape"):
            combine(MATRIX, other)
        with pytest.raises(TypeError, match="a must be a Layout, got Shape"):
            combine(other, MATRIX)
    with pytest.raises(TypeError):
        MATRIX + other


@pytest.mark.rule("L-19")
def test_appending_collapses_one_leaf_modes_and_drops_empty_ones() -> None:
    assert ONE_LEAF[0] == Layout.leaf(3, 2)
    assert Layout.make_layout(*ONE_LEAF) == parse("(3,2):(2,1)")
    swap = Tree(identified(1), identified(0))
    assert Layout.rearrange(ONE_LEAF, swap, Tree(1, 1)) == parse("(2,3):(1,2)")
    assert Layout.make_layout(*parse("((),2):((),1)")) == Layout.leaf(2, 1)
    single = Tree(Tree(Tree(identified(1))), Tree(), identified(0))
    assert Layout.rearrange(MATRIX, single) == parse("(3,2):(2,1)")


@pytest.mark.rule("L-19")
def test_other_operations_keep_one_leaf_modes() -> None:
    assert Layout.permute(ONE_LEAF, 1, 0) == parse("(2,(3)):(1,(2))")
    assert Layout.permute(Layout.permute(ONE_LEAF, 1, 0), 1, 0) == ONE_LEAF
    assert Layout.concat(ONE_LEAF, Layout.empty()) == ONE_LEAF
    assert ONE_LEAF.broadcast_to(Shape([3], 2)) == ONE_LEAF
    assert ONE_LEAF.compose([]) == ONE_LEAF
    assert parse("(4,(3)):(1,(4))").compose([Layout.leaf(2, 2)]) == parse("(2,(3)):(2,(4))")


@pytest.mark.rule("L-20")
def test_extract_profile() -> None:
    layout = parse("(2,(3,(4))):(1,(2,(6)))")
    assert Layout.extract_profile(layout) == [
        Layout.leaf(2, 1),
        Layout.leaf(3, 2),
        Layout.leaf(4, 6),
    ]
    assert Layout.extract_profile(layout, Tree(1, 1)) == [
        Layout.leaf(2, 1),
        parse("(3,(4)):(2,(6))"),
    ]
    assert Layout.extract_profile(layout, Tree(Tree(identified(5)), Tree(1, Tree(Tree(1))))) == [
        Layout.leaf(2, 1),
        Layout.leaf(3, 2),
        Layout.leaf(4, 6),
    ]
    assert Layout.extract_profile(Layout.empty(), Tree()) == []
    for tree in (Tree(1), Tree(1, Tree(1)), Tree(Tree(1, 1), 1)):
        with pytest.raises(ValueError, match="layout and tree profile do not match"):
            Layout.extract_profile(layout, tree)
    with pytest.raises(ValueError, match=r"group of 2 items .* leaf of extent 2; .* reshape"):
        Layout.extract_profile(layout, Tree(Tree(1, 1), 1))


@pytest.mark.rule("L-21")
@pytest.mark.parametrize(
    ("layout", "output", "selection", "expected"),
    [
        ("(2,3):(1,2)", Tree(identified(1), identified(0)), None, "(3,2):(2,1)"),
        ("(2,3):(1,2)", Tree(identified(1), 1, identified(0)), None, "(3,1,2):(2,0,1)"),
        ("(2,3):(1,2)", Tree(Tree(identified(1), 1), identified(0)), None, "((3,1),2):((2,0),1)"),
        (
            "(1,(2,3)):(5,(7,14))",
            Tree(identified(1), identified(0)),
            Tree(1, 1),
            "((2,3),1):((7,14),5)",
        ),
        ("(1,(2,3)):(5,(7,14))", Tree(identified(1)), Tree(1, 1), "((2,3)):((7,14))"),
        ("(1,1):(5,5)", Tree(), None, "():()"),
    ],
)
def test_rearrange(layout: str, output: Tree, selection: Tree | None, expected: str) -> None:
    assert Layout.rearrange(parse(layout), output, selection) == parse(expected)


@pytest.mark.rule("L-21")
@pytest.mark.parametrize(
    ("output", "selection", "message"),
    [
        ([identified(0)], None, "output must be a Tree"),
        (Tree(identified(0), identified(1)), [1, 1], "selection must be a Tree"),
        (Tree(identified(9)), Tree(1), "layout and tree profile do not match"),
        (Tree(identified(2)), None, "rearrange id is out of range"),
        (Tree(identified(0), identified(0)), None, "ids must not be duplicated"),
        (Tree(identified(0)), None, "must include every extracted layout"),
    ],
)
def test_refused_rearrangements(output: Tree, selection: Tree | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.rearrange(MATRIX, output, selection)


@pytest.mark.rule("L-22")
@pytest.mark.parametrize(
    ("layout", "output", "selection"),
    [
        ("(2,3):(1,2)", Tree(identified(1), 1, identified(0)), Tree(1, 1)),
        ("(2,3):(1,2)", Tree(Tree(Tree(identified(1)), 1), identified(0)), Tree(1, 1)),
        ("(2,(3,4)):(1,(2,6))", Tree(Tree(identified(1)), identified(0)), Tree(1, 1)),
        (
            "(2,(3,4)):(1,(2,6))",
            Tree(identified(2), identified(0), identified(1)),
            Tree(1, (Tree(1, 1))),
        ),
        (
            "(2,(3,4)):(1,(2,6))",
            Tree(Tree(), identified(1), Tree(Tree(), identified(0))),
            Tree(1, 1),
        ),
        ("(2,1):(1,0)", Tree(identified(0)), Tree(1, 1)),
    ],
)
def test_reversing_restores_the_layout(layout: str, output: Tree, selection: Tree) -> None:
    source = parse(layout)
    moved = Layout.rearrange(source, output, selection)
    assert Layout.rearrange(moved, *Layout.reverse_rearrange(output, selection)) == source


@pytest.mark.rule("L-22")
def test_a_dropped_singleton_comes_back_with_stride_zero() -> None:
    trees = Layout.reverse_rearrange(Tree(identified(1)), Tree(1, 1))
    assert trees == (Tree(1, identified(0)), Tree(1))
    assert Layout.rearrange(Layout.leaf(3, 2), *trees) == parse("(1,3):(0,2)")


@pytest.mark.rule("L-22")
@pytest.mark.parametrize(
    ("output", "selection", "message"),
    [
        ((identified(0),), Tree(1), "must be a Tree"),
        (Tree(identified(0)), (1,), "must be a Tree"),
        (Tree(identified(1)), Tree(1), "rearrange id is out of range"),
        (Tree(identified(0), identified(0)), Tree(1), "ids must not be duplicated"),
    ],
)
def test_refused_reversals(output: Any, selection: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.reverse_rearrange(output, selection)


@pytest.mark.rule("L-23")
def test_permute_moves_whole_modes() -> None:
    layout = parse("(2,(3,4),5):(1,(2,6),24)")
    expected = parse("((3,4),2,5):((2,6),1,24)")
    assert Layout.permute(layout, 1, 0, 2) == expected
    assert Layout.permute(layout, [1, 0, 2]) == Layout.permute(layout, iter((1, 0, 2))) == expected
    assert Layout.permute(Layout.empty()) == Layout.permute(Layout.empty(), ()) == Layout.empty()
    assert Layout.permute(Layout.leaf(3, 1), 0) == Layout.leaf(3, 1)


@pytest.mark.rule("L-23")
@pytest.mark.parametrize(
    ("order", "error", "message"),
    [
        ((1, True), TypeError, "Permutation dimensions must be integers, got bool"),
        ((1, 0.0), TypeError, "Permutation dimensions must be integers"),
        (("10",), TypeError, "Permutation dimensions must be integers, got str"),
        ((None,), TypeError, "Permutation dimensions must be integers"),
        ((1,), ValueError, "must reorder every layout mode"),
        ((), ValueError, "must reorder every layout mode"),
        ((1, 1), ValueError, "must reorder every layout mode"),
        ((0, -1), ValueError, "must reorder every layout mode"),
        ((0, 2), ValueError, "must reorder every layout mode"),
    ],
)
def test_refused_orders(order: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Layout.permute(MATRIX, *order)


@pytest.mark.rule("L-24")
def test_broadcast_widens_extent_one_leaves() -> None:
    target = Shape(2, [4, 3])
    widened = parse("(2,(1,3)):(1,(2,2))").broadcast_to(target)
    assert widened == parse("(2,(4,3)):(1,(0,2))")
    assert widened.shape == target
    assert parse("(1,1):(7,7)").broadcast_to(Shape(1, 5)) == parse("(1,5):(7,0)")


@pytest.mark.rule("L-24")
@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ((2, 3), TypeError, "Layout broadcast target must be a Shape, got tuple"),
        (Shape(2, [3]), ValueError, "same shape profile"),
        (Shape(2, 3, 1), ValueError, "same shape profile"),
        (Shape(4, 3), ValueError, "can only widen an extent-1 leaf"),
        (Shape(1, 3), ValueError, "can only widen an extent-1 leaf"),
    ],
)
def test_refused_broadcasts(target: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        MATRIX.broadcast_to(target)


@pytest.mark.rule("L-25")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(2,1,3):(1,9,2)", "6:1"),
        ("(2,(1,6)):(1,(6,2))", "12:1"),
        ("(2,3):(3,1)", "(2,3):(3,1)"),
        ("(3,4):(0,0)", "12:0"),
        ("(1,1):(7,9)", "1:7"),
        ("():()", "1:0"),
        ("((4)):((3))", "4:3"),
        ("(2,(),3):(1,(),2)", "6:1"),
    ],
)
def test_coalesce(text: str, expected: str) -> None:
    assert Layout.coalesce(parse(text)) == parse(expected)


@pytest.mark.rule("L-25")
def test_coalesce_by_mode() -> None:
    layout = parse("((2,3),(4,(5,2))):((1,2),(6,(1,5)))")
    assert Layout.coalesce_by_mode(layout, Tree(1, 1)) == parse("(6,(4,10)):(1,(6,1))")
    by_leaf = Layout.coalesce_by_mode(layout, Tree(1, Tree(1, Tree(1, 1))))
    assert by_leaf == parse("(6,(4,(5,2))):(1,(6,(1,5)))")
    with pytest.raises(ValueError, match="layout and tree profile do not match"):
        Layout.coalesce_by_mode(layout, Tree(1))
    with pytest.raises(ValueError, match="profile must be a Tree"):
        Layout.coalesce_by_mode(layout, [1, 1])  # type: ignore[arg-type]


@pytest.mark.rule("L-25")
def test_flatten_layout() -> None:
    layout = parse("(2,(3,(4))):(1,(2,(6)))")
    flat, recipe = Layout.flatten_layout(layout)
    assert flat == parse("(2,3,4):(1,2,6)")
    assert recipe == layout.profile


@pytest.mark.rule("L-17", "L-18", "L-28")
@pytest.mark.parametrize(
    "call",
    [
        lambda other: Layout.coalesce(other),
        lambda other: Layout.permute(other, 0),
        lambda other: Layout.rearrange(other, Tree(identified(0))),
        lambda other: Layout.extract_profile(other),
        lambda other: Layout.flatten_layout(other),
        lambda other: Layout.choose(other, 1),
    ],
)
def test_operations_need_a_layout(call: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="must be a Layout, got Stride"):
        call(Stride(1))


@pytest.mark.rule("L-22", "L-24", "L-25")
def test_restructuring_leaves_nothing_for_the_collector() -> None:
    layout = Layout(Shape(2, (1, 3)), Stride(1, (9, 2)))
    output, selection = Tree(Tree(Node.id(2)), Node.id(0)), Tree(1, Tree(1, 1))
    gc.collect()
    gc.disable()
    try:
        layout.broadcast_to(Shape(2, (4, 3)))
        Layout.coalesce_by_mode(layout, selection)
        Layout.reverse_rearrange(output, selection)
        assert gc.collect() == 0
    finally:
        gc.enable()
