"""Names, construction, members and indexing of Layout."""

import inspect
import typing
from collections.abc import Callable, Sequence

import pytest

import strideweave
import strideweave.layout
from strideweave.layout import IndexMap, Layout, Node, Shape, Stride, Tiler
from strideweave.layout.construction import canonical_layout
from strideweave.layout.enumeration import slots

NESTED = Layout(Shape(2, [3, 4]), Stride(1, [10, 100]))


@pytest.mark.rule("L-1")
def test_the_eleven_names_are_the_same_objects_at_both_paths() -> None:
    assert sorted(strideweave.layout.__all__) == [
        "IndexMap",
        "Layout",
        "Node",
        "Permutation",
        "Product",
        "Shape",
        "Stride",
        "Swizzle",
        "SwizzleStage",
        "Tiler",
        "Tree",
    ]
    for name in strideweave.layout.__all__:
        assert getattr(strideweave, name) is getattr(strideweave.layout, name)


@pytest.mark.rule("L-2")
@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        (Shape(), Stride()),
        (Shape(2, [3, 1], 4), Stride(1, [2, 6], 6)),
        (Shape([[3], 2], []), Stride([[1], 3], [])),
    ],
)
def test_canonical_strides_count_the_leaves(shape: Shape, stride: Stride) -> None:
    layout = canonical_layout(shape)
    assert layout == Layout(shape, stride)
    assert slots(layout) == [*range(shape.size)]
    assert canonical_layout(Shape(shape.top_level)) is layout


@pytest.mark.rule("L-3")
def test_tiler_is_an_alias() -> None:
    assert Tiler == Sequence[Layout]
    operand = IndexMap | Shape | Tiler
    hints = typing.get_type_hints(Layout.compose)
    assert hints["B"] == hints["inner"] == operand
    assert typing.get_type_hints(Layout.divide_tiler)["B"] == Tiler
    assert typing.get_type_hints(Layout.zipped_divide)["B"] == Tiler


@pytest.mark.rule("L-12")
def test_construction_keeps_the_given_objects() -> None:
    shape, stride = Shape(2, 3), Stride(1, 2)
    layout = Layout(shape, stride)
    assert isinstance(layout, IndexMap)
    assert layout.shape is shape
    assert layout.stride is stride


@pytest.mark.rule("L-12")
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, 4), ValueError, "shape input must be a Shape object, got int"),
        ((Shape(3), 1), ValueError, "stride input must be a Stride object, got int"),
        ((Shape(2, 3), Stride(1)), ValueError, "do not match in Structure"),
        ((Shape(2, [3, 4]), Stride(1, 2)), ValueError, "do not match in Structure"),
        ((Shape(2, 3), Stride(1, [2])), ValueError, "do not match in Structure"),
        ((Shape([]), Stride(1)), ValueError, "do not match in Structure"),
        ((Shape(3),), TypeError, "stride"),
        ((), TypeError, "shape"),
    ],
)
def test_refused_parts(arguments: tuple[object, ...], error: type[Exception], message: str) -> None:
    build: Callable[..., Layout] = Layout
    with pytest.raises(error, match=message):
        build(*arguments)


@pytest.mark.rule("L-13")
def test_members() -> None:
    assert (NESTED.size, NESTED.depth, len(NESTED)) == (24, 2, 2)
    assert NESTED.cosize == NESTED.codomain_size == 322
    assert (NESTED.leaf_extents, NESTED.leaf_strides) == ((2, 3, 4), (1, 10, 100))
    assert NESTED[1] == Layout(Shape(3, 4), Stride(10, 100))
    assert NESTED[1:] == Layout(Shape([[3, 4]]), Stride([[10, 100]]))
    assert [*NESTED] == [NESTED[0], NESTED[1]]
    assert NESTED.infix() == [(2, 1), (3, 10), (4, 100)]
    with pytest.raises(IndexError):
        NESTED[2]


@pytest.mark.rule("L-13")
def test_profile_is_a_fresh_recipe() -> None:
    recipe = NESTED.profile
    assert recipe == [Node.Leaf, Node.Push, Node.Leaf, Node.Leaf, Node.Pop]
    recipe.clear()
    assert NESTED.profile == Layout(Shape(7, [7, 7]), Stride(0, [0, 0])).profile != []


@pytest.mark.rule("L-13")
@pytest.mark.parametrize(
    ("text", "is_leaf"), [("():()", True), ("4:1", True), ("((4)):((1))", False)]
)
def test_is_leaf(text: str, is_leaf: bool) -> None:
    assert Layout.parse(text).is_leaf is is_leaf


@pytest.mark.rule("L-13")
def test_small_constructors() -> None:
    assert Layout.empty() == Layout(Shape(), Stride())
    assert (Layout.empty().size, Layout.empty().cosize, Layout.empty()(0)) == (1, 1, 0)
    assert Layout.leaf(4, 2) == Layout(Shape(4), Stride(2))
    assert Layout.make_layout() == Layout.empty()
    assert Layout.make_layout(Layout.leaf(4, 2), NESTED) == Layout(
        Shape(4, [2, [3, 4]]), Stride(2, [1, [10, 100]])
    )
    with pytest.raises(ValueError, match="make_layout argument 1 must be a Layout object"):
        Layout.make_layout(NESTED, Shape(3))  # type: ignore[arg-type]


@pytest.mark.rule("L-14")
@pytest.mark.parametrize("key", [23, (1, 11), [1, [2, 3]], (1, (2, 3))])
def test_all_key_forms_agree(key: object) -> None:
    assert NESTED.index(key) == NESTED(key) == Layout.get_index(NESTED, key) == 321


@pytest.mark.rule("L-14")
@pytest.mark.parametrize("key", [-1, 24, (1,), (1, 2, 3), (2, 0), (0, (0, 4)), ((0,), 0), ()])
def test_keys_outside_the_domain(key: object) -> None:
    with pytest.raises(ValueError, match="Key is not in domain of shape"):
        NESTED(key)


@pytest.mark.rule("L-14")
@pytest.mark.parametrize("key", [None, "a", True, 1.0, (1, None), (1, (2, "a")), slice(0, 1)])
def test_keys_of_the_wrong_kind(key: object) -> None:
    with pytest.raises(TypeError, match="Coordinate must"):
        NESTED(key)


@pytest.mark.rule("L-14")
def test_evaluation_takes_one_key_and_a_layout() -> None:
    evaluations: list[Callable[..., int]] = [NESTED, NESTED.index]
    for evaluate in evaluations:
        with pytest.raises(TypeError):
            evaluate()
        with pytest.raises(TypeError):
            evaluate(0, 0)
    with pytest.raises(ValueError, match="layout input must be a Layout object"):
        Layout.get_index(Shape(3), 0)  # type: ignore[arg-type]


@pytest.mark.rule("L-15")
def test_holes_and_aliasing_change_the_span_only() -> None:
    holes, aliasing = Layout.parse("(2,3):(1,4)"), Layout.parse("(2,3):(1,0)")
    assert (holes.size, holes.cosize) == (6, 10)
    assert (aliasing.size, aliasing.cosize) == (6, 2)


@pytest.mark.rule("L-16")
@pytest.mark.parametrize(
    ("text", "injective", "broadcast_only", "compact"),
    [
        ("():()", True, False, True),
        ("(2,3):(1,4)", True, False, False),
        ("(2,3):(1,2)", True, False, True),
        ("(1,3):(0,1)", True, False, True),
        ("(4,2):(0,1)", False, True, False),
        ("(4,2):(0,3)", False, True, False),
        ("(4,2):(1,1)", False, False, False),
        ("(4,2,3):(1,1,0)", False, False, False),
        ("(3,2):(2,3)", True, False, False),
        ("(3,3):(2,3)", True, False, False),
        ("(4,3):(2,3)", False, False, False),
        ("(2,2,2):(3,5,8)", False, False, False),
        ("(2,2,2):(3,5,9)", True, False, False),
    ],
)
def test_injectivity(text: str, injective: bool, broadcast_only: bool, compact: bool) -> None:
    layout = Layout.parse(text)
    assert layout.is_injective is injective
    assert layout.has_broadcast_aliasing_only is broadcast_only
    assert layout.is_compact is compact


@pytest.mark.rule("L-17")
@pytest.mark.parametrize(
    ("text", "target", "extent"),
    [
        ("(4,3):(0,1)", Shape(3), 4),
        ("(4,3):(0,1)", Shape([[3]]), 4),
        ("(2,2):(1,1)", Shape(3), None),
        ("(3,2):(2,1)", Shape(2, 3), 1),
        ("(3,2):(2,1)", Shape(7), None),
        ("(3,2):(4,1)", Shape(6), None),
        ("(2,(1,3)):(0,(7,0))", Shape(), 6),
        ("():()", Shape(), 1),
        ("(1,3):(0,1)", Shape(3), 1),
    ],
)
def test_uniform_preimage_extent(text: str, target: Shape, extent: int | None) -> None:
    assert Layout.parse(text).uniform_preimage_extent(target) == extent


@pytest.mark.rule("L-17")
def test_uniform_preimage_extent_takes_a_shape() -> None:
    with pytest.raises(TypeError, match="target_shape must be a Shape"):
        NESTED.uniform_preimage_extent(3)  # type: ignore[arg-type]


@pytest.mark.rule("L-44")
def test_docstrings_have_their_sections() -> None:
    for name in ("IndexMap", "Permutation", "Product", "Swizzle", "SwizzleStage"):
        documented = getattr(strideweave, name)
        text = inspect.getdoc(documented) or ""
        assert "Args:" in text
        assert "Examples:" in text
        arguments = text.partition("Args:")[2]
        for parameter in inspect.signature(documented).parameters.values():
            if documented is not IndexMap:
                assert f"    {parameter.name}:" in arguments
    for member in (Layout.profile, Layout.is_injective, Layout.broadcast_to):
        text = inspect.getdoc(member) or ""
        for section in ("Syntax:", "Semantics:", "Mode assumptions:", "Returns:", "Examples:"):
            assert section in text
