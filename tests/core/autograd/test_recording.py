"""Which calls record a node, and what the node keeps."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Parameter, Shape, Tensor


def saved(result: Tensor) -> tuple[Tensor, ...]:
    assert result.autograd_ctx is not None
    return result.autograd_ctx.inputs()


@pytest.mark.rule("A-1", "A-4", "A-7", "A-8")
def test_node_keeps_tensor_arguments_once_per_occurrence(f: Callable[..., Any]) -> None:
    x = f([2.0, 3.0])
    y = x * x
    z = x * 2.0
    assert y.autograd_ctx.inputs() == (x, x)
    assert y.autograd_ctx.input_versions() == (((x.carrier, 0),), ((x.carrier, 0),))
    assert z.autograd_ctx.inputs() == (x,)
    assert y.autograd_ctx is not z.autograd_ctx
    assert type(y.autograd_ctx.ctx) is dict


@pytest.mark.rule("A-1", "A-4")
def test_carrier_mutability_and_layout_do_not_matter(f: Callable[..., Any]) -> None:
    leaf = f([1.0, 2.0])
    frozen = leaf.carrier.new_like([1.0, 2.0], mutable=False)
    for layout in ("(2):(1)", "(2,3):(1,0)"):
        x = Tensor(frozen, 0, Layout.parse(layout))
        assert saved(x + x) == (x, x)


@pytest.mark.rule("A-1")
def test_parameter_of_a_result_is_a_new_leaf(f: Callable[..., Any]) -> None:
    result = f([1.0]) * 2.0
    assert Parameter(result).autograd_ctx is None


@pytest.mark.rule("A-5")
def test_nothing_is_recorded_without_a_differentiable_result(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0])
    integers = Tensor(x.carrier.new_like([1, 2], dtype=DType.Int32), 0, x.layout)
    with sw.no_grad():
        unrecorded = x + x
    for result in (unrecorded, sw.lt(x, x), sw.argmax(x, "a -> 1"), integers + integers):
        assert result.autograd_ctx is None


@pytest.mark.rule("A-5")
def test_mixed_call_records_and_gives_the_integers_nothing(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0])
    integers = Tensor(x.carrier.new_like([5, 7], dtype=DType.Int32), 0, x.layout)
    product = sw.mul(integers, x)
    assert saved(product) == (integers, x)
    product.backward(f([1.0, 10.0]))
    assert values(x.grad) == [5.0, 70.0]


@pytest.mark.rule("A-6")
def test_aligned_calls_save_the_callers_tensors(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    column, row = f([1.0, 2.0, 3.0], "(3,1):(1,3)"), f([10.0, 20.0], "(1,2):(1,1)")
    total = column + row
    assert total.autograd_ctx.inputs() == (column, row)
    total.backward(f([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "(3,2):(1,3)"))
    assert values(column.grad) == [5.0, 7.0, 9.0]
    assert values(row.grad) == [6.0, 15.0]


@pytest.mark.rule("A-8")
def test_composite_functions_add_no_node_of_their_own(f: Callable[..., Any]) -> None:
    x, y = f([1.0, 2.0]), f([2.0, 1.0])
    reduced = sw.reduce_sum(f([1.0] * 6, "(2,3):(1,2)"), "a b -> b")
    (source,) = saved(reduced)
    assert source.autograd_ctx is None
    assert sw.gt(x, y).tolist() == [False, True]


@pytest.mark.rule("A-8", "A-4")
def test_views_are_nodes_over_their_source(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0, 3.0])
    view = x[0:2]
    assert view.autograd_ctx.inputs() == (x,)
    assert saved(sw.reshape(x, Shape(3, 1))) == (x,)
