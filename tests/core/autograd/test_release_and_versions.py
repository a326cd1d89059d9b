"""What a traversal frees, and which mutations make a graph stale."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import Operation, Tensor


@pytest.mark.rule("A-22", "A-23", "Y-2")
def test_successful_traversal_releases_every_reached_node(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0])
    m = x * 2.0
    y = m + x
    m.autograd_ctx.ctx["note"] = 1
    y.backward(f([1.0, 1.0]))
    for tensor in (m, y):
        node = tensor.autograd_ctx
        assert node is not None
        assert node.inputs() == () and node.input_versions() == () and dict(node.ctx) == {}
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward(f([1.0, 1.0]))


@pytest.mark.rule("A-22", "A-24")
def test_failed_traversal_releases_nothing(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0])
    y = x * x
    with pytest.raises(ValueError, match="gradient layout"):
        y.backward(f([1.0]))
    assert y.autograd_ctx.inputs() == (x, x)
    y.backward(f([1.0, 1.0]))
    assert values(x.grad) == [2.0, 4.0]


@pytest.mark.rule("A-23")
def test_retained_graph_keeps_inputs_versions_and_ctx(f: Callable[..., Any]) -> None:
    x = f([1.0])
    y = x * x
    y.autograd_ctx.ctx["note"] = 1
    y.backward(retain_graph=True)
    node = y.autograd_ctx
    assert node.inputs() == (x, x) and len(node.input_versions()) == 2
    assert node.ctx == {"note": 1}


@pytest.mark.rule("A-23")
def test_release_is_reported_before_versions_and_before_the_vjp(f: Callable[..., Any]) -> None:
    class Recorded(Operation):
        runs = 0

        def _forward(self, *inputs: Any) -> Tensor:
            (tensor,) = inputs
            return sw.mul(tensor.detach(), 1.0)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            type(self).runs += 1
            return (gradient,)

    x = f([1.0])
    y = Recorded().forward(x)
    y.backward()
    x[0] = 3.0
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    assert Recorded.runs == 1


@pytest.mark.rule("A-24", "Y-8")
def test_mutation_after_forward_makes_the_graph_stale(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0])
    y = x * 2.0
    x[0] = 5.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        y.backward(f([1.0, 1.0]))
    assert x.grad is None


@pytest.mark.rule("A-24", "Y-8")
def test_mutation_through_any_tensor_over_the_carrier_counts(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0])
    y = x[0:1] * 2.0
    x[1] = 5.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        y.backward()
    assert x.grad is None


@pytest.mark.rule("A-24", "N-38", "N-26")
@pytest.mark.parametrize("mutation", ["bulk write", "carrier write", "optimiser", "load"])
def test_every_public_mutation_makes_graphs_stale(f: Callable[..., Any], mutation: str) -> None:
    module: Any = sw.Module()
    module.weight = sw.Parameter(f([1.0, 2.0]))
    state = module.state_dict()
    result = module.weight * 2.0
    if mutation == "bulk write":
        module.weight[...] = 1.0
    elif mutation == "carrier write":
        module.weight.carrier[0] = 1.0
    elif mutation == "optimiser":
        module.weight.grad = f([1.0, 1.0])
        sw.nn.SGD(module.parameters(), lr=0.1).step()
    else:
        module.load_state_dict(state)
    with pytest.raises(RuntimeError, match="modified in-place"):
        result.backward(f([1.0, 1.0]))


@pytest.mark.rule("A-24")
def test_forward_backward_mutate_works_repeatedly(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    for step in range(3):
        (x * x).backward()
        x[0] = float(step)
    assert values(x.grad) == [2.0 + 0.0 + 2.0]
