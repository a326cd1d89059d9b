"""Construction and members of Shape and Stride."""

import array
from collections.abc import Callable, Iterator
from operator import index

import pytest

from strideweave.layout import Shape, Stride


def numbers() -> Iterator[int]:
    yield 2
    yield 3


@pytest.mark.rule("L-4")
@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ((), ()),
        ((5,), (5,)),
        ((True,), (1,)),
        (([5],), (5,)),
        (([[5]],), ((5,),)),
        ((2, [3, 4]), (2, (3, 4))),
        (([2, (3, 4)],), (2, (3, 4))),
        ((numbers(),), (2, 3)),
        (({2: "a", 3: "b"},), (2, 3)),
        ((2, {3: "a"}), (2, (3,))),
        ((range(1, 4),), (1, 2, 3)),
        ((array.array("i", [2, 3]),), (2, 3)),
        ((2, Shape(3)), (2, 3)),
        ((2, Shape(3, 4)), (2, (3, 4))),
        ((2, Shape()), (2, ())),
        ((Shape(2, [3, 4]),), (2, (3, 4))),
        ((Shape(Shape(2, 3), 4),), ((2, 3), 4)),
        ((2, ()), (2, ())),
        ((2, [[[3]]]), (2, (((3,),),))),
    ],
)
def test_shape_reads_its_items(items: tuple[object, ...], expected: tuple[object, ...]) -> None:
    assert Shape(*items).top_level == expected


@pytest.mark.rule("L-4")
def test_a_stride_item_nests_like_a_shape_item_in_a_shape() -> None:
    assert Stride(1, Stride(3)).top_level == (1, 3)
    assert Stride(1, Stride(3, 4)).top_level == (1, (3, 4))
    assert Shape(Stride(2, 3)).top_level == (2, 3)
    assert Stride(0).top_level == (0,)


@pytest.mark.rule("L-4")
def test_inputs_are_copied() -> None:
    inner = [3, 4]
    shape = Shape(2, inner)
    inner.append(5)
    assert shape == Shape(2, (3, 4))


@pytest.mark.rule("L-4")
@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: Shape(0), ValueError, "must not be less than 1, got 0"),
        (lambda: Shape(2, [3, -1]), ValueError, "must not be less than 1, got -1"),
        (lambda: Shape(False), ValueError, "must not be less than 1"),
        (lambda: Stride(2, [-3]), ValueError, "Stride value must not be negative, got -3"),
        (lambda: Shape(Stride(0, 1)), ValueError, "must not be less than 1"),
        (lambda: Shape(2, None), ValueError, "got NoneType: None"),
        (lambda: Shape(2, 1.5), ValueError, "got float: 1.5"),
        (lambda: Shape([1.5]), ValueError, "got float: 1.5"),
        (lambda: Shape(2, numbers()), ValueError, "got generator"),
        (lambda: Shape(None), TypeError, "got NoneType: None"),
        (lambda: Shape(1.5), TypeError, "got float: 1.5"),
        (lambda: Shape("23"), ValueError, "got str: '23'"),
        (lambda: Shape(b"23"), ValueError, "got bytes"),
        (lambda: Shape(2, "3"), ValueError, "got str: '3'"),
        (lambda: Shape([2, [b"3"]]), ValueError, "got bytes"),
    ],
)
def test_refused_items(build: Callable[[], object], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        build()


@pytest.mark.rule("L-5")
def test_indexing_gives_modes_as_values() -> None:
    shape = Shape(2, [3, [4]], [5])
    assert shape[0] == Shape(2)
    assert shape[1] == Shape(3, [4])
    assert shape[2] == Shape(5)
    assert shape[-3] == Shape(2)
    assert shape[1:] == Shape([3, [4]], [5])
    assert shape[3:] == Shape()
    assert shape[::-2] == Shape([5], 2)
    assert [*shape] == [Shape(2), Shape(3, [4]), Shape(5)]
    assert len(shape) == 3
    with pytest.raises(IndexError):
        shape[3]
    assert Stride(1, [2, 6])[1] == Stride(2, 6)


@pytest.mark.rule("L-5")
@pytest.mark.parametrize(
    ("shape", "depth", "size", "is_int"),
    [
        (Shape(), 1, 1, True),
        (Shape(7), 1, 7, True),
        (Shape([[7]]), 2, 7, False),
        (Shape(2, 3), 1, 6, False),
        (Shape(2, [3, 4]), 2, 24, False),
        (Shape([[]]), 2, 1, False),
    ],
)
def test_members(shape: Shape, depth: int, size: int, is_int: bool) -> None:
    assert (shape.depth, shape.size, shape.logical_size, shape.is_int) == (
        depth,
        size,
        size,
        is_int,
    )


@pytest.mark.rule("L-5")
def test_levels_carry_their_logical_size() -> None:
    level = Shape(2, [3, 4]).top_level
    nested = level[1]
    assert level.logical_size == 24
    assert not isinstance(nested, int)
    assert nested.logical_size == 12
    assert isinstance(Stride(1, [2, 6]).top_level[1], tuple)


@pytest.mark.rule("L-5")
def test_int_gives_the_only_leaf() -> None:
    assert int(Shape(7)) == 7
    assert int(Stride(0)) == 0
    for value in (Shape(), Shape(2, 3), Stride([[3]])):
        with pytest.raises(ValueError, match="not a single integer"):
            int(value)


@pytest.mark.rule("L-5")
def test_a_single_leaf_is_an_index() -> None:
    assert index(Stride(0)) == 0
    assert [list(range(extent)) for extent in Shape(2, 3)] == [[0, 1], [0, 1, 2]]
    assert "abc"[Shape(2)] == "c"
    for value in (Shape(), Shape(2, 3), Stride([[3]])):
        with pytest.raises(TypeError, match="not a single integer"):
            index(value)


@pytest.mark.rule("L-5")
def test_concat_splices_and_append_nests() -> None:
    assert Shape.concat(Shape(2), Shape(3, [4])) == Shape(2, 3, [4])
    assert Shape.append(Shape(2), Shape(3, 4)) == Shape(2, [3, 4])
    assert Shape.append(Shape(2), Shape(3)) == Shape(2, 3)
    assert Shape.append(Shape(2), Shape()) == Shape(2)
    assert Stride.append(Stride(1), Stride([[2]])) == Stride(1, [[2]])
    with pytest.raises(TypeError, match="b must be a Shape, got Stride"):
        Shape.concat(Shape(2), Stride(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a must be a Stride, got int"):
        Stride.append(3, Stride(3))  # type: ignore[arg-type]


@pytest.mark.rule("L-6")
def test_equality_follows_the_tree() -> None:
    assert Shape(2) == Shape([2])
    assert Shape([[2]]) != Shape(2)
    assert Shape(2, 3) != Shape(3, 2)
    assert Shape(2, 3) != Stride(2, 3)
    assert Shape(2, 3) != (2, 3)
    assert Shape(2) != 2
    assert Stride(1, [2]) == Stride(1, (2,))


@pytest.mark.rule("L-6")
def test_hash_follows_equality() -> None:
    assert {Shape(2, [3]): "found"}[Shape([2, (3,)])] == "found"
    assert len({Stride(1), Stride([1]), Stride([[1]])}) == 2


@pytest.mark.rule("L-4")
@pytest.mark.parametrize("hierarchy", [Shape, Stride])
def test_nesting_ends_where_recursion_does(hierarchy: type[Shape] | type[Stride]) -> None:
    nested: object = 1
    for _ in range(10_000):
        nested = [nested]
    with pytest.raises(ValueError, match=f"{hierarchy.__name__} items are nested too deeply"):
        hierarchy(2, nested)
