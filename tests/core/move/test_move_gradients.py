"""Gradients flow back over the way that was there when the move began."""

import gc
import weakref
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor, Unsupported
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    MoveOperation,
    registered_move_operation,
)
from strideweave.testing import ArrayCarrier

FLOAT32, INT32 = DType.Float32, DType.Int32


def held(values: list[Any], text: str | None = None, dtype: DType = FLOAT32) -> Tensor:
    layout = Layout.parse(text or f"{len(values)}:1")
    return Tensor(ArrayCarrier(0, dtype=dtype).new_like(values), 0, layout)


@pytest.mark.rule("M-31")
def test_one_node_is_attached_whose_class_tells_the_way(yard: Any) -> None:
    source, destination = yard.pair()
    tensor = yard.tensor(source, 1.0)
    node = sw.move(tensor, destination(1, dtype=FLOAT32)).autograd_ctx
    assert isinstance(node, MoveOperation) and type(node) is not MoveOperation
    assert node.inputs() == (tensor,) and node.input_versions() == (tensor._version_token(),)
    tensor = held([1.0])
    node = sw.copy(tensor, ArrayCarrier(0, dtype=FLOAT32)).autograd_ctx
    assert type(node) is ElementwiseMoveOperation and node.inputs() == (tensor,)


@pytest.mark.rule("M-31")
def test_no_node_without_a_graph_or_a_differentiable_dtype(yard: Any) -> None:
    with sw.no_grad():
        assert sw.move(held([1.0]), ArrayCarrier(0, dtype=FLOAT32)).autograd_ctx is None
    integers = sw.move(held([1], dtype=INT32), ArrayCarrier(0, dtype=INT32))
    assert integers.autograd_ctx is None
    one_way, end = yard.pair(back=False)
    with sw.no_grad():
        assert sw.move(yard.tensor(one_way, 1.0), end(1, dtype=FLOAT32)).autograd_ctx is None
    tensor = yard.tensor(one_way, 1, dtype=INT32)
    assert sw.move(tensor, end(1, dtype=INT32)).autograd_ctx is None


@pytest.mark.rule("M-31", "M-34", "M-32")
def test_gradients_return_through_a_chain_of_moves(yard: Any) -> None:
    source, destination = yard.pair()
    leaf = yard.tensor(source, 1.0, 2.0)
    middle = sw.move(leaf, destination(0, dtype=FLOAT32))
    result = sw.move(middle, source(2, dtype=FLOAT32))
    cotangent = yard.tensor(source, 3.0, 4.0)
    result.backward(cotangent)
    assert type(leaf.grad.carrier) is source and leaf.grad.tolist() == [3.0, 4.0]
    assert leaf.grad.autograd_ctx is None and leaf.grad.layout == leaf.layout
    assert cotangent.tolist() == [3.0, 4.0] and not cotangent.carrier.is_owned()


@pytest.mark.rule("M-55", "M-34")
def test_a_copy_is_differentiable_and_its_source_gathers_both_gradients() -> None:
    leaf = held([1.0, 2.0])
    copied = sw.copy(leaf, ArrayCarrier(0, dtype=FLOAT32))
    total = sw.add(sw.mul(copied, 3.0), leaf)
    total.backward(held([1.0, 10.0]))
    assert leaf.grad is not None and leaf.grad.tolist() == [4.0, 40.0]


@pytest.mark.rule("M-32")
def test_the_way_back_is_captured_when_the_move_begins(yard: Any) -> None:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)
    used: list[str] = []

    class Early(ElementwiseMoveOperation):
        def _copy(self, *arguments: Any) -> None:
            used.append(type(self).__name__)
            super()._copy(*arguments)

    class Late(Early):
        pass

    leaf = yard.over(shelf([1.0]))
    with registered_move_operation(box, shelf, Early):
        moved = sw.move(leaf, box([0.0]))
    with registered_move_operation(box, shelf, Late):
        moved.backward(yard.over(box([5.0])))
    assert used == ["Early"] and leaf.grad.tolist() == [5.0]


@pytest.mark.rule("M-32", "M-34")
def test_the_way_back_is_prepared_in_backward_only(yard: Any) -> None:
    source, destination = yard.subclass("S"), yard.subclass("D")
    prepared: list[Any] = []

    def prepare(request: Any) -> Any:
        prepared.append(request)
        if len(prepared) == 2:
            return Unsupported("the line is busy")
        from strideweave.carriers.extension import PreparedTransfer

        return PreparedTransfer(lambda: transfer(request))

    def transfer(request: Any) -> None:
        request.destination.cells[:] = request.source.cells

    yard.define(source, [yard.route(source, destination)])
    yard.define(destination, [yard.route(destination, source, prepare=prepare)])
    leaf = yard.tensor(source, 1.0, 2.0)
    moved = sw.move(leaf, destination(2, dtype=FLOAT32))
    assert prepared == []
    node = moved.autograd_ctx
    assert node is not None
    (gradient,) = node.backward(yard.tensor(destination, 3.0, 4.0))
    assert gradient is not None and gradient.tolist() == [3.0, 4.0]
    assert prepared[0].source_class is destination and prepared[0].destination_class is source
    assert prepared[0].source.is_released()  # the staging carrier
    with pytest.raises(NotImplementedError, match="the line is busy"):
        node.backward(yard.tensor(destination, 3.0, 4.0))
    assert prepared[1].source.is_released() and prepared[1].destination.is_released()
    moved.backward(yard.tensor(destination, 5.0, 6.0))
    assert leaf.grad.tolist() == [5.0, 6.0]


@pytest.mark.rule("M-33", "60/E-13")
def test_the_cotangent_is_checked(yard: Any) -> None:
    node: Any = sw.move(held([1.0, 2.0]), ArrayCarrier(0, dtype=FLOAT32)).autograd_ctx
    gone = held([1.0, 2.0])
    gone.carrier.release()
    cases: list[tuple[Any, type[Exception], str]] = [
        (3, TypeError, "must be a Tensor, got int"),
        (held([1.0, 2.0, 3.0]), ValueError, "shape"),
        (held([1.0], "2:0"), ValueError, "injective"),
        (gone, RuntimeError, "released"),
    ]
    for gradient, kind, message in cases:
        with pytest.raises(kind, match=message):
            node.backward(gradient)
    listed = yard.over(yard.Listed([1.0, 2.0]))  # any carrier class is accepted
    assert node.backward(listed)[0].tolist() == [1.0, 2.0] and listed.tolist() == [1.0, 2.0]
    assert node.backward(held([0.0, 1.0, 0.0, 2.0], "2:2"))[0].tolist() == [0.0, 0.0]


@pytest.mark.rule("M-34", "M-35")
def test_the_gradient_is_placed_like_the_source_and_never_summed(yard: Any) -> None:
    spread = held([0.0, 1.0, 0.0, 2.0, 0.0, 3.0], "(1,3):(2,2)")
    node: Any = sw.move(spread, ArrayCarrier(0, dtype=FLOAT32)).autograd_ctx
    (gradient,) = node.backward(held([4.0, 5.0, 6.0], "(1,3):(1,1)"))
    assert gradient.layout == spread.layout and gradient.offset == 0
    assert [gradient.carrier[slot] for slot in range(5)] == [4.0, 0.0, 5.0, 0.0, 6.0]
    broadcast = held([5.0, 6.0], "(2,3):(1,0)")
    node = sw.move(broadcast, ArrayCarrier(0, dtype=FLOAT32)).autograd_ctx
    (gradient,) = node.backward(held([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "(2,3):(1,2)"))
    assert gradient.layout == Layout(Shape(2, 3), Stride(1, 2))
    assert [gradient[ordinal] for ordinal in range(6)] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.rule("M-35")
def test_a_moved_broadcast_view_leaves_the_sum_to_the_broadcast() -> None:
    leaf = held([1.0, 2.0], "(2,1):(1,1)")
    moved = sw.move(sw.broadcast_to(leaf, Shape(2, 3)), ArrayCarrier(0, dtype=FLOAT32))
    assert moved.carrier.size() == 2
    moved.backward(held([1.0, 10.0, 2.0, 20.0, 3.0, 30.0], "(2,3):(1,2)"))
    assert leaf.grad is not None and leaf.grad[0, 0] == 6.0 and leaf.grad[1, 0] == 60.0


@pytest.mark.rule("M-31", "M-34")
def test_a_graph_is_traversed_again_only_when_it_was_retained() -> None:
    leaf = held([1.0, 2.0])
    moved = sw.move(leaf, ArrayCarrier(0, dtype=FLOAT32))
    node = moved.autograd_ctx
    assert node is not None
    moved.backward(held([1.0, 1.0]), retain_graph=True)
    moved.backward(held([1.0, 2.0]))
    assert leaf.grad is not None and leaf.grad.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="released by an earlier traversal"):
        node.backward(held([1.0, 1.0]))
    assert node.inputs() == ()


@pytest.mark.rule("M-31")
def test_an_operation_without_a_recording_has_no_backward() -> None:
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        ElementwiseMoveOperation().backward(held([1.0]))


@pytest.mark.rule("M-31")
def test_the_graph_of_a_move_is_collected_with_its_result() -> None:
    leaf = held([1.0, 2.0])
    target = weakref.ref(ArrayCarrier(0, dtype=FLOAT32))
    moved = sw.move(leaf, kept := ArrayCarrier(0, dtype=FLOAT32))
    target = weakref.ref(kept)
    del kept, moved
    gc.collect()
    assert target() is None


@pytest.mark.rule("M-34")
def test_a_failing_way_back_releases_the_staging_carriers(yard: Any) -> None:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)
    seen: list[Any] = []

    class Failing(MoveOperation):
        def _copy(self, tensor: Any, destination: Any, output: Any, element_count: int) -> None:
            seen.extend((tensor.carrier, destination))
            raise OSError("the way back is cut")

    leaf = yard.over(shelf([1.0]))
    with registered_move_operation(box, shelf, Failing):
        moved = sw.move(leaf, box([0.0]))
        with pytest.raises(OSError, match="cut"):
            moved.backward(yard.over(box([5.0])))
    assert [type(carrier) for carrier in seen] == [box, shelf]
    assert all(carrier.is_released() for carrier in seen)
    assert leaf.grad is None and moved.tolist() == [1.0]


@pytest.mark.rule("M-34")
def test_a_source_class_without_factories_says_what_it_lacks(yard: Any) -> None:
    bare = yard.subclass(
        "Bare", yard.Listed, allocate_like=sw.Carrier.allocate_like, new_like=sw.Carrier.new_like
    )
    leaf = yard.over(bare([1.0]))
    moved = sw.move(leaf, yard.Listed([0.0]))
    with pytest.raises(NotImplementedError, match=r"Bare must implement allocate_like\(\)"):
        moved.backward(yard.over(yard.Listed([5.0])))
    assert leaf.grad is None


@pytest.mark.rule("M-31", "A-24")
def test_an_operation_that_saved_the_destination_sees_a_move_into_it() -> None:
    """A move into a carrier changes the version that Tensors over it see."""
    target = ArrayCarrier(0, dtype=FLOAT32).new_like([1.0, 2.0])
    first = Tensor(target, 0, Layout.parse("2:1"))
    product = sw.mul(first, first)
    sw.move(held([3.0, 4.0]), target)
    with pytest.raises(RuntimeError, match="modified in-place"):
        product.backward(held([1.0, 1.0]))
