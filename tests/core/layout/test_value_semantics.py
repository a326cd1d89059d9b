"""Immutability, copies, pickling, repr and notation."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from strideweave.layout import (
    IndexMap,
    Layout,
    Permutation,
    Product,
    Shape,
    Stride,
    Swizzle,
    SwizzleStage,
)

STAGE = SwizzleStage(1, 0, 1)
REVERSE = Permutation([1, 0], 2)
MAPS: list[IndexMap] = [
    Layout.parse("(2,3):(1,2)"),
    REVERSE,
    Swizzle(Shape(4), STAGE),
    Product(REVERSE, REVERSE),
    Layout.parse("(2,2):(1,3)").compose(Layout.parse("4:1")),
]
VALUES: list[Any] = [
    Shape(2, [3, 4]),
    Stride(1, [2, 6]),
    Shape(2, [3, 4]).top_level,
    Stride(1, [2, 6]).top_level,
    *MAPS,
]


@pytest.mark.rule("L-41")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "name", ["shape", "size", "values", "stages", "children", "logical_size", "leaves", "other"]
)
def test_no_attribute_can_be_assigned_or_deleted(value: Any, name: str) -> None:
    before = repr(value)
    with pytest.raises(AttributeError, match="immutable"):
        setattr(value, name, 1)
    with pytest.raises(AttributeError, match="immutable"):
        delattr(value, name)
    assert repr(value) == before


@pytest.mark.rule("L-41", "S-19")
@pytest.mark.parametrize("name", ["bits", "other"])
def test_stages_are_frozen(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(STAGE, name, 2)
    with pytest.raises(AttributeError):
        delattr(STAGE, name)
    assert STAGE == SwizzleStage(1, 0, 1)


@pytest.mark.rule("L-41")
def test_exposed_collections_are_tuples() -> None:
    assert type(REVERSE.values) is tuple
    assert type(Swizzle(Shape(4), STAGE).stages) is tuple
    assert type(Product(REVERSE, REVERSE).children) is tuple


@pytest.mark.rule("L-42")
def test_layouts_are_equal_by_value() -> None:
    layout = Layout(Shape(2, [3]), Stride(1, [2]))
    assert layout == Layout(Shape([2, (3,)]), Stride(1, (2,)))
    assert layout != Layout(Shape(2, 3), Stride(1, 2))
    assert layout != Layout(Shape(2, [3]), Stride(1, [4]))
    assert layout != "(2,(3)):(1,(2))"
    assert {layout: 1}[Layout.parse("(2,(3)):(1,(2))")] == 1


@pytest.mark.rule("L-42")
def test_other_maps_are_equal_by_identity() -> None:
    for index_map in MAPS[1:]:
        assert index_map == index_map
        assert index_map != pickle.loads(pickle.dumps(index_map))
    assert len({Permutation([0], 1), Permutation([0], 1)}) == 2


@pytest.mark.rule("L-42", "G-18")
@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(
    "restore",
    [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_have_equal_content(value: Any, restore: Callable[[Any], Any]) -> None:
    restored = restore(value)
    assert type(restored) is type(value)
    assert repr(restored) == repr(value)
    if isinstance(value, IndexMap):
        assert restored.shape == value.shape
        assert [restored(q) for q in range(value.size)] == [value(q) for q in range(value.size)]
    else:
        assert restored == value
    assert getattr(restored, "logical_size", None) == getattr(value, "logical_size", None)


@pytest.mark.rule("L-43")
@pytest.mark.parametrize(
    ("value", "text", "notation"),
    [
        (Shape(), "Shape()", "()"),
        (Shape(4), "Shape(4)", "4"),
        (Shape(2, [3, 4]), "Shape(2, (3, 4))", "(2,(3,4))"),
        (Shape([3], 2), "Shape((3,), 2)", "((3),2)"),
        (Shape([[2, 3]]), "Shape(((2, 3),))", "((2,3))"),
        (Shape([[[2, 3]]]), "Shape((((2, 3),),))", "(((2,3)))"),
        (Shape([[]]), "Shape(((),))", "(())"),
        (Stride(1, (2, 6)), "Stride(1, (2, 6))", "(1,(2,6))"),
        (
            Layout(Shape(2, 3), Stride(1, 2)),
            "Layout(Shape(2, 3), Stride(1, 2))",
            "(2,3):(1,2)",
        ),
        (Layout.leaf(4, 1), "Layout(Shape(4), Stride(1))", "4:1"),
        (Layout.empty(), "Layout(Shape(), Stride())", "():()"),
    ],
)
def test_repr_evaluates_back_and_str_is_notation(value: object, text: str, notation: str) -> None:
    assert repr(value) == text
    assert eval(text) == value
    assert str(value) == notation


@pytest.mark.rule("L-43")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(4):(1)", "4:1"),
        (" ( 2 , ( 3 ) )\t: (1,\n(2)) ", "(2,(3)):(1,(2))"),
        ("():()", "():()"),
        ("(()):(())", "(()):(())"),
        ("007:000", "7:0"),
    ],
)
def test_parse_reads_notation(text: str, expected: str) -> None:
    assert str(Layout.parse(text)) == expected


@pytest.mark.rule("L-43")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an integer or '\\(' at column 1"),
        ("4", "expected ':' at column 2"),
        ("4:", "expected an integer or '\\(' at column 3"),
        ("4:1 x", "expected the end at column 5"),
        ("(2,):(1)", "expected an integer or '\\(' at column 4"),
        ("(2 3):(1,2)", "expected '\\)' at column 4"),
        ("(2,3:(1,2)", "expected '\\)' at column 5"),
        ("(2,0):(1,2)", "extent must not be less than 1, got 0 at column 4"),
        ("(2,3):(1,-2)", "expected an integer or '\\(' at column 10"),
        ("(2,3):(1,(2))", "do not match in Structure at column 7"),
        ("٣:1", "expected an integer or '\\(' at column 1"),
        ("(4):1:2", "expected the end at column 6"),
    ],
)
def test_malformed_notation(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Layout.parse(text)


@pytest.mark.rule("L-43")
def test_parse_takes_a_string() -> None:
    with pytest.raises(TypeError, match="text must be a str, got bytes"):
        Layout.parse(b"4:1")  # type: ignore[arg-type]
