"""Plain operations: what backward must return."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import Operation, Tensor


class Pair(Operation):
    """Adds two tensors; returns from backward what the test says."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def _forward(self, *inputs: Any) -> Tensor:
        lhs, rhs = inputs
        return sw.add(lhs.detach(), rhs.detach())

    def backward(self, gradient: Any) -> Sequence[Tensor | None]:
        answer: Sequence[Tensor | None] = self.answer
        return answer


@pytest.mark.rule("A-25", "A-16", "Y-20")
def test_entries_go_to_their_inputs(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    a, b, g = f([1.0, 2.0]), f([3.0, 4.0]), f([5.0, 6.0])
    Pair((g, None)).forward(a, b).backward(f([1.0, 1.0]))
    assert values(a.grad) == [5.0, 6.0] and b.grad is None


@pytest.mark.rule("A-26", "Y-20")
@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (lambda g, wide: (g,), ValueError, "saved 2, and returned 1"),
        (lambda g, wide: (g, g, g), ValueError, "saved 2, and returned 3"),
        (lambda g, wide: (3, None), TypeError, "entry 0 must be a Tensor or None, got int"),
        (lambda g, wide: (g, "x"), TypeError, "entry 1 must be a Tensor or None, got str"),
        (lambda g, wide: g, TypeError, "must return a sequence"),
        (lambda g, wide: None, TypeError, "must return a sequence"),
        (lambda g, wide: {g, wide}, TypeError, "must return a sequence"),
        (lambda g, wide: (g, wide), ValueError, "gradient layout must match tensor layout"),
    ],
)
def test_wrong_answers_are_refused_before_anything_is_added(
    f: Callable[..., Any], answer: Any, kind: type[Exception], message: str
) -> None:
    a, b = f([1.0, 2.0]), f([3.0, 4.0])
    result = Pair(answer(f([1.0, 1.0]), f([1.0] * 3))).forward(a, b)
    with pytest.raises(kind, match=message):
        result.backward(f([1.0, 1.0]))
    assert a.grad is None and b.grad is None


@pytest.mark.rule("A-25")
def test_store_inputs_replaces_the_saved_inputs(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    class Stored(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            lhs, rhs = inputs
            self.store_inputs(rhs, "not a tensor")
            return sw.add(lhs.detach(), rhs.detach())

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            return (gradient,)

    a, b = f([1.0]), f([2.0])
    result = Stored().forward(a, b)
    assert result.autograd_ctx.inputs() == (b,)
    result.backward()
    assert a.grad is None and values(b.grad) == [1.0]


@pytest.mark.rule("A-25", "A-7")
def test_ctx_carries_data_from_forward_to_backward(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    class Scaled(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            tensor, factor = inputs
            self.ctx["factor"] = factor
            return sw.mul(tensor.detach(), factor)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            return [sw.mul(gradient, self.ctx["factor"])]

    x = f([1.0])
    Scaled().forward(x, 3.0).backward()
    assert values(x.grad) == [3.0]


@pytest.mark.rule("A-33")
def test_backward_of_an_operation_records_nothing(f: Callable[..., Any]) -> None:
    seen = []

    class Watched(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            (tensor,) = inputs
            return sw.mul(tensor.detach(), 1.0)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            seen.append(sw.is_grad_enabled())
            return (sw.mul(gradient, 2.0),)

    x = f([1.0])
    Watched().forward(x).backward()
    assert seen == [False]
    assert x.grad.autograd_ctx is None
