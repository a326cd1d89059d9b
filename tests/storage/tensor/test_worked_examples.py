"""The worked examples of the Tensor contract."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Generic, Layout, Node, Permutation, Shape, Stride, Tensor, Tree

N = Node.id


def mk(layout: str, offset: int = 0) -> Tensor:
    """Build a Tensor in which every slot holds its own number."""
    placement = Layout.parse(layout)
    cells = [float(slot) for slot in range(offset + placement.cosize)]
    return Tensor(Generic(cells, dtype=DType.Float32), offset, placement)


def cotangent(layout: Layout, values: Sequence[float]) -> Tensor:
    cells = [0.0] * layout.cosize
    for ordinal, value in enumerate(values):
        cells[layout(ordinal)] = value
    return Tensor(Generic(cells, dtype=DType.Float32), 0, layout)


def read(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def gradient(
    source: Tensor, view: Tensor, layout: str | None, values: Sequence[float]
) -> tuple[str, list[Any]]:
    """Give layout and values of the source's gradient."""
    view.backward(cotangent(view.layout if layout is None else Layout.parse(layout), values))
    assert source.grad is not None
    return str(source.grad.layout), read(source.grad)


A, C, R = "(5,10):(1,5)", "(2,3):(1,2)", "():()"
NESTED, B = "(2,(3,4)):(1,(10,100))", "(10,(2,3)):(1,(10,20))"


@pytest.mark.rule("T-4")
def test_construction() -> None:
    layout = Layout(Shape([2, 2]), Stride([1, 10]))
    with pytest.raises(ValueError, match="Tensor storage exceeds carrier size"):
        Tensor(Generic(range(11)), 0, layout)
    assert Tensor(Generic(range(12)), 0, layout)[1, 1] == 11
    with pytest.raises(ValueError, match="Tensor offset must be non-negative"):
        Tensor(Generic([1]), -1, Layout.leaf(1, 1))
    with pytest.raises(TypeError, match="placement must be a Layout"):
        Tensor(Generic([0.0] * 2), 0, Permutation([1, 0], 2))  # type: ignore[arg-type]


@pytest.mark.rule("T-10", "T-12")
def test_coordinates() -> None:
    nested, scalar = mk(NESTED, 7), mk(R)
    values = [nested[1, [2, 3]], nested[1, 11], nested[23], scalar[()], scalar[0]]
    assert values == [328.0, 328.0, 328.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="Key is not in domain of shape"):
        mk(A, 3)[-1, 2]
    with pytest.raises(TypeError, match="Tensor indices must be integers"):
        mk(A, 3)["x"]


@pytest.mark.rule("T-29")
def test_slicing() -> None:
    a, b = mk(A, 3), mk(B)
    views = [a[2, 2:5], a[2, 1:9:2], a[1:3, -3:], b[0, :], b[:, 4]]
    assert [(str(view.layout), view.offset) for view in views] == [
        ("3:5", 15),
        ("4:10", 10),
        ("(2,3):(1,5)", 39),
        ("((2,3)):((10,20))", 0),
        ("10:1", 40),
    ]
    with pytest.raises(ValueError, match="divisible by its step"):
        a[:, 1:6:2]
    with pytest.raises(ValueError, match="exactly one key per top-level mode"):
        a[2:5]
    with pytest.raises(ValueError, match="whole slices are supported for non-leaf"):
        b[:, 0:6]


@pytest.mark.rule("T-30", "T-31", "T-32", "T-33", "T-34", "T-35", "T-36", "T-37")
@pytest.mark.parametrize(
    ("source", "view", "expected"),
    [
        (C, lambda t: sw.rearrange(t, "a b -> b 1 a"), "(3,1,2):(2,0,1)"),
        (
            "((2,3),4,5):((1,2),6,24)",
            lambda t: sw.permute(t, 1, 0, 2),
            "(4,(2,3),5):(6,(1,2),24)",
        ),
        ("(2,3):(2,4)", lambda t: sw.reshape(t, Shape([3, [2]])), "(3,(2)):(2,(6))"),
        (C, lambda t: sw.reshape(t, Shape([1, 6, 1])), "(1,6,1):(1,1,6)"),
        (
            "(2,3):(1,4)",
            lambda t: sw.as_strided(t, Shape([3, 2]), Stride([2, 1])),
            "(3,2):(4,1)",
        ),
        (
            "(2,(1,3)):(1,(2,2))",
            lambda t: sw.broadcast_to(t, Shape([2, [4, 3]])),
            "(2,(4,3)):(1,(0,2))",
        ),
        ("2:1", lambda t: sw.broadcast_in_dim(t, Shape([3, 4, 2, 5]), (2,)), "(3,4,2,5):(0,0,1,0)"),
        (C, lambda t: sw.unsqueeze(t, -1), "(2,3,1):(1,2,0)"),
        (C, lambda t: sw.unsqueeze(t, 0), "(1,2,3):(0,1,2)"),
    ],
)
def test_view_layouts(source: str, view: Callable[[Tensor], Tensor], expected: str) -> None:
    assert str(view(mk(source)).layout) == expected


@pytest.mark.rule("T-33")
def test_as_strided_values() -> None:
    view = sw.as_strided(mk("(5,4):(4,1)"), Shape([2, 2]), Stride([1, 2]))
    assert read(view) == [0.0, 4.0, 8.0, 12.0]


@pytest.mark.rule("T-30", "T-32", "T-34", "T-33", "T-36", "T-38")
@pytest.mark.parametrize(
    ("source", "view", "error", "text"),
    [
        (
            C,
            lambda t: sw.rearrange(t, "a b -> b a", Tree(1, 1)),  # type: ignore[call-overload]
            TypeError,
            "do not accept an explicit selection",
        ),
        (
            "(2,3):(1,4)",
            lambda t: sw.reshape(t, Shape([2, 3])),
            ValueError,
            "coalesces to one logical leaf",
        ),
        (
            "(2,3):(1,4)",
            lambda t: sw.as_strided(t, Shape(6), Stride(1)),
            ValueError,
            "composition is not representable",
        ),
        (
            "(2,2):(0,1)",
            lambda t: sw.as_strided(t, Shape(2), Stride(1)),
            ValueError,
            "composed placement must be injective",
        ),
        (
            C,
            lambda t: sw.broadcast_in_dim(t, Shape([3, 2]), (1, 0)),
            ValueError,
            "strictly increasing",
        ),
        (C, lambda t: sw.squeeze(t, 0), ValueError, "top-level extent-one leaf"),
    ],
)
def test_refused_views(
    source: str, view: Callable[[Tensor], Tensor], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        view(mk(source))


@pytest.mark.rule("T-39", "T-40", "A-19")
@pytest.mark.parametrize(
    ("source", "view", "layout", "values", "expected"),
    [
        (
            "(2,3):(1,2)",
            lambda t: t[:, 1],
            None,
            [5.0, 7.0],
            ("(2,3):(1,2)", [0.0, 0.0, 5.0, 7.0, 0.0, 0.0]),
        ),
        (
            "4:1",
            lambda t: sw.as_strided(t, Shape(2), Stride(2)),
            None,
            [5.0, 7.0],
            ("4:1", [5.0, 0.0, 7.0, 0.0]),
        ),
        (
            "(1,3):(1,1)",
            lambda t: sw.broadcast_to(t, Shape([4, 3])),
            "(4,3):(3,1)",
            [float(value) for value in range(12)],
            ("(1,3):(1,1)", [6.0, 22.0, 38.0]),
        ),
        (
            "(4,2):(0,1)",
            lambda t: t[1, :],
            None,
            [1.0, 2.0],
            ("(4,2):(1,4)", [1.0] * 4 + [2.0] * 4),
        ),
        (
            "(2,1,3):(1,99,2)",
            lambda t: sw.rearrange(t, Tree(N(2), N(0))),
            None,
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            ("(2,1,3):(1,99,2)", [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]),
        ),
    ],
)
def test_gradients(
    source: str,
    view: Callable[[Tensor], Tensor],
    layout: str | None,
    values: list[float],
    expected: tuple[str, list[float]],
) -> None:
    tensor = mk(source)
    assert gradient(tensor, view(tensor), layout, values) == expected


@pytest.mark.rule("T-40", "A-12", "A-13")
def test_refused_cotangents() -> None:
    tensor = mk(C)
    with pytest.raises(ValueError, match="gradient layout must match tensor layout"):
        gradient(tensor, sw.permute(tensor, 1, 0), "(3,2):(1,3)", [1.0] * 6)
    with pytest.raises(ValueError, match="requires a gradient for non-scalar tensors"):
        mk("(1,1):(1,1)").backward()
