"""Every public view: layouts, sharing and refusals."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Layout, Node, Shape, Stride, Tensor, Tree

Ramp = Callable[..., Tensor]
N = Node.id

VIEWS: dict[str, tuple[str, Callable[[Tensor], Tensor], str]] = {
    # name: source layout, call, layout of the view
    "rearrange": ("(2,3):(1,2)", lambda t: sw.rearrange(t, Tree(N(1), 1, N(0))), "(3,1,2):(2,0,1)"),
    "permute": ("(2,3):(1,2)", lambda t: sw.permute(t, 1, 0), "(3,2):(2,1)"),
    "reshape": ("(2,3):(2,4)", lambda t: sw.reshape(t, Shape(3, [2])), "(3,(2)):(2,(6))"),
    "as_strided": (
        "(2,3):(1,4)",
        lambda t: sw.as_strided(t, Shape(3, 2), Stride(2, 1)),
        "(3,2):(4,1)",
    ),
    "broadcast_to": ("(1,3):(1,1)", lambda t: sw.broadcast_to(t, Shape(4, 3)), "(4,3):(0,1)"),
    "unsqueeze": ("(2,3):(1,2)", lambda t: sw.unsqueeze(t, -1), "(2,3,1):(1,2,0)"),
    "squeeze": ("(2,1):(1,9)", lambda t: sw.squeeze(t, 1), "2:1"),
}


@pytest.mark.rule("T-20", "T-22", "T-28")
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_shares_storage_keeps_the_offset_and_is_recorded(ramp: Ramp, name: str) -> None:
    source, call, expected = VIEWS[name]
    tensor = ramp(source, 3)
    view = call(tensor)
    assert str(view.layout) == expected
    assert view is not tensor and type(view) is Tensor
    assert view.carrier is tensor.carrier
    assert view.offset == tensor.offset
    assert view.dtype() is tensor.dtype()
    assert tensor.version == 0


@pytest.mark.rule("T-25", "O-40", "O-53", "A-4")
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_recorded_with_its_source(ramp: Ramp, name: str) -> None:
    source, call, _ = VIEWS[name]
    tensor = ramp(source)
    node = call(tensor).autograd_ctx
    assert node is not None
    assert node._operation_name == name
    assert node._dispatch_carrier_class is tensor.carrier_type()
    assert node.inputs() == (tensor,) and node.input_versions() == (tensor._version_token(),)


@pytest.mark.rule("T-20", "T-9")
@pytest.mark.parametrize("name", VIEWS)
def test_writes_go_both_ways(ramp: Ramp, name: str) -> None:
    source, call, _ = VIEWS[name]
    tensor = ramp(source)
    view = call(tensor)
    view[0] = 70.0
    assert tensor[0] == 70.0
    tensor[0] = 80.0
    assert view[0] == 80.0 and view.version == tensor.version == 2


@pytest.mark.rule("T-44", "A-10")
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_made_without_recording_is_a_leaf(ramp: Ramp, name: str) -> None:
    source, call, _ = VIEWS[name]
    with sw.no_grad():
        assert call(ramp(source)).autograd_ctx is None


@pytest.mark.rule("T-23")
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (sw.rearrange, (3, 4, 5)),
        (sw.rearrange, (3, "a b -> b a")),
        (sw.permute, ([1.0], "x")),
        (sw.reshape, (None, 3)),
        (sw.as_strided, (3, 4, 5)),
        (sw.broadcast_to, (3, 4)),
        (sw.broadcast_in_dim, (3, 4, 5)),
        (sw.unsqueeze, (3, "x")),
        (sw.squeeze, (3, None)),
    ],
)
def test_the_tensor_is_checked_first(
    function: Callable[..., Tensor], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        function(*arguments)


@pytest.mark.rule("T-21", "T-23")
def test_an_operation_by_hand_checks_its_tensor_too(ramp: Ramp) -> None:
    with pytest.raises(TypeError, match="tensor must be a Tensor, got int"):
        ramp("2:1").carrier.dispatch_op("permute").forward(3, 0)
    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        ramp("2:1").carrier.dispatch_op("permute").forward()


@pytest.mark.rule("T-26", "O-42")
@pytest.mark.parametrize("name", VIEWS)
def test_a_released_definition_backed_carrier_refuses_the_dispatch(ramp: Ramp, name: str) -> None:
    source, call, _ = VIEWS[name]
    tensor = ramp(source)
    tensor.carrier.release()
    with pytest.raises(RuntimeError, match="is released"):
        call(tensor)


# rearrange


@pytest.mark.rule("T-28", "T-30")
@pytest.mark.parametrize(
    ("source", "output", "selection", "expected"),
    [
        ("(1,(2,3)):(5,(7,14))", Tree(N(1), N(0)), Tree(1, 1), "((2,3),1):((7,14),5)"),
        ("(2,3):(1,2)", Tree(Tree(N(1), N(0))), None, "((3,2)):((2,1))"),
        ("(2,1,3):(1,99,2)", Tree(N(2), N(0)), None, "(3,2):(2,1)"),
    ],
)
def test_rearrange_by_trees(
    ramp: Ramp, source: str, output: Tree, selection: Tree | None, expected: str
) -> None:
    tensor = ramp(source)
    view = sw.rearrange(tensor, output, selection)
    assert view.layout == Layout.rearrange(tensor.layout, output, selection)
    assert str(view.layout) == expected


@pytest.mark.rule("T-30")
def test_rearrange_by_a_description(ramp: Ramp) -> None:
    assert str(sw.rearrange(ramp("(2,3):(1,2)"), "a b -> b 1 a").layout) == "(3,1,2):(2,0,1)"


@pytest.mark.rule("T-30", "T-23")
@pytest.mark.parametrize(
    ("output", "selection", "error", "text"),
    [
        ("a b -> b a", Tree(1, 1), TypeError, "do not accept an explicit selection"),
        ([N(0)], None, TypeError, "output must be a Tree"),
        (Tree(N(0)), [1], TypeError, "selection must be a Tree or None"),
        (Tree(N(0), N(1)), Tree(1), ValueError, "layout and tree profile do not match"),
        (Tree(N(0), N(2)), None, ValueError, "rearrange id is out of range"),
        (Tree(N(0), N(0)), None, ValueError, "ids must not be duplicated"),
        (Tree(N(0)), None, ValueError, "must include every extracted layout"),
        ("a b -> a c", None, ValueError, "c"),
        ("a b -> b", None, ValueError, "a"),
    ],
)
def test_rearrange_refusals(
    ramp: Ramp, output: Any, selection: Any, error: type[Exception], text: str
) -> None:
    tensor = ramp("(2,3):(1,2)")
    with pytest.raises(error, match=text):
        sw.rearrange(tensor, output, selection)
    assert tensor.autograd_ctx is None and tensor.version == 0


@pytest.mark.rule("T-23", "T-30")
def test_a_bad_description_is_reported_before_the_tensor() -> None:
    with pytest.raises(ValueError):
        sw.rearrange(3, "a b ->->")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="explicit selection"):
        sw.rearrange(3, "a", Tree(1))  # type: ignore[call-overload]


# permute


@pytest.mark.rule("T-31", "T-27")
def test_permute_moves_nested_modes_whole(ramp: Ramp) -> None:
    tensor = ramp("((2,3),4,(5)):((1,2),6,(24))")
    assert str(sw.permute(tensor, 1, 0, 2).layout) == "(4,(2,3),(5)):(6,(1,2),(24))"
    assert sw.permute(tensor, [1, 0, 2]).layout == sw.permute(tensor, 1, 0, 2).layout
    assert str(sw.permute(ramp("():()")).layout) == "():()"
    assert str(sw.permute(ramp("():()"), []).layout) == "():()"


@pytest.mark.rule("T-24", "T-31")
@pytest.mark.parametrize(
    ("order", "error", "text"),
    [
        ((0,), ValueError, "must reorder every layout mode"),
        ((0, 0), ValueError, "must reorder every layout mode"),
        ((0, -1), ValueError, "must reorder every layout mode"),
        ((0, True), TypeError, "Permutation dimensions must be integers"),
        ((0, 1.0), TypeError, "Permutation dimensions must be integers"),
    ],
)
def test_permute_refusals(
    ramp: Ramp, order: tuple[Any, ...], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sw.permute(ramp("(2,3):(1,2)"), *order)


# reshape


@pytest.mark.rule("T-32")
@pytest.mark.parametrize(
    ("source", "shape", "expected"),
    [
        ("(2,3):(2,4)", Shape(3, [2]), "(3,(2)):(2,(6))"),
        ("(2,3):(1,2)", Shape(1, 6, 1), "(1,6,1):(1,1,6)"),
        ("(2,3):(1,2)", Shape([2, [3]]), "(2,(3)):(1,(2))"),
        ("(2,1,3):(5,99,10)", Shape(6), "6:5"),
        ("(2,3):(0,0)", Shape(6), "6:0"),
        ("(1,1):(7,3)", Shape(), "():()"),
        ("(1,1):(7,3)", Shape(1, 1, 1), "(1,1,1):(7,7,7)"),
        ("():()", Shape(1, [1]), "(1,(1)):(1,(1))"),
    ],
)
def test_reshape_chains_strides_from_the_even_step(
    ramp: Ramp, source: str, shape: Shape, expected: str
) -> None:
    view = sw.reshape(ramp(source), shape)
    assert str(view.layout) == expected
    assert view.shape == shape


@pytest.mark.rule("T-32")
@pytest.mark.parametrize(
    ("source", "shape", "error", "text"),
    [
        ("(2,3):(1,4)", (2, 3), TypeError, r"shape must be a Shape such as Shape\(2, 3\), got"),
        ("(2,3):(1,4)", 6, TypeError, "shape must be a Shape"),
        ("(2,3):(1,4)", Shape(5), ValueError, "same logical size"),
        ("(2,3):(1,4)", Shape(2, 3), ValueError, "coalesces to one logical leaf"),
        ("(2,3):(3,1)", Shape(6), ValueError, "coalesces to one logical leaf"),
        ("(2,3):(0,1)", Shape(6), ValueError, "coalesces to one logical leaf"),
    ],
)
def test_reshape_refusals(
    ramp: Ramp, source: str, shape: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sw.reshape(ramp(source), shape)


@pytest.mark.rule("T-32")
def test_a_refused_reshape_works_after_its_remedies(ramp: Ramp) -> None:
    rows = ramp("(2,3):(3,1)")
    with pytest.raises(ValueError, match=r"concat\(\[tensor\], 0\) or tensor \+ 0"):
        sw.reshape(rows, Shape(6))
    for remedied in (sw.concat([rows], 0), rows + 0):
        flat = sw.reshape(remedied, Shape(6))
        assert flat.tolist() == [rows[ordinal] for ordinal in range(6)]


# as_strided


@pytest.mark.rule("T-33", "T-34")
@pytest.mark.parametrize(
    ("source", "shape", "stride", "expected"),
    [
        ("(5,4):(4,1)", Shape(2, 2), Stride(1, 2), "(2,2):(4,8)"),
        ("(2,3):(1,4)", Shape(3, 2), Stride(2, 1), "(3,2):(4,1)"),
        ("(2,3):(1,4)", Shape(2, [3]), Stride(1, [2]), "(2,(3)):(1,(4))"),
        ("(4,4):(10,1)", Shape(2, 2), Stride(2, 8), "(2,2):(20,2)"),
        ("(4,4):(10,1)", Shape(2, 1), Stride(5, 3), "(2,1):(11,0)"),
        ("8:3", Shape(2, 1), Stride(4, 5), "(2,1):(12,15)"),
        ("(2,3):(1,4)", Shape(), Stride(), "():()"),
        ("():()", Shape(1), Stride(4), "1:0"),
        ("(2,2):(0,1)", Shape(2), Stride(2), "2:1"),
    ],
)
def test_as_strided_composes_the_selector_with_the_layout(
    ramp: Ramp,
    read: Callable[[Tensor], list[float]],
    source: str,
    shape: Shape,
    stride: Stride,
    expected: str,
) -> None:
    tensor = ramp(source)
    view = sw.as_strided(tensor, shape, stride)
    selector = Layout(shape, stride)
    assert str(view.layout) == expected
    assert read(view) == [tensor[selector(q)] for q in range(selector.size)]


@pytest.mark.rule("T-33", "T-34")
@pytest.mark.parametrize(
    ("source", "shape", "stride", "error", "text"),
    [
        ("(2,3):(1,4)", (2,), Stride(1), TypeError, "shape must be a Shape"),
        ("(2,3):(1,4)", Shape(2), 1, TypeError, "stride must be a Stride"),
        ("(2,3):(1,4)", Shape(2, 2), Stride(1), ValueError, "do not match in Structure"),
        ("(2,3):(1,4)", Shape(2, 2), Stride(1, 1), ValueError, "mapping must be injective"),
        ("(2,3):(1,4)", Shape(2), Stride(6), ValueError, "exceeds the input logical coordinate"),
        ("(2,3):(1,4)", Shape(6), Stride(1), ValueError, "composition is not representable"),
        ("(2,2):(0,1)", Shape(2), Stride(1), ValueError, "composed placement must be injective"),
    ],
)
def test_as_strided_refusals(
    ramp: Ramp, source: str, shape: Any, stride: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sw.as_strided(ramp(source), shape, stride)


# broadcast_to and broadcast_in_dim


@pytest.mark.rule("T-35", "T-28")
def test_broadcast_to_widens_leaves_at_any_depth(
    ramp: Ramp, read: Callable[[Tensor], list[float]]
) -> None:
    view = sw.broadcast_to(ramp("(2,(1,3)):(1,(2,2))"), Shape(2, [4, 3]))
    assert str(view.layout) == "(2,(4,3)):(1,(0,2))"
    assert read(view) == [0.0, 1.0] * 4 + [2.0, 3.0] * 4 + [4.0, 5.0] * 4


@pytest.mark.rule("T-35")
@pytest.mark.parametrize(
    ("target", "error", "text"),
    [
        ((4, 3), TypeError, r"target must be a Shape such as Shape\(2, 3\)"),
        (Shape(3), ValueError, "same shape profile"),
        (Shape(4, [3]), ValueError, "same shape profile"),
        (Shape(4, 4), ValueError, "can only widen an extent-1 leaf"),
    ],
)
def test_broadcast_to_refusals(ramp: Ramp, target: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        sw.broadcast_to(ramp("(1,3):(1,1)"), target)


@pytest.mark.rule("T-36", "T-25")
def test_broadcast_in_dim_inserts_then_widens(ramp: Ramp) -> None:
    view = sw.broadcast_in_dim(ramp("2:1"), Shape(3, 4, 2, 5), (2,))
    assert str(view.layout) == "(3,4,2,5):(0,0,1,0)"
    names, node = [], view.autograd_ctx
    while node is not None:
        names.append(node._operation_name)
        node = node.inputs()[0].autograd_ctx
    assert names == ["broadcast_to", "unsqueeze", "unsqueeze", "unsqueeze"]


@pytest.mark.rule("T-36")
def test_broadcast_in_dim_of_nested_modes(ramp: Ramp) -> None:
    tensor = ramp("((1,3),2):((1,1),3)")
    view = sw.broadcast_in_dim(tensor, Shape(5, [4, 3], 2), iter([1, 2]))
    assert str(view.layout) == "(5,(4,3),2):(0,(0,1),3)"
    assert str(sw.broadcast_in_dim(ramp("():()"), Shape(2, 2), []).layout) == "(2,2):(0,0)"


@pytest.mark.rule("T-24", "T-36")
@pytest.mark.parametrize(
    ("target", "positions", "error", "text"),
    [
        ((3, 2), "x", TypeError, "target must be a Shape"),
        (Shape(3, 2), 1, TypeError, "must contain integers"),
        (Shape(3, 2), (0, "1"), TypeError, "must contain integers"),
        (Shape(3, 2), (0, True), TypeError, "must contain integers"),
        (Shape(3, 2), (0,), ValueError, "one position per source mode"),
        (Shape(3, 2), (5, 6, 7), ValueError, "one position per source mode"),
        (Shape(3, 2), (1, 2), ValueError, "out-of-range position"),
        (Shape(3, 2), (-1, 0), ValueError, "out-of-range position"),
        (Shape(3, 2), (1, 0), ValueError, "strictly increasing"),
        (Shape(3, 2), (1, 1), ValueError, "strictly increasing"),
        (Shape(3, 2), (0, 1), ValueError, "can only widen an extent-1 leaf"),
        (Shape(2, [2], 3), (0, 2), ValueError, "same shape profile"),
    ],
)
def test_broadcast_in_dim_refusals(
    ramp: Ramp, target: Any, positions: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        sw.broadcast_in_dim(ramp("(2,3):(1,2)"), target, positions)


# unsqueeze and squeeze


@pytest.mark.rule("T-37", "T-27")
@pytest.mark.parametrize(
    ("source", "dim", "expected"),
    [
        ("(2,3):(1,2)", 0, "(1,2,3):(0,1,2)"),
        ("(2,3):(1,2)", 1, "(2,1,3):(1,0,2)"),
        ("(2,3):(1,2)", 2, "(2,3,1):(1,2,0)"),
        ("(2,3):(1,2)", -1, "(2,3,1):(1,2,0)"),
        ("(2,3):(1,2)", -3, "(1,2,3):(0,1,2)"),
        ("((2),(3,4)):((1),(2,6))", 1, "((2),1,(3,4)):((1),0,(2,6))"),
        ("():()", 0, "1:0"),
        ("():()", -1, "1:0"),
    ],
)
def test_unsqueeze_inserts_a_mode(ramp: Ramp, source: str, dim: int, expected: str) -> None:
    assert str(sw.unsqueeze(ramp(source), dim).layout) == expected


@pytest.mark.rule("T-38", "T-27")
@pytest.mark.parametrize(
    ("source", "dim", "expected"),
    [
        ("(1,2,3):(9,1,2)", 0, "(2,3):(1,2)"),
        ("(2,1,(3,4)):(1,0,(2,6))", -2, "(2,(3,4)):(1,(2,6))"),
        ("((2),1):((1),2)", 1, "((2)):((1))"),
        ("1:5", 0, "():()"),
    ],
)
def test_squeeze_removes_a_mode(ramp: Ramp, source: str, dim: int, expected: str) -> None:
    assert str(sw.squeeze(ramp(source), dim).layout) == expected


@pytest.mark.rule("T-38")
@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_squeeze_undoes_unsqueeze(ramp: Ramp, dim: int) -> None:
    tensor = ramp("((2),(3,1)):((1),(2,6))")
    assert sw.squeeze(sw.unsqueeze(tensor, dim), dim).layout == tensor.layout


@pytest.mark.rule("T-24", "T-37", "T-38")
@pytest.mark.parametrize("function", [sw.squeeze, sw.unsqueeze])
@pytest.mark.parametrize("dim", [None, 1.0, "0", True, [0]])
def test_dim_must_be_an_integer(
    ramp: Ramp, function: Callable[[Tensor, Any], Tensor], dim: object
) -> None:
    with pytest.raises(TypeError, match="dim must be an integer"):
        function(ramp("(1,1):(0,0)"), dim)


@pytest.mark.rule("T-37", "T-38")
@pytest.mark.parametrize(
    ("function", "dim"), [(sw.unsqueeze, 3), (sw.unsqueeze, -4), (sw.squeeze, 2), (sw.squeeze, -3)]
)
def test_dim_must_be_in_range(
    ramp: Ramp, function: Callable[[Tensor, int], Tensor], dim: int
) -> None:
    with pytest.raises(ValueError, match="out of range"):
        function(ramp("(1,1):(0,0)"), dim)


@pytest.mark.rule("T-38")
@pytest.mark.parametrize(("source", "dim"), [("(2,3):(1,2)", 0), ("((1),2):((1),1)", 0)])
def test_squeeze_takes_an_extent_one_leaf_only(ramp: Ramp, source: str, dim: int) -> None:
    with pytest.raises(ValueError, match="top-level extent-one leaf"):
        sw.squeeze(ramp(source), dim)
