"""Views and bulk writes on a definition-free carrier."""

from array import array
from collections.abc import Callable

import pytest

import strideweave as sw
from strideweave import DType, Generic, Layout, Node, Shape, Stride, Tensor, Tree

N = Node.id

VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "view": lambda t: t[:, 0:1],
    "rearrange": lambda t: sw.rearrange(t, Tree(N(1), N(0))),
    "permute": lambda t: sw.permute(t, 1, 0),
    "reshape": lambda t: sw.reshape(t, Shape(4)),
    "broadcast_to": lambda t: sw.broadcast_to(t, Shape(2, 2)),
    "unsqueeze": lambda t: sw.unsqueeze(t, 0),
    "squeeze": lambda t: sw.squeeze(sw.unsqueeze(t, 0), 0),
}


def matrix() -> Tensor:
    return Tensor(Generic([0.0, 1.0, 2.0, 3.0]), 0, Layout.parse("(2,2):(1,2)"))


@pytest.mark.rule("T-26", "O-41")
@pytest.mark.parametrize("name", VIEWS)
def test_a_released_carrier_has_no_room_for_a_view(name: str) -> None:
    tensor = matrix()
    tensor.carrier.release()
    with pytest.raises(ValueError, match="Tensor storage exceeds carrier size"):
        VIEWS[name](tensor)


@pytest.mark.rule("T-26", "T-33")
def test_as_strided_of_a_released_carrier() -> None:
    tensor = matrix()
    tensor.carrier.release()
    with pytest.raises(TypeError, match="stride must be a Stride"):
        sw.as_strided(tensor, Shape(2), 1)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="carrier is released"):
        sw.as_strided(tensor, Shape(2, 2), Stride(1))


@pytest.mark.rule("T-25", "O-44", "O-53")
@pytest.mark.parametrize("name", VIEWS)
def test_views_are_framework_built_operations(name: str) -> None:
    tensor = matrix()
    node = VIEWS[name](tensor).autograd_ctx
    assert node is not None
    assert (node._operation_name, node._dispatch_carrier_class) == (name, Generic)


@pytest.mark.rule("T-47", "C-40")
def test_bulk_write_leaves_holes_alone() -> None:
    tensor = Tensor(Generic([9.0] * 7), 1, Layout.parse("3:2"))
    tensor[...] = array("f", [1, 2, 3])
    assert [tensor.carrier[slot] for slot in range(7)] == [9.0, 1.0, 9.0, 2.0, 9.0, 3.0, 9.0]
    assert tensor.version == 1


@pytest.mark.rule("T-47", "T-8")
def test_bulk_write_of_a_number_into_integers() -> None:
    tensor = Tensor(Generic([1, 2], dtype=DType.Int32), 0, Layout.parse("2:1"))
    tensor[...] = 7
    assert (tensor + 1).tolist() == [8, 8] and tensor.version == 1
