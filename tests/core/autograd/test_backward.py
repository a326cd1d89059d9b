"""Traversal: every node once, in topological order, with the sum of its contributions."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Operation, Tensor


class Counted(Operation):
    """Doubles; counts how often its backward runs."""

    runs = 0

    def _forward(self, *inputs: Any) -> Tensor:
        (tensor,) = inputs
        return sw.mul(tensor.detach(), 2.0)

    def backward(self, gradient: Any) -> Sequence[Tensor | None]:
        type(self).runs += 1
        return (sw.mul(gradient, 2.0),)


class Barrier(Operation):
    """Passes values on and no gradient."""

    def _forward(self, *inputs: Any) -> Tensor:
        (tensor,) = inputs
        return sw.mul(tensor.detach(), 1.0)

    def backward(self, gradient: Any) -> Sequence[Tensor | None]:
        return (None,)


@pytest.mark.rule("Y-1", "A-11", "A-14")
def test_sum_of_a_tensor_with_itself(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    (x + x).backward(f([1.0, 10.0, 100.0, 1000.0], "(2,2):(1,2)"))
    assert values(x.grad) == [2.0, 20.0, 200.0, 2000.0]


@pytest.mark.rule("Y-3", "A-21")
def test_chain_of_products(f: Callable[..., Any], values: Callable[..., list[float]]) -> None:
    x = f([2.0, 3.0])
    z = x * x
    w = z * x
    w.backward(f([1.0, 1.0]))
    assert values(x.grad) == [12.0, 27.0]
    assert z.grad is None and w.grad is None


@pytest.mark.rule("Y-4", "A-21")
def test_retained_gradients(f: Callable[..., Any], values: Callable[..., list[float]]) -> None:
    x = f([2.0, 3.0])
    z = x * x
    w = z * x
    assert z.retain_grad() is None
    w.retain_grad()
    w.backward(f([1.0, 1.0]), retain_graph=True)
    assert values(z.grad) == [2.0, 3.0] and values(w.grad) == [1.0, 1.0]
    z.retain_grad(False)
    w.backward(f([1.0, 1.0]))
    assert values(z.grad) == [2.0, 3.0] and values(w.grad) == [2.0, 2.0]


@pytest.mark.rule("Y-5", "A-11", "A-17")
def test_backward_on_a_leaf_accumulates(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([2.0, 3.0])
    x.backward(f([5.0, 6.0]))
    first = x.grad
    assert values(x.grad) == [5.0, 6.0]
    x.backward(gradient=f([5.0, 6.0]), retain_graph=True)
    assert values(x.grad) == [10.0, 12.0]
    assert x.grad is first and first.carrier.version == 1


@pytest.mark.rule("A-11", "T-6")
def test_non_differentiable_tensor_is_refused(f: Callable[..., Any]) -> None:
    x = f([1.0])
    integers = Tensor(x.carrier.new_like([1], dtype=DType.Int32), 0, x.layout)
    with pytest.raises(RuntimeError, match="backward is not available"):
        integers.backward()


@pytest.mark.rule("A-14")
def test_node_runs_once_after_all_its_consumers(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    Counted.runs = 0
    shared = Counted().forward(x)
    (shared * 3.0 + shared * shared).backward()
    assert Counted.runs == 1
    assert values(x.grad) == [2.0 * (3.0 + 4.0)]


@pytest.mark.rule("A-14", "A-34")
def test_chain_of_a_hundred_thousand_nodes_does_not_recurse(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    class Same(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            (tensor,) = inputs
            source: Tensor = tensor.detach()
            return source

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            return (gradient,)

    x = f([1.0])
    y = x
    for _ in range(100_000):
        y = Same().forward(y)
    y.backward()
    assert values(x.grad) == [1.0]


@pytest.mark.rule("A-14", "O-76")
def test_node_of_several_results_runs_once_with_their_totals(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    class Split(Operation):
        output_count = 3
        results: list[Tensor]
        seen: tuple[Tensor | None, ...]

        def output_position(self, tensor: Tensor) -> int:
            return self.results.index(tensor)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            self.seen = gradient
            return (gradient[0],)

    x, node = f([1.0]), Split()
    node.store_inputs(x)
    node.results = [f([2.0]), f([3.0]), f([4.0])]
    for result in node.results:
        result.autograd_ctx = node
    first, _, last = node.results
    total = sw.add(sw.add(first, last), first * 5.0)
    total.backward()
    assert [None if total is None else values(total) for total in node.seen] == [
        [6.0],
        None,
        [1.0],
    ]
    assert values(x.grad) == [6.0]


@pytest.mark.rule("A-14", "T-6")
def test_tensors_given_one_node_by_hand_share_its_cotangent(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    y = x * 3.0
    twin = y.detach()
    twin.autograd_ctx = y.autograd_ctx
    (y * 2.0 + twin * 5.0).backward()
    assert values(x.grad) == [21.0]


@pytest.mark.rule("A-34")
def test_wide_sharing_costs_one_run_per_node(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    Counted.runs = 0
    y = x
    for _ in range(30):  # 2**30 paths, 60 nodes
        y = Counted().forward(y)
        y = y + y
    y.backward()
    assert Counted.runs == 30
    assert values(x.grad) == [4.0**30]


@pytest.mark.rule("A-15")
def test_node_without_a_cotangent_is_not_run_but_released(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x, y = f([1.0]), f([2.0])
    stale = Counted().forward(x)
    result = sw.add(Barrier().forward(stale), y)
    x[0] = 5.0
    Counted.runs = 0
    result.backward()
    assert Counted.runs == 0
    assert x.grad is None and values(y.grad) == [1.0]
    assert stale.autograd_ctx.inputs() == ()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        stale.backward()


@pytest.mark.rule("A-16")
def test_what_a_node_returns_for_integers_contributes_nothing(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    class Scaled(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            tensor, _ = inputs
            return sw.mul(tensor.detach(), 2.0)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            return (gradient, gradient)

    x = f([1.0, 2.0])
    integers = Tensor(x.carrier.new_like([1, 2, 3], dtype=DType.Int32), 0, f([0.0] * 3).layout)
    Scaled().forward(x, integers).backward(f([1.0, 10.0]))
    assert values(x.grad) == [1.0, 10.0]


@pytest.mark.rule("Y-18", "A-23")
def test_shared_subgraph_is_released_by_the_first_root(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    m = x * 3.0
    a, c = m * 1.0, m * 2.0
    a.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        c.backward()
    assert values(x.grad) == [3.0]


@pytest.mark.rule("Y-19", "A-23")
def test_retained_graph_can_be_traversed_again(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    y = x * 2.0
    y.backward(None, True)
    assert y.autograd_ctx.inputs() == (x,)
    y.backward()
    assert values(x.grad) == [4.0]


@pytest.mark.rule("Y-22", "A-14")
def test_gradient_through_permute(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    r = sw.permute(x, 1, 0)
    r.backward(f([1.0, 2.0, 3.0, 4.0], r.layout))
    assert values(x.grad) == [1.0, 3.0, 2.0, 4.0]
    assert x.grad.layout == Layout.parse("(2,2):(1,2)")


@pytest.mark.rule("Y-23")
def test_gradient_through_a_slice(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    r = x[0, :]
    assert r.layout == Layout.parse("(2):(2)")
    r.backward(f([5.0, 6.0], "(2):(2)"))
    assert values(x.grad) == [5.0, 0.0, 6.0, 0.0]
