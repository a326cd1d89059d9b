"""Flat building blocks, tile lowering, complement and division."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave.layout import Layout, Node, Permutation, Shape, Stride, Tree
from strideweave.layout.enumeration import slots

parse = Layout.parse
leaf = Layout.leaf
LAYOUT: Any = Layout


@pytest.mark.rule("L-26")
def test_choose_and_modout() -> None:
    layout = parse("(3,6,2,8):(1,3,18,36)")
    chosen = Layout.choose(layout, 9)
    assert chosen == parse("(1,2,2,8):(9,9,18,36)")
    assert Layout.modout(chosen, 16) == parse("(1,2,2,4):(9,9,18,36)")
    nested = parse("((3,6),(2,8)):((1,3),(18,36))")
    assert Layout.choose(nested, 9) == chosen
    assert Layout.choose(layout, 1) == Layout.modout(layout, 288) == layout
    assert Layout.modout(layout, 1) == parse("(1,1,1,1):(1,3,18,36)")
    assert slots(Layout.choose(layout, 288)) == [0]


@pytest.mark.rule("L-26")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Layout.choose(parse("(4,6):(1,9)"), 3), ValueError, "choose the 3-th element"),
        (lambda: Layout.choose(parse("(4,6):(1,9)"), 48), ValueError, "choose the 48-th element"),
        (lambda: Layout.choose(leaf(4, 1), 0), ValueError, "d must be positive, got 0"),
        (lambda: Layout.choose(leaf(4, 1), -2), ValueError, "d must be positive"),
        (lambda: Layout.choose(leaf(4, 1), True), TypeError, "d must be an integer, got bool"),
        (
            lambda: Layout.modout(parse("(4,6):(1,9)"), 6),
            ValueError,
            "Shape divisibility condition not met for",
        ),
        (
            lambda: Layout.modout(parse("(4,6):(1,9)"), 48),
            ValueError,
            "Shape divisibility condition not met for",
        ),
        (lambda: Layout.modout(leaf(4, 1), 0), ValueError, "n must be positive, got 0"),
    ],
)
def test_refused_cuts(call: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.rule("L-26")
def test_expand_int() -> None:
    level = Shape(5, [20, 4]).top_level
    assert Layout.expand_int(214, level) == (4, 42)
    assert Layout.expand_int(0, Shape().top_level) == ()
    for key in (-1, 400):
        with pytest.raises(ValueError, match="not in domain"):
            Layout.expand_int(key, level)
    with pytest.raises(TypeError, match="key must be an integer"):
        Layout.expand_int(1.0, level)  # type: ignore[arg-type]


@pytest.mark.rule("L-27")
@pytest.mark.parametrize(
    ("outer", "tile", "expected"),
    [
        ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
        ("20:2", "(5,4):(4,1)", "(5,4):(8,2)"),
        ("20:2", "(5,(1,4)):(4,(9,0))", "(5,(1,4)):(8,(0,0))"),
        ("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))", "8:4", "(4,2):(4,2)"),
        ("(4,6,8):(1,4,7)", "6:1", "6:1"),
        ("(2,2):(1,3)", "4:1", "(2,2):(1,3)"),
        ("(2,2):(1,3)", "(1,(2,2)):(7,(2,1))", "(1,(2,2)):(0,(3,1))"),
        ("(2,2):(1,3)", "((2,2)):((2,1))", "(2,2):(3,1)"),
        ("(4,2):(1,9)", "():()", "():()"),
    ],
)
def test_lowering(outer: str, tile: str, expected: str) -> None:
    lowered = Layout.compose_layouts(parse(outer), parse(tile))
    assert lowered == parse(expected)
    assert slots(lowered) == [parse(outer)(index) for index in slots(parse(tile))]


@pytest.mark.rule("L-27", "G-1")
@pytest.mark.parametrize(
    ("outer", "tile", "message"),
    [
        ("20:2", "21:1", "tile cosize 21 exceeds the 20 coordinates"),
        ("(4,6):(1,9)", "2:3", "leaf 2:3: cannot choose the 3-th element"),
        ("(4,6):(1,9)", "6:1", "leaf 6:1: Shape divisibility condition not met"),
        ("(4,6):(1,9)", "(2,2):(1,0)", "leaf 2:0: cannot choose the 0-th element"),
        ("(4,6):(1,9)", "(4,2):(1,2)", "leaf 2:2 carries into the next mode"),
        ("(4,6):(1,9)", "(2,2,2):(2,1,1)", "leaf 2:1 carries into the next mode"),
    ],
)
def test_lowering_is_exact_or_refused(outer: str, tile: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.compose_layouts(parse(outer), parse(tile))


@pytest.mark.rule("L-28")
def test_compose_by_tiler() -> None:
    layout = parse("(12,(4,8)):(59,(13,1))")
    tiles = [leaf(3, 4), leaf(8, 2)]
    expected = parse("(3,(2,4)):(236,(26,1))")
    assert Layout.compose(layout, tiles) == layout.compose(tuple(tiles)) == expected
    assert layout.compose(inner=tiles) == layout.compose(B=tiles) == expected
    assert layout.compose([leaf(3, 4)]) == parse("(3,(4,8)):(236,(13,1))")
    nothing: Any
    for nothing in ([], (), Shape(), Tree()):
        assert layout.compose(nothing) == layout
    assert parse("(20,50):(1,20)").compose(Shape(5, 2)) == parse("(5,2):(1,20)")


@pytest.mark.rule("L-28")
def test_an_index_map_is_never_a_tiler() -> None:
    layout = parse("(4,3):(1,4)")
    assert layout.compose(parse("(2,3):(1,4)")) == parse("(2,3):(1,4)")
    assert layout.compose(Permutation([1, 0], 2))(0) == 1


@pytest.mark.rule("L-28")
@pytest.mark.parametrize(
    ("arguments", "keywords", "error", "message"),
    [
        ((Shape(3), leaf(3, 1)), {}, TypeError, "A must be a Layout, got Shape"),
        ((leaf(3, 1),), {}, TypeError, "got none"),
        ((leaf(3, 1), leaf(3, 1)), {"inner": leaf(3, 1)}, TypeError, "both B and inner"),
        ((leaf(3, 1),) * 3, {}, TypeError, "positional arguments"),
        ((leaf(3, 1), Shape([[3]])), {}, ValueError, "a Shape operand must be flat"),
        ((leaf(3, 1), [leaf(3, 1), Shape(3)]), {}, TypeError, "contain only Layout"),
        ((leaf(3, 1), Tree(Node.Leaf)), {}, TypeError, "contain only Layout"),
        ((leaf(3, 1), "ab"), {}, TypeError, "must be an IndexMap, Shape, or Tiler"),
        ((leaf(3, 1), b""), {}, TypeError, "must be an IndexMap, Shape, or Tiler"),
        ((leaf(3, 1), None), {}, TypeError, "must be an IndexMap, Shape, or Tiler"),
        ((leaf(3, 1), Stride(1)), {}, TypeError, "must be an IndexMap, Shape, or Tiler"),
        ((leaf(3, 1), {leaf(3, 1)}), {}, TypeError, "must be an IndexMap, Shape, or Tiler"),
        ((leaf(3, 1), Shape(3, 1)), {}, ValueError, "more tiles than A"),
        ((leaf(3, 1), [leaf(2, 3)]), {}, ValueError, "tile cosize 4 exceeds"),
        ((parse("((4,6)):((1,9))"), [leaf(6, 1)]), {}, ValueError, "divisibility"),
    ],
)
def test_refused_operands(
    arguments: tuple[Any, ...], keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    compose: Callable[..., object] = Layout.compose
    with pytest.raises(error, match=message):
        compose(*arguments, **keywords)


@pytest.mark.rule("L-29")
@pytest.mark.parametrize(
    ("tile", "cotarget", "expected"),
    [
        ("4:1", 24, "6:4"),
        ("6:4", 24, "4:1"),
        ("(4,6):(1,4)", 24, "():()"),
        ("(2,2):(1,6)", 24, "(3,2):(2,12)"),
        ("(2,(2)):(6,(1))", 24, "(3,2):(2,12)"),
        ("(1,2):(77,1)", 4, "2:2"),
        ("():()", 5, "5:1"),
        ("():()", 1, "():()"),
    ],
)
def test_complement(tile: str, cotarget: int, expected: str) -> None:
    rest = Layout.complement(parse(tile), cotarget)
    assert rest == parse(expected)
    assert sorted(slots(Layout.make_layout(parse(tile), rest))) == [*range(cotarget)]


@pytest.mark.rule("L-29")
@pytest.mark.parametrize(
    ("tile", "cotarget", "error", "message"),
    [
        ("(2,2):(1,1)", 4, ValueError, "overlaps with itself"),
        ("(2,3):(1,0)", 4, ValueError, "overlaps with itself"),
        ("(2,2,2):(2,3,3)", 4, ValueError, "overlaps with itself"),
        ("(3,2):(2,3)", 6, ValueError, "overlaps with itself"),
        ("(2,2):(1,3)", 12, ValueError, "incongruent"),
        ("4:2", 12, ValueError, "incongruent with cotarget"),
        ("4:2", 4, ValueError, "is larger than cotarget"),
        ("4:1", 0, ValueError, "cotarget must be positive"),
        ("4:1", 4.0, TypeError, "cotarget must be an integer"),
    ],
)
def test_refused_complements(
    tile: str, cotarget: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Layout.complement(parse(tile), cotarget)


@pytest.mark.rule("L-30")
@pytest.mark.parametrize(
    ("layout", "tile", "expected"),
    [
        ("(4,2,3):(2,1,8)", "4:2", "((2,2),(2,3)):((4,1),(2,8))"),
        ("24:1", "(2,3):(1,4)", "((2,3),(2,2)):((1,4),(2,12))"),
        ("8:3", "8:1", "8:3"),
        ("(4,2):(9,1)", "():()", "(4,2):(9,1)"),
    ],
)
def test_divide(layout: str, tile: str, expected: str) -> None:
    assert Layout.divide(parse(layout), parse(tile)) == parse(expected)


@pytest.mark.rule("L-30")
def test_dividing_by_mode() -> None:
    layout = parse("(8,6,5):(1,8,48)")
    tiles = [leaf(4, 1), leaf(3, 1)]
    assert Layout.divide_tiler(layout, tiles) == parse("((4,2),(3,2),5):((1,4),(8,24),48)")
    assert Layout.zipped_divide(layout, tiles) == parse("((4,3),(2,2),5):((1,8),(4,24),48)")
    tiler: list[Layout] | tuple[Layout, ...]
    for tiler in ([], ()):
        assert Layout.divide_tiler(layout, tiler) == layout
        assert Layout.zipped_divide(layout, tiler) == layout


@pytest.mark.rule("L-30")
def test_a_tile_that_covers_its_mode_leaves_no_remainder() -> None:
    layout = parse("(8,6):(1,8)")
    covering = [leaf(8, 1), leaf(3, 1)]
    assert Layout.divide_tiler(layout, covering) == parse("(8,(3,2)):(1,(8,24))")
    assert Layout.zipped_divide(layout, covering) == parse("((8,3),(1,2)):((1,8),(0,24))")
    assert Layout.zipped_divide(leaf(8, 2), [leaf(8, 1)]) == parse("(8,1):(2,0)")
    assert Layout.zipped_divide(leaf(8, 2), [leaf(4, 1)]) == parse("(4,2):(2,8)")


@pytest.mark.rule("L-30")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LAYOUT.divide(leaf(8, 1), [leaf(2, 1)]), TypeError, "B must be a Layout"),
        (lambda: LAYOUT.divide(Shape(8), leaf(2, 1)), TypeError, "A must be a Layout"),
        (lambda: LAYOUT.divide_tiler(leaf(8, 1), leaf(2, 1)), TypeError, "B must be .*Tiler"),
        (lambda: LAYOUT.zipped_divide(leaf(8, 1), "a"), TypeError, "B must be .*Tiler"),
        (lambda: LAYOUT.divide_tiler(leaf(8, 1), [2]), TypeError, "contain only Layout"),
        (lambda: LAYOUT.divide(leaf(8, 1), leaf(3, 1)), ValueError, "incongruent with cotarget"),
        (
            lambda: LAYOUT.divide_tiler(leaf(8, 1), [leaf(2, 1)] * 2),
            ValueError,
            "more tiles than A",
        ),
        (
            lambda: LAYOUT.zipped_divide(leaf(8, 1), [leaf(2, 1)] * 2),
            ValueError,
            "more tiles than A",
        ),
    ],
)
def test_refused_divisions(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
