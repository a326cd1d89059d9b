"""Reverse mode through views, by operation and through the graph."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import Layout, Node, Operation, Shape, Stride, Tensor, Tree
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier

Ramp = Callable[..., Tensor]
Filled = Callable[[str, Sequence[float]], Tensor]
Read = Callable[[Tensor], list[float]]
N = Node.id

pytestmark = pytest.mark.usefixtures("host_library")

CASES: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("(4,6):(1,4)", lambda t: t[1, 1:5:2]),
    ("(4,6):(7,30)", lambda t: t[2:4, :]),
    ("((2,2),6):((20,1),3)", lambda t: t[3, 0:6:3]),
    ("((2,2),6):((20,1),3)", lambda t: t[:, 5]),
    ("(3,4):(4,1)", lambda t: sw.as_strided(t, Shape(3, 2), Stride(1, 6))),
    ("(5,4):(9,2)", lambda t: sw.as_strided(t, Shape(2, [2]), Stride(10, [2]))),
    ("(2,1,3):(1,99,2)", lambda t: sw.rearrange(t, Tree(N(2), N(0)))),
    ("(2,(3,2)):(1,(20,4))", lambda t: sw.rearrange(t, Tree(N(2), 1, Tree(N(0), N(1))))),
    ("(2,(3,2)):(1,(20,4))", lambda t: sw.permute(t, 1, 0)),
    ("(2,3):(3,6)", lambda t: sw.reshape(t, Shape(3, [2]))),
    ("(2,3):(1,20)", lambda t: sw.unsqueeze(t, 1)),
    ("(2,1,3):(20,7,1)", lambda t: sw.squeeze(t, 1)),
    ("(1,3):(9,5)", lambda t: sw.broadcast_to(t, Shape(4, 3))),
    ("(2,(1,3)):(10,(9,1))", lambda t: sw.broadcast_to(t, Shape(2, [4, 3]))),
    ("():()", lambda t: sw.broadcast_in_dim(t, Shape(2, 3), ())),
]


def node_of(tensor: Tensor) -> Operation:
    assert tensor.autograd_ctx is not None
    return tensor.autograd_ctx


@pytest.mark.rule("T-39", "T-40", "A-13")
@pytest.mark.parametrize(("source", "call"), CASES)
def test_each_cotangent_value_reaches_the_coordinate_that_was_read(
    ramp: Ramp, filled: Filled, read: Read, source: str, call: Callable[[Tensor], Tensor]
) -> None:
    tensor = ramp(source, 2)
    view = call(tensor)
    layout = view.layout if view.layout.is_injective else canonical_layout(view.shape)
    cotangent = [float(3 + position * position) for position in range(view.size())]
    expected = dict.fromkeys(read(tensor), 0.0)
    for slot, value in zip(read(view), cotangent, strict=True):
        expected[slot] += value  # a ramp names its slots
    view.backward(filled(str(layout), cotangent))
    gradient = tensor.grad
    assert gradient is not None and gradient.layout == tensor.layout
    assert read(gradient) == list(expected.values())


@pytest.mark.rule("T-39")
def test_a_source_gradient_is_fresh_and_detached(ramp: Ramp, filled: Filled) -> None:
    tensor = ramp("(2,3):(1,4)", 5)
    cotangent = filled("3:4", [1.0, 2.0, 3.0])
    (gradient,) = node_of(tensor[1, :]).backward(cotangent)
    assert gradient is not None
    assert type(gradient.carrier) is ArrayCarrier
    assert gradient.carrier is not cotangent.carrier
    assert (gradient.offset, gradient.layout, gradient.autograd_ctx) == (0, tensor.layout, None)
    cells = [gradient.carrier[slot] for slot in range(gradient.carrier.size())]
    assert cells == [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]
    assert tensor.version == 0


@pytest.mark.rule("T-39", "A-19")
def test_a_broadcast_source_gets_its_canonical_layout(
    ramp: Ramp, filled: Filled, read: Read
) -> None:
    tensor = ramp("(4,2):(0,1)")
    (gradient,) = node_of(tensor[1, :]).backward(filled("2:1", [1.0, 2.0]))
    assert gradient is not None and str(gradient.layout) == "(4,2):(1,4)"
    assert read(gradient) == [0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0]


@pytest.mark.rule("T-40", "A-13")
def test_a_structural_view_of_a_broadcast_source_differentiates(
    ramp: Ramp, filled: Filled, read: Read
) -> None:
    tensor = ramp("(4,2):(0,1)")
    view = sw.permute(tensor, 1, 0)
    view.backward(filled("(2,4):(4,1)", [float(value) for value in range(8)]))
    gradient = tensor.grad
    assert gradient is not None and str(gradient.layout) == "(4,2):(1,4)"
    assert read(gradient) == [12.0] * 4 + [16.0] * 4


@pytest.mark.rule("T-39", "A-13")
def test_other_aliasing_has_no_gradient(ramp: Ramp, filled: Filled) -> None:
    tensor = ramp("(4,2):(1,1)")
    view = tensor[:, 0]
    with pytest.raises(ValueError, match="not caused only by stride-zero broadcast modes"):
        view.backward(filled("4:1", [1.0] * 4))
    assert tensor.grad is None


@pytest.mark.rule("T-39")
def test_a_negative_zero_passes_unchanged(filled: Filled, ramp: Ramp) -> None:
    (gradient,) = node_of(sw.permute(ramp("2:1"), 0)).backward(filled("2:1", [-0.0, 1.0]))
    assert gradient is not None and str(gradient[0]) == "-0.0"


@pytest.mark.rule("T-39", "T-36")
def test_broadcast_in_dim_sums_then_removes_the_inserted_modes(
    ramp: Ramp, filled: Filled, read: Read
) -> None:
    tensor = ramp("2:3")
    view = sw.broadcast_in_dim(tensor, Shape(3, 2, 2), [1])
    view.backward(filled("(3,2,2):(1,3,6)", [float(value) for value in range(12)]))
    assert tensor.grad is not None and tensor.grad.layout == tensor.layout
    assert read(tensor.grad) == [0 + 1 + 2 + 6 + 7 + 8, 3 + 4 + 5 + 9 + 10 + 11]


@pytest.mark.rule("T-41")
@pytest.mark.parametrize(("source", "call"), CASES[:-1])
def test_backward_by_hand_takes_a_tensor(
    ramp: Ramp, source: str, call: Callable[[Tensor], Tensor]
) -> None:
    with pytest.raises(TypeError, match="gradient must be a Tensor"):
        node_of(call(ramp(source))).backward(3)


@pytest.mark.rule("T-41")
@pytest.mark.parametrize(
    "call",
    [
        lambda t: t[:, 0:2],
        lambda t: sw.as_strided(t, Shape(2, 2), Stride(1, 2)),
        lambda t: sw.permute(t, 0, 1),
        lambda t: sw.reshape(t, Shape(2, 3)),
        lambda t: sw.squeeze(sw.unsqueeze(t, 0), 0),
        lambda t: sw.unsqueeze(t, 0),
    ],
)
def test_backward_by_hand_takes_the_layout_of_the_view(
    ramp: Ramp, filled: Filled, call: Callable[[Tensor], Tensor]
) -> None:
    view = call(ramp("(2,3):(1,2)"))
    with pytest.raises(ValueError, match="Tensor layouts must match"):
        node_of(view).backward(filled("7:1", []))


@pytest.mark.rule("T-41")
def test_rearrange_backward_by_hand_needs_only_the_shape(
    ramp: Ramp, filled: Filled, read: Read
) -> None:
    tensor = ramp("(2,3):(1,2)")
    node = node_of(sw.rearrange(tensor, Tree(N(1), N(0))))
    with pytest.raises(ValueError, match="gradient shape must match"):
        node.backward(filled("(2,3):(1,2)", []))
    (gradient,) = node.backward(filled("(3,2):(1,3)", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert gradient is not None and gradient.layout == tensor.layout
    assert read(gradient) == [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]


@pytest.mark.rule("T-41")
@pytest.mark.parametrize("layout", ["(4,2):(1,4)", "(4,3):(0,1)", "(3,4):(1,3)"])
def test_broadcast_backward_by_hand_needs_an_injective_layout_of_the_shape(
    ramp: Ramp, filled: Filled, layout: str
) -> None:
    node = node_of(sw.broadcast_to(ramp("(1,3):(1,1)"), Shape(4, 3)))
    text = "Broadcast gradient must have the output shape in an injective layout"
    with pytest.raises(ValueError, match=text):
        node.backward(filled(layout, []))


@pytest.mark.rule("T-40", "A-13")
def test_a_cotangent_in_another_layout_is_refused_by_backward(ramp: Ramp, filled: Filled) -> None:
    view = sw.permute(ramp("(2,3):(1,2)"), 1, 0)
    with pytest.raises(ValueError, match="gradient layout must match tensor layout"):
        view.backward(filled("(3,2):(1,3)", [1.0] * 6))


@pytest.mark.rule("T-41", "O-77")
def test_a_released_cotangent_is_refused(ramp: Ramp) -> None:
    tensor, cotangent = ramp("4:1"), ramp("2:1")
    view = tensor[0:2]
    cotangent.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        node_of(view).backward(cotangent)


@pytest.mark.rule("T-25", "A-22", "A-23")
def test_a_released_node_refuses_to_run(ramp: Ramp, filled: Filled) -> None:
    view = ramp("4:1")[0:2]
    view.backward(filled("2:1", [1.0, 2.0]))
    node = node_of(view)
    assert node.inputs() == () and node.ctx == {}
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        node.backward(filled("2:1", [1.0, 2.0]))


@pytest.mark.rule("T-44", "A-5")
def test_an_operation_that_recorded_nothing_has_no_gradient(ramp: Ramp, filled: Filled) -> None:
    operation = ramp("2:1").carrier.dispatch_op("permute")
    with sw.no_grad():
        operation.forward(ramp("2:1"), 0)
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        operation.backward(filled("2:1", [1.0, 2.0]))


@pytest.mark.rule("T-44", "A-10")
def test_a_view_made_without_recording_keeps_its_own_gradient(
    ramp: Ramp, filled: Filled, read: Read
) -> None:
    tensor = ramp("(2,3):(1,2)")
    with sw.no_grad():
        view = tensor[:, 1]
    view.backward(filled("2:1", [5.0, 7.0]))
    assert view.grad is not None and read(view.grad) == [5.0, 7.0]
    assert tensor.grad is None


@pytest.mark.rule("A-24", "T-9")
def test_a_source_written_after_the_view_is_noticed(ramp: Ramp, filled: Filled) -> None:
    tensor = ramp("4:1")
    view = tensor[0:2]
    tensor[3] = 5.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        view.backward(filled("2:1", [1.0, 2.0]))


@pytest.mark.rule("T-39", "A-14")
def test_a_chain_of_views(ramp: Ramp, filled: Filled, read: Read) -> None:
    tensor = ramp("(2,3):(1,4)", 1)
    view = sw.reshape(sw.rearrange(tensor, Tree(N(1), N(0)))[0:2, 1:2], Shape(2))
    view.backward(filled("2:4", [5.0, 7.0]))
    assert tensor.grad is not None and read(tensor.grad) == [0.0, 5.0, 0.0, 7.0, 0.0, 0.0]


@pytest.mark.rule("T-39")
def test_a_cotangent_on_another_carrier_class(
    ramp: Ramp, carrier_of: Callable[[list[Any], sw.DType], sw.Carrier], read: Read
) -> None:
    tensor = ramp("(2,3):(1,4)")
    cotangent = Tensor(carrier_of([5.0, 7.0], sw.DType.Float32), 0, Layout.parse("2:1"))
    (gradient,) = node_of(sw.reshape(tensor[:, 1], Shape(2))).backward(cotangent)
    assert gradient is not None and read(gradient) == [5.0, 7.0]
