"""The IndexMap contract, composition, Permutation, Swizzle and Product."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave.layout
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

parse = Layout.parse
reverse = Permutation([3, 2, 1, 0], 4)
high = SwizzleStage(1, 0, 1)
low = SwizzleStage(1, 1, 1)


def values(index_map: IndexMap) -> list[int]:
    return [index_map(ordinal) for ordinal in range(index_map.size)]


def is_generic(index_map: IndexMap) -> bool:
    return not isinstance(index_map, (Layout, Permutation, Swizzle, Product))


@pytest.mark.rule("L-31")
def test_index_map_is_abstract() -> None:
    abstract: Any = IndexMap
    with pytest.raises(TypeError, match="abstract"):
        abstract()


@pytest.mark.rule("L-31", "L-32")
@pytest.mark.parametrize(
    ("index_map", "shape", "codomain_size", "is_injective"),
    [
        (parse("(2,3):(1,4)"), Shape(2, 3), 10, True),
        (Permutation([4, 3], 10), Shape(2), 10, True),
        (Swizzle(Shape(2, [4]), high), Shape(2, [4]), 8, True),
        (Product(parse("2:0"), Permutation([0], 3)), Shape(2, 1), 3, False),
        (parse("(3,2):(2,3)").compose(Swizzle(Shape(4))), Shape(4), 8, None),
        (parse("(2,2):(1,3)").compose(parse("4:1")), Shape(4), 5, True),
    ],
)
def test_members_of_every_kind(
    index_map: IndexMap, shape: Shape, codomain_size: int, is_injective: bool | None
) -> None:
    assert index_map.shape == shape
    assert index_map.size == shape.size
    assert index_map.codomain_size == codomain_size
    assert index_map.is_injective is is_injective
    for ordinal in range(index_map.size):
        key = shape.decode(ordinal)
        assert index_map(ordinal) == index_map.index(key) == index_map(list(key))
        assert 0 <= index_map(ordinal) < codomain_size
    evaluations: list[Callable[..., int]] = [index_map, index_map.index]
    for evaluate in evaluations:
        with pytest.raises(TypeError):
            evaluate()
        with pytest.raises(TypeError):
            evaluate(0, 0)


@pytest.mark.rule("L-31", "L-9")
def test_other_kinds_keep_the_coordinate_errors() -> None:
    with pytest.raises(ValueError, match="Coordinate is not in domain of shape"):
        reverse(4)
    with pytest.raises(ValueError, match="Coordinate does not match shape hierarchy"):
        Swizzle(Shape(2, 2))((1,))
    with pytest.raises(TypeError, match="Coordinate must be an integer"):
        Product(reverse, reverse)("a")


@pytest.mark.rule("L-32")
def test_outside_code_adds_no_kind() -> None:
    with pytest.raises(TypeError, match="IndexMap is closed"):

        class Mine(IndexMap):
            pass


@pytest.mark.rule("L-33")
def test_compose_evaluates_inner_first() -> None:
    outer = parse("(2,2):(1,3)")
    for composed in (outer.compose(reverse), outer.compose(inner=reverse)):
        assert values(composed) == [4, 3, 1, 0]
    assert values(reverse.compose(inner=parse("(2,2):(2,1)"))) == [3, 1, 2, 0]


@pytest.mark.rule("L-33")
def test_refused_compositions() -> None:
    for outer in (reverse, Swizzle(Shape(4)), Product(reverse, reverse)):
        with pytest.raises(TypeError, match="inner must be an IndexMap, got Shape"):
            outer.compose(Shape(4))  # type: ignore[call-overload]
        with pytest.raises(TypeError):
            outer.compose()  # type: ignore[call-overload]
        with pytest.raises(TypeError):
            outer.compose(reverse, inner=reverse)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="inner codomain exceeds"):
        reverse.compose(parse("2:4"))
    with pytest.raises(ValueError, match="inner codomain exceeds"):
        Permutation([0, 1], 2).compose(Permutation([0], 4))


@pytest.mark.rule("L-33")
@pytest.mark.parametrize(
    "identity",
    [
        parse("4:1"),
        Permutation([0, 1, 2, 3], 4),
        Swizzle(Shape(4)),
        Swizzle(Shape(4), high, high),
    ],
)
def test_identities_return_the_other_operand(identity: IndexMap) -> None:
    assert reverse.compose(identity) is reverse
    assert identity.compose(reverse) is reverse


@pytest.mark.rule("L-33")
def test_what_counts_as_an_identity() -> None:
    product = Product(reverse, reverse)
    assert product.compose(Product(parse("4:1"), Swizzle(Shape(4)))) is product
    assert product.compose(parse("(4,4):(1,4)")) is product
    single = parse("(1,1):(5,7)")
    point = Permutation([0], 1)
    assert single.compose(point) is point
    wider = Permutation([0, 1, 2, 3], 5)
    assert reverse.compose(parse("(2,2):(1,2)")).shape == Shape(2, 2)
    assert values(parse("5:1").compose(wider)) == [0, 1, 2, 3]
    assert parse("5:1").compose(wider) is wider
    assert wider.compose(reverse).codomain_size == 5


@pytest.mark.rule("L-34")
def test_permutations_stay_permutations() -> None:
    composed = Permutation([4, 2, 1], 6).compose(Permutation([1, 0], 3))
    assert isinstance(composed, Permutation)
    assert (composed.values, composed.codomain_size) == ((2, 4), 6)


@pytest.mark.rule("L-34")
def test_swizzles_cancel() -> None:
    first, second = Swizzle(Shape(2, 4), high, low), Swizzle(Shape(8), low, high)
    composed = first.compose(Swizzle(Shape(4, 2), low))
    assert isinstance(composed, Swizzle)
    assert (composed.shape, composed.stages) == (Shape(4, 2), (low, high, low))
    cancelled = first.compose(second)
    assert isinstance(cancelled, Swizzle)
    assert (cancelled.shape, cancelled.stages) == (Shape(8), ())
    assert is_generic(first.compose(Swizzle(Shape(4), high)))


@pytest.mark.rule("L-34")
def test_aligned_products_compose_by_child() -> None:
    inner = Product(Permutation([2, 1], 4), Product(reverse, Swizzle(Shape(4), high)))
    outer = Product(reverse, Product(reverse, Swizzle(Shape(4), high)))
    composed = outer.compose(inner)
    assert isinstance(composed, Product)
    assert values(composed) == [outer(inner(q)) for q in range(inner.size)]


@pytest.mark.rule("L-34")
@pytest.mark.parametrize(
    "inner",
    [
        Product(reverse, reverse, reverse),
        Product(reverse, Permutation(range(15, -1, -1), 16)),
        Product(Permutation([1, 0], 2), Product(reverse, reverse)),
    ],
)
def test_other_products_compose_generically(inner: Product) -> None:
    outer = Product(reverse, Product(reverse, reverse))
    composed = outer.compose(inner)
    assert is_generic(composed)
    assert values(composed) == [outer(inner(q)) for q in range(inner.size)]


@pytest.mark.rule("L-35")
@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        ("12:2", "(4,3):(3,1)", "(4,3):(6,2)"),
        ("(3,(1,4)):(2,(9,6))", "(4,(3)):(3,(1))", "(4,(3)):(6,(2))"),
        ("(1,1):(5,5)", "(3,1):(0,9)", "(3,1):(0,9)"),
        ("(2,2):(0,0)", "(3,1):(1,9)", "(3,1):(0,0)"),
        ("(4,3):(0,0)", "(3,4):(4,1)", "(3,4):(0,0)"),
        ("(4,3):(3,1)", "(6,2):(2,1)", "((2,3),2):((6,1),3)"),
        ("(4,(3)):(3,(1))", "(6,2):(2,1)", "((2,3),2):((6,1),3)"),
        ("(2,2):(2,1)", "(2,2):(2,1)", "(2,2):(1,2)"),
        ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"),
    ],
)
def test_layouts_stay_layouts_where_structure_tells(outer: str, inner: str, expected: str) -> None:
    composed = parse(outer).compose(parse(inner))
    assert isinstance(composed, Layout)
    assert values(composed) == [parse(outer)(index) for index in values(parse(inner))]
    assert composed == parse(expected)


@pytest.mark.rule("L-35")
@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("(2,2):(1,3)", "4:1"),
        ("(2,2):(1,3)", "(2,2):(1,1)"),
        ("((2,2),2):((1,3),9)", "(2,4):(1,2)"),
        ("(4,6):(1,9)", "(3,8):(1,3)"),
        ("(4,3):(3,1)", "(6,(2)):(2,(1))"),
    ],
)
def test_other_layouts_compose_generically(outer: str, inner: str) -> None:
    composed = parse(outer).compose(parse(inner))
    assert is_generic(composed)
    assert values(composed) == [parse(outer)(index) for index in values(parse(inner))]


@pytest.mark.rule("L-35")
def test_a_specialised_result_reports_its_own_span() -> None:
    assert parse("8:3").compose(parse("2:1")).codomain_size == 4
    assert parse("5:1").compose(Permutation([1, 0], 2)).codomain_size == 5


@pytest.mark.rule("L-36")
def test_generic_results_stream_through_a_flat_chain() -> None:
    outer, middle = parse("(2,2):(1,3)"), Swizzle(Shape(4), high)
    composed = outer.compose(middle.compose(reverse))
    assert is_generic(composed)
    assert composed.shape is reverse.shape
    assert composed.codomain_size == outer.codomain_size
    assert values(composed) == [outer(middle(reverse(q))) for q in range(4)]
    assert values(composed) == values(outer.compose(middle).compose(reverse))
    assert "Swizzle" in repr(composed)


@pytest.mark.rule("L-36")
def test_harmless_identities_vanish() -> None:
    reshaped = reverse.compose(parse("(2,2):(1,2)"))
    assert is_generic(reshaped)
    back = reshaped.compose(parse("4:1"))
    assert back.shape == Shape(4)
    assert back.compose(parse("4:1")) is back
    again = reshaped.compose(Swizzle(Shape(4)))
    assert again is reverse


@pytest.mark.rule("L-36")
@pytest.mark.parametrize(
    ("outer", "inner", "is_injective"),
    [
        ("(3,2):(2,3)", Swizzle(Shape(4)), None),
        ("(2,2):(1,3)", reverse, True),
        ("(2,2):(1,1)", reverse, None),
        ("(4,4):(1,5)", parse("(4,4):(4,0)"), False),
        ("(4,4):(1,5)", parse("(4,2):(2,2)"), False),
        ("(4,4):(1,5)", parse("(2,2,2):(3,5,7)"), None),
    ],
)
def test_injectivity_of_generic_results(
    outer: str, inner: IndexMap, is_injective: bool | None
) -> None:
    composed = parse(outer).compose(inner)
    assert is_generic(composed)
    assert composed.is_injective is is_injective


@pytest.mark.rule("L-37")
def test_permutation() -> None:
    source = [4, 3]
    permutation = Permutation(source, 10)
    source.append(0)
    assert permutation.values == (4, 3)
    assert permutation.shape == Shape(2)
    assert permutation.is_injective is True
    assert values(Permutation(range(1, 3), codomain_size=3)) == [1, 2]
    assert repr(permutation) == "Permutation([4, 3], 10)"


@pytest.mark.rule("L-37")
@pytest.mark.parametrize(
    ("entries", "bound", "error", "message"),
    [
        ({0, 1}, 2, TypeError, "values must be a Sequence"),
        (iter([0]), None, TypeError, "values must be a Sequence"),
        ([], None, ValueError, "at least one entry"),
        ([0, True], None, TypeError, r"values\[1\] must be an integer, got bool"),
        ([0.0], 0, TypeError, r"values\[0\] must be an integer"),
        ([-1], None, TypeError, "codomain_size must be an integer"),
        ([-1], True, TypeError, "codomain_size must be an integer, got bool"),
        ([-1], 0, ValueError, "must be positive"),
        ([5, -1, -1], 2, ValueError, "non-negative"),
        ([5, 5], 2, ValueError, "smaller than codomain_size"),
        ([1, 1], 2, ValueError, "pairwise distinct"),
    ],
)
def test_refused_permutations(
    entries: Any, bound: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Permutation(entries, bound)


@pytest.mark.rule("L-37")
def test_both_arguments_are_required() -> None:
    with pytest.raises(TypeError):
        Permutation([0])  # type: ignore[call-arg]


@pytest.mark.rule("L-38")
def test_stage() -> None:
    stage = SwizzleStage(2, base=0, shift=-2)
    assert repr(stage) == "SwizzleStage(bits=2, base=0, shift=-2)"
    assert {stage: 1}[SwizzleStage(2, 0, -2)] == 1
    assert stage != SwizzleStage(2, 0, 2)
    assert Swizzle(Shape(16), SwizzleStage(2, 0, 2))(0b1101) == 0b1110
    assert Swizzle(Shape(16), stage)(0b1101) == 0b1001
    twice = Swizzle(Shape(16), stage, stage)
    assert values(twice) == [*range(16)]


@pytest.mark.rule("L-38")
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.0, 0, 1), TypeError, "bits must be an integer, got float"),
        ((0, True, 0), TypeError, "base must be an integer, got bool"),
        ((0, -1, None), TypeError, "shift must be an integer"),
        ((0, -1, 0), ValueError, "bits must be positive"),
        ((1, -1, 0), ValueError, "base must be non-negative"),
        ((1, 0, 0), ValueError, "shift must be non-zero"),
        ((2, 0, -1), ValueError, "must not overlap"),
    ],
)
def test_refused_stages(
    arguments: tuple[Any, Any, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SwizzleStage(*arguments)


@pytest.mark.rule("L-39")
def test_swizzle() -> None:
    assert Swizzle(Shape(8), high, low)(4) == 6
    assert Swizzle(Shape(8), low, high)(4) == 7
    doubled = Swizzle(Shape(8), high, high)
    assert doubled.stages == (high, high)
    assert doubled.codomain_size == 8
    assert doubled.is_injective is True
    assert values(Swizzle(Shape())) == values(Swizzle(Shape(1))) == [0]
    assert repr(doubled) == f"Swizzle(Shape(8), {high!r}, {high!r})"


@pytest.mark.rule("L-39")
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((), TypeError, "shape must be a Shape"),
        ((8, 1), TypeError, "shape must be a Shape, got int"),
        ((Shape(6), (1, 0, 1)), TypeError, "every stage must be a SwizzleStage, got tuple"),
        ((Shape(6), SwizzleStage(9, 9, 9)), ValueError, "power of two, got 6"),
        ((Shape(8), SwizzleStage(1, 1, 2)), ValueError, "exceed the domain bit width"),
        ((Shape(8), SwizzleStage(1, 1, -2)), ValueError, "exceed the domain bit width"),
    ],
)
def test_refused_swizzles(arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Swizzle(*arguments)


@pytest.mark.rule("L-40")
def test_product() -> None:
    both = Product(Permutation([4, 3], 10), Permutation([2, 9], 15))
    assert both.shape == Shape(2, 2)
    assert both.target_shape == Shape(10, 15)
    assert both.codomain_size == 150
    assert values(both) == [24, 23, 94, 93]
    nested = Product(both, parse("(2,(3)):(1,(2))"), Layout.empty())
    assert nested.shape == Shape([2, 2], [2, [3]], [])
    assert nested.target_shape == Shape([10, 15], 6, 1)
    assert nested.children[0] is both
    assert nested(((1, 0), (1, (2,)), ())) == 23 + 150 * 5
    assert repr(both).startswith("Product(Permutation([4, 3], 10), ")


@pytest.mark.rule("L-40")
def test_injectivity_of_products() -> None:
    unknown = parse("(3,2):(2,3)").compose(Swizzle(Shape(4)))
    assert Product(reverse, parse("2:0")).is_injective is False
    assert Product(unknown, parse("2:0")).is_injective is False
    assert Product(unknown, reverse).is_injective is None
    assert Product(reverse, reverse).is_injective is True


@pytest.mark.rule("L-40")
def test_refused_products() -> None:
    for children in ((), (3,), (reverse,)):
        with pytest.raises(ValueError, match="at least two"):
            Product(*children)
    with pytest.raises(TypeError, match="every child must be an IndexMap, got Stride"):
        Product(reverse, Stride(1))  # type: ignore[arg-type]


@pytest.mark.rule("L-36")
def test_the_generic_class_is_not_exported() -> None:
    generic = type(parse("(2,2):(1,3)").compose(parse("4:1")))
    assert generic.__name__ not in strideweave.layout.__all__
