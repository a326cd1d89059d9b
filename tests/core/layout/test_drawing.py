"""Index maps as text tables and as pictures."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strideweave import IndexMap, Layout, Permutation, Product, Shape, Swizzle, SwizzleStage
from strideweave.layout.construction import canonical_layout

SVG = "{http://www.w3.org/2000/svg}"
GENERIC = Layout.parse("(2,2):(1,3)").compose(Layout.parse("4:1"))
KINDS = {
    "layout": Layout.parse("(2,(3,2)):(6,(1,3))"),
    "permutation": Permutation([2, 0, 1], 3),
    "swizzle": Swizzle(Shape(4, 4), SwizzleStage(2, 0, 2)),
    "product": Product(Permutation([1, 0], 2), Permutation([2, 0, 1], 4)),
    "composition": GENERIC,
}
each_kind = pytest.mark.parametrize("index_map", KINDS.values(), ids=list(KINDS))


def lines(notation: str) -> list[str]:
    return Layout.parse(notation).table().split("\n")


def picture(index_map: IndexMap) -> ElementTree.Element:
    root = ElementTree.fromstring(index_map.to_svg())
    assert root.tag == f"{SVG}svg"
    return root


def texts(index_map: IndexMap) -> list[str | None]:
    return [element.text for element in picture(index_map).iter(f"{SVG}text")]


def fills(index_map: IndexMap) -> list[str | None]:
    """The colours of the cells, without the background."""
    return [element.get("fill") for element in picture(index_map).iter(f"{SVG}rect")][1:]


@pytest.mark.rule("L-45")
def test_two_modes_are_a_grid() -> None:
    assert lines("(2,3):(1,2)") == [
        "  | 0 1 2",
        "--+------",
        "0 | 0 2 4",
        "1 | 1 3 5",
    ]


@pytest.mark.rule("L-45")
def test_a_nested_mode_is_flattened_to_its_ordinals() -> None:
    assert lines("((2,2),(2,2)):((1,10),(2,100))") == [
        "  |   0   1   2   3",
        "--+----------------",
        "0 |   0   2 100 102",
        "1 |   1   3 101 103",
        "2 |  10  12 110 112",
        "3 |  11  13 111 113",
    ]


@pytest.mark.rule("L-45")
@pytest.mark.parametrize("notation", ["4:3", "((2,2)):((3,6))"])
def test_one_mode_is_a_row(notation: str) -> None:
    assert lines(notation) == ["0 1 2 3", "-------", "0 3 6 9"]


@pytest.mark.rule("L-45")
def test_rank_zero_is_its_index() -> None:
    assert Layout.empty().table() == "0"


@pytest.mark.rule("L-45")
def test_further_modes_are_blocks_with_the_first_of_them_fastest() -> None:
    assert lines("(1,2,2,2):(0,1,2,8)") == [
        "(:,:,0,0)",
        "  |  0  1",
        "--+------",
        "0 |  0  1",
        "",
        "(:,:,1,0)",
        "  |  0  1",
        "--+------",
        "0 |  2  3",
        "",
        "(:,:,0,1)",
        "  |  0  1",
        "--+------",
        "0 |  8  9",
        "",
        "(:,:,1,1)",
        "  |  0  1",
        "--+------",
        "0 | 10 11",
    ]


@pytest.mark.rule("L-45")
def test_labels_and_indices_are_right_aligned() -> None:
    table = lines("(11,12):(0,0)")
    assert table[0] == "   |  0  1  2  3  4  5  6  7  8  9 10 11"
    assert table[2] == " 0 |  0  0  0  0  0  0  0  0  0  0  0  0"
    assert table[-1].startswith("10 |")
    assert {len(line) for line in table} == {len(table[0])}


@pytest.mark.rule("L-45")
@each_kind
def test_every_kind_of_map_has_a_table(index_map: IndexMap) -> None:
    body = [line for line in index_map.table().split("\n") if "-" not in line][1:]
    shown = [line.split(" | ")[-1].split() for line in body]
    by_column = [int(row[column]) for column in range(len(shown[0])) for row in shown]
    assert by_column == [index_map(ordinal) for ordinal in range(index_map.size)]


@pytest.mark.rule("L-45")
def test_a_table_is_bounded() -> None:
    assert len(canonical_layout(Shape(1, 65536)).table()) > 65536
    with pytest.raises(ValueError, match="65537 coordinates are too many for a text table"):
        canonical_layout(Shape(65537)).table()
    with pytest.raises(ValueError, match="at most 65536; take a part"):
        canonical_layout(Shape(10**9, 10**9)).table()


@pytest.mark.rule("L-46")
def test_a_picture_shows_borders_and_indices() -> None:
    layout = Layout.parse("(2,3):(10,1)")
    assert texts(layout) == [*"012", *"01", "0", "1", "2", "10", "11", "12"]
    root = picture(layout)
    title = root.find(f"{SVG}title")
    assert title is not None and title.text == "(2,3):(10,1)"
    assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"


@pytest.mark.rule("L-46")
def test_blocks_have_titles() -> None:
    shown = texts(Layout.parse("(1,1,2):(0,0,7)"))
    assert shown == ["(:,:,0)", "0", "0", "0", "(:,:,1)", "0", "0", "7"]
    assert texts(Layout.parse("2:5")) == ["0", "1", "0", "5"]
    assert texts(Layout.empty()) == ["0"]


@pytest.mark.rule("L-46")
@each_kind
def test_every_kind_of_map_has_a_picture(index_map: IndexMap) -> None:
    shown = [text for text in texts(index_map) if text is not None]
    assert len(fills(index_map)) == index_map.size
    indices = [str(index_map(ordinal)) for ordinal in range(index_map.size)]
    assert sorted(shown[-index_map.size :]) == sorted(indices)
    assert index_map._repr_svg_() == index_map.to_svg()


@pytest.mark.rule("L-46")
def test_the_colour_tells_the_index() -> None:
    first, second, third, fourth = fills(Layout.parse("(2,2):(0,1)"))
    assert first == third != second == fourth
    assert len(set(fills(Layout.parse("64:1")))) == 64
    assert len(set(fills(Layout.parse("(4,4):(0,0)")))) == 1


@pytest.mark.rule("L-46")
def test_the_title_is_escaped() -> None:
    title = picture(GENERIC).find(f"{SVG}title")
    assert title is not None and title.text == str(GENERIC)


@pytest.mark.rule("L-46")
@given(st.lists(st.integers(1, 4), max_size=4), st.integers(0, 10**30))
def test_everything_lies_inside_the_picture(extents: list[int], stride: int) -> None:
    layout = Layout.make_layout(*(Layout.leaf(extent, stride) for extent in extents))
    root = picture(layout)
    width, height = int(root.get("width", "")), int(root.get("height", ""))
    for cell in root.iter(f"{SVG}rect"):
        x, y = int(cell.get("x", "0")), int(cell.get("y", "0"))
        assert 0 <= x and x + int(cell.get("width", "")) <= width
        assert 0 <= y and y + int(cell.get("height", "")) <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 <= int(text.get("x", "")) <= width
        assert 0 <= int(text.get("y", "")) <= height


@pytest.mark.rule("L-46")
def test_a_picture_is_bounded_and_notebooks_fall_back() -> None:
    assert canonical_layout(Shape(64, 64))._repr_svg_() is not None
    larger = canonical_layout(Shape(64, 64, 2))
    with pytest.raises(ValueError, match="8192 coordinates are too many for an SVG"):
        larger.to_svg()
    assert larger._repr_svg_() is None
