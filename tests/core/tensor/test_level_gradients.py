"""Backward of a view operation that was run by hand over several subtensors."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import Operation, Shape, Stride, Tensor

Levels = Callable[..., Tensor]


def run(name: str, tensor: Tensor, *arguments: object) -> tuple[Operation, Tensor]:
    """Execute a view and save its source by hand, since no compound dtype is recorded."""
    operation = tensor.carrier.dispatch_op(name)
    view = operation.forward(tensor, *arguments)
    operation.store_inputs(tensor)
    return operation, view


def slots(tensor: Tensor) -> list[list[float]]:
    """List the storage of each level."""
    return [
        [entry.carrier[slot] for slot in range(entry.carrier.size())]
        for entry in tensor._representation().subtensors
    ]


def strings(tensor: Tensor) -> list[str]:
    """List the layouts, placements first."""
    representation = tensor._representation()
    placements = [entry.layout for entry in representation.subtensors]
    return [str(layout) for layout in (*placements, *representation.adjacent_layouts)]


@pytest.mark.rule("T-41", "T-39")
@pytest.mark.parametrize(
    ("name", "arguments", "placement", "leading"),
    [
        ("view", ((slice(None), slice(0, 1)),), "(2,1):(1,2)", [5.0, 6.0, 0, 0]),
        ("view", ((0, slice(None)),), "2:2", [5.0, 0, 7.0, 0]),
        ("as_strided", (Shape(2), Stride(2)), "2:2", [5.0, 0, 7.0, 0]),
    ],
)
def test_a_selection_scatters_level_zero_and_copies_the_others(
    levels: Levels, name: str, arguments: tuple[Any, ...], placement: str, leading: list[float]
) -> None:
    source = levels(offsets=(1, 2))
    operation, view = run(name, source, *arguments)
    gradient = levels((placement, "2:1"), (strings(view)[-1],), offsets=(5, 0))
    (result,) = operation.backward(gradient)
    assert isinstance(result, Tensor) and result.autograd_ctx is None
    assert strings(result) == strings(source)
    assert slots(result) == [leading, [0.0, 1.0]]
    for entry, given in zip(
        result._representation().subtensors, gradient._representation().subtensors, strict=True
    ):
        assert entry.carrier is not given.carrier and entry.offset == 0
        assert type(entry.carrier) is source.carrier_type()


@pytest.mark.rule("T-41", "T-39")
def test_a_selection_of_a_broadcast_source_is_canonical(levels: Levels) -> None:
    source = levels(("(2,2):(0,1)", "2:1"), ("(2,2):(0,1)",))
    operation, _ = run("view", source, (slice(None), slice(0, 1)))
    gradient = levels(("(2,1):(1,2)", "2:1"), ("(2,1):(0,1)",), offsets=(5, 0))
    (result,) = operation.backward(gradient)
    assert isinstance(result, Tensor)
    assert strings(result)[0] == "(2,2):(1,2)" and slots(result)[0] == [5.0, 6.0, 0, 0]


@pytest.mark.rule("T-41")
@pytest.mark.parametrize(
    ("name", "arguments", "source"),
    [
        ("permute", (1, 0), ("(2,3):(1,2)", "3:1", "(2,3):(0,1)")),
        ("permute", (2, 0, 1), ("(2,3,4):(1,2,6)", "3:1", "(2,3,4):(0,1,0)")),
        ("reshape", (Shape(3, 2),), ("(2,3):(1,2)", "6:1", "(2,3):(1,2)")),
        ("squeeze", (-1,), ("(3,1):(1,0)", "3:1", "(3,1):(1,0)")),
        ("squeeze", (0,), ("(1,3):(0,1)", "3:1", "(1,3):(0,1)")),
        ("unsqueeze", (-1,), ("(3,2):(1,3)", "3:1", "(3,2):(1,0)")),
        ("unsqueeze", (1,), ("(3,2):(1,3)", "3:1", "(3,2):(1,0)")),
        ("broadcast_to", (Shape(3, 2),), ("(3,2):(1,3)", "3:1", "(3,2):(1,0)")),
    ],
)
def test_other_views_transform_the_leading_layouts_back(
    levels: Levels, name: str, arguments: tuple[Any, ...], source: tuple[str, str, str]
) -> None:
    placement, deeper, adjacent = source
    tensor = levels((placement, deeper), (adjacent,))
    operation, view = run(name, tensor, *arguments)
    first, _, led = strings(view)
    gradient = levels((first, deeper), (led,), offsets=(4, 2))
    (result,) = operation.backward(gradient)
    assert isinstance(result, Tensor)
    assert strings(result) == strings(tensor)
    assert result.carrier is gradient.carrier and result.offset == 4
    assert result._representation().subtensors[1] is gradient._representation().subtensors[1]


@pytest.mark.rule("T-41")
def test_a_gradient_must_have_the_dtype_and_layouts_of_the_view(
    levels: Levels,
) -> None:
    source = levels()
    operation, view = run("view", source, (slice(None), slice(0, 1)))
    one = Tensor(view.carrier, 0, view.layout)
    with pytest.raises(TypeError, match="gradient must be a Tensor"):
        operation.backward(3)
    with pytest.raises(TypeError, match="gradient must have dtype TestPair"):
        operation.backward(one)
    with pytest.raises(ValueError, match="Tensor layouts must match"):
        operation.backward(levels(("(2,1):(2,4)", "2:1"), ("(2,1):(0,1)",)))
    with pytest.raises(ValueError, match="Tensor layouts must match: the view leads to level 1"):
        operation.backward(levels(("(2,1):(1,2)", "2:1"), ("(2,1):(1,0)",)))
    with pytest.raises(ValueError, match="subtensor 1 must have the placement of the source"):
        operation.backward(levels(("(2,1):(1,2)", "2:3"), ("(2,1):(0,1)",)))


@pytest.mark.rule("T-41")
def test_a_widening_broadcast_cannot_be_undone_by_layouts(levels: Levels) -> None:
    source = levels(("(1,2):(0,1)", "2:1"), ("(1,2):(0,1)",))
    operation, _ = run("broadcast_to", source, Shape(3, 2))
    gradient = levels(("(3,2):(1,3)", "2:1"), ("(3,2):(0,1)",))
    with pytest.raises(NotImplementedError, match=r"from \(1,2\) to \(3,2\) adds values"):
        operation.backward(gradient)


@pytest.mark.rule("T-41", "T-18")
def test_nothing_flows_back_unless_the_source_was_saved(levels: Levels) -> None:
    source = levels()
    operation = source.carrier.dispatch_op("permute")
    view = operation.forward(source, 1, 0)
    assert view.autograd_ctx is None and operation.inputs() == ()
    with pytest.raises(RuntimeError, match="nothing was recorded"):
        operation.backward(view)
