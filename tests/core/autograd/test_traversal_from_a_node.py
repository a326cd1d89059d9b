"""backwards_traversal."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import Tensor

backwards_traversal: Any = Tensor.backwards_traversal  # called with wrong arguments too


@pytest.mark.rule("A-32", "Y-24")
def test_cotangent_goes_straight_to_the_node(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([2.0, 3.0])
    z = x * x
    z.retain_grad()
    cotangent = f([1.0, 10.0])
    assert backwards_traversal(cotangent, z.autograd_ctx) is None
    assert values(x.grad) == [4.0, 60.0] and z.grad is None
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        backwards_traversal(cotangent, z.autograd_ctx)


@pytest.mark.rule("A-32")
def test_retained_graph_can_be_traversed_again(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([2.0])
    z = x * 3.0
    backwards_traversal(f([1.0]), z.autograd_ctx, retain_graph=True)
    backwards_traversal(f([1.0]), z.autograd_ctx, True)
    assert values(x.grad) == [6.0]


@pytest.mark.rule("A-32")
def test_no_operation_does_nothing(f: Callable[..., Any]) -> None:
    backwards_traversal(f([1.0]), None)


@pytest.mark.rule("A-32", "O-77")
def test_errors_are_those_of_the_operation(f: Callable[..., Any]) -> None:
    x = f([2.0])
    z = x * 3.0
    with pytest.raises(TypeError, match="must be a Tensor"):
        backwards_traversal(3, z.autograd_ctx)
    with pytest.raises(TypeError, match="must be a Tensor"):
        backwards_traversal(None, z.autograd_ctx)
    with pytest.raises(ValueError, match="shape"):
        backwards_traversal(f([1.0, 2.0]), z.autograd_ctx)
    with pytest.raises(AttributeError, match="inputs"):
        backwards_traversal(f([1.0]), object())
    assert x.grad is None
