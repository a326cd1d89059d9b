"""What .grad holds: its storage, its layout, and sums over shared slots."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import Layout, Operation, Tensor
from strideweave.testing import ArrayCarrier

COTANGENT_4_2 = [float(k) for k in range(8)]


@pytest.mark.rule("A-17")
def test_gradient_is_a_detached_copy(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x, cotangent = f([1.0, 2.0]), f([3.0, 4.0])
    (x + x).backward(cotangent)
    x.backward(cotangent)
    cotangent[0] = 99.0
    assert values(x.grad) == [9.0, 12.0]
    assert x.grad.autograd_ctx is None
    assert type(x.grad.carrier) is ArrayCarrier and x.grad.offset == 0


@pytest.mark.rule("A-17")
def test_gradient_grows_until_it_is_set_to_none(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0])
    for expected in (2.0, 4.0):
        (x * 2.0).backward()
        assert values(x.grad) == [expected]
    x.grad = None
    (x * 2.0).backward()
    assert values(x.grad) == [2.0]


@pytest.mark.rule("A-18")
def test_failing_traversal_writes_no_gradient(f: Callable[..., Any]) -> None:
    class Fails(Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            (tensor,) = inputs
            return sw.mul(tensor.detach(), 1.0)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            raise ArithmeticError("boom")

    x, y = f([1.0]), f([1.0])
    total = sw.add(y * 2.0, Fails().forward(x))
    with pytest.raises(ArithmeticError, match="boom"):
        total.backward()
    assert x.grad is None and y.grad is None


@pytest.mark.rule("A-18")
def test_gradient_set_by_hand_is_checked_before_any_write(f: Callable[..., Any]) -> None:
    frozen = Tensor(f([1.0]).carrier.new_like([1.0], mutable=False), 0, f([1.0]).layout)
    for existing, kind, message in (
        (3, TypeError, "must be a Tensor"),
        (f([1.0, 2.0]), ValueError, "tensor's shape"),
        (frozen, RuntimeError, "not mutable"),
    ):
        x, y = f([1.0]), f([1.0])
        y.grad = existing
        with pytest.raises(kind, match=message):
            (x + y).backward()
        assert x.grad is None


@pytest.mark.rule("A-19", "Y-13")
def test_gradient_has_the_tensors_own_injective_layout(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    g = f([1.0] * 6, "(2,3):(1,4)")
    r = g + g
    assert r.layout == Layout.parse("(2,3):(1,2)")
    r.backward(f([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], r.layout))
    assert g.grad.layout == Layout.parse("(2,3):(1,4)")
    assert g.grad.carrier.size() == 10
    assert values(g.grad) == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    holes = [g.grad.carrier[slot] for slot in (2, 3, 6, 7)]
    assert holes == [0.0] * 4


@pytest.mark.rule("A-19", "Y-9")
def test_broadcast_leaf_gets_the_sum_at_each_coordinate(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    b = f([1.0, 2.0], "(4,2):(0,1)")
    r = b * 2.0
    r.backward(f(COTANGENT_4_2, r.layout))
    assert values(b.grad) == [12.0] * 4 + [44.0] * 4
    assert b.grad.layout == Layout.parse("(4,2):(1,4)")


@pytest.mark.rule("A-19", "Y-10")
def test_nested_broadcast_leaf(f: Callable[..., Any], values: Callable[..., list[float]]) -> None:
    h = f([1.0] * 6, "(2,(4,3)):(1,(0,2))")
    r = h * 1.0
    r.backward(f([float(k) for k in range(24)], r.layout))
    assert h.grad.layout == Layout.parse("(2,(4,3)):(1,(2,8))")
    assert values(h.grad) == [12.0, 16.0] * 4 + [44.0, 48.0] * 4 + [76.0, 80.0] * 4


@pytest.mark.rule("A-19", "Y-11")
def test_sums_over_a_slot_are_binary64_rounded_once(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0], "(3):(0)")
    x.backward(f([16777216.0, 1.0, 1.0]))
    assert values(x.grad) == [16777218.0] * 3


@pytest.mark.rule("A-19")
def test_cotangents_in_flight_are_not_collapsed(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0])
    wide = sw.broadcast_to(sw.unsqueeze(x, 0), sw.Shape(3, 2))
    wide.retain_grad()
    r = wide * 1.0
    r.backward(f([1.0, 2.0, 3.0, 10.0, 20.0, 30.0], r.layout))
    assert values(x.grad) == [6.0, 60.0]
    assert values(wide.grad) == [6.0] * 3 + [60.0] * 3


@pytest.mark.rule("A-17", "A-19")
def test_second_traversal_adds_in_place_whatever_the_layout(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    g = f([1.0] * 4, "(2,2):(3,1)")
    (g * 2.0).backward(f([1.0, 2.0, 3.0, 4.0], (g * 2.0).layout))
    first = g.grad
    (g * 2.0).backward(f([1.0, 1.0, 1.0, 1.0], (g * 2.0).layout))
    assert g.grad is first
    assert first.layout == Layout.parse("(2,2):(3,1)")
    assert values(first) == [4.0, 6.0, 8.0, 10.0]


@pytest.mark.rule("A-21")
def test_retain_grad_belongs_to_one_tensor(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([2.0])
    y = x * 3.0
    twin = y.detach()
    twin.retain_grad()
    y.backward()
    assert y.grad is None and twin.grad is None
    assert values(x.grad) == [3.0]
