"""grad: VJPs as values."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Tensor
from strideweave.testing import ArrayCarrier

grad: Any = sw.grad  # called with wrong arguments too


@pytest.fixture
def product(f: Callable[..., Any]) -> tuple[Any, ...]:
    """x = [2, 3], y = [5, 7], z = x * y and an unrelated u."""
    x, y, u = f([2.0, 3.0]), f([5.0, 7.0]), f([1.0])
    return x, y, u, x * y


@pytest.mark.rule("A-28", "Y-14")
def test_gradients_are_returned_and_none_is_accumulated(
    f: Callable[..., Any], values: Callable[..., list[float]], product: tuple[Any, ...]
) -> None:
    x, y, u, z = product
    z.retain_grad()
    gx, gy, gu = grad(z, (x, y, u), f([1.0, 10.0]))
    assert values(gx) == [5.0, 70.0] and values(gy) == [2.0, 30.0] and gu is None
    assert all(tensor.grad is None for tensor in (x, y, u, z))
    assert gx.autograd_ctx is None
    assert type(gx.carrier) is ArrayCarrier and gx.layout == x.layout


@pytest.mark.rule("A-28", "Y-15")
def test_output_and_repeated_inputs_may_be_requested(
    f: Callable[..., Any], values: Callable[..., list[float]], product: tuple[Any, ...]
) -> None:
    x, _, _, z = product
    cotangent = f([1.0, 10.0])
    answers = grad(z, iter([z, x, x]), cotangent)
    assert [values(answer) for answer in answers] == [[1.0, 10.0], [5.0, 70.0], [5.0, 70.0]]
    cotangent[0] = 9.0
    answers[1][0] = 9.0
    assert values(answers[0]) == [1.0, 10.0] and values(answers[2]) == [5.0, 70.0]


@pytest.mark.rule("A-28")
def test_intermediate_results_may_be_requested(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([2.0])
    m = x * 3.0
    r = m * m
    gm, gx = grad(r, [m, x], f([1.0]))
    assert values(gm) == [12.0] and values(gx) == [36.0]


@pytest.mark.rule("A-28", "A-22", "A-23")
def test_release_and_retention_are_those_of_backward(
    f: Callable[..., Any], values: Callable[..., list[float]], product: tuple[Any, ...]
) -> None:
    x, _, _, z = product
    grad(z, [x], f([1.0, 1.0]), retain_graph=True)
    grad(z, [], f([1.0, 1.0]))
    assert z.autograd_ctx.inputs() == ()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        grad(z, [x], f([1.0, 1.0]))


@pytest.mark.rule("A-28", "A-24")
def test_stale_graphs_are_refused(f: Callable[..., Any], product: tuple[Any, ...]) -> None:
    _, y, _, z = product
    y[0] = 1.0
    with pytest.raises(RuntimeError, match="modified in-place"):
        grad(z, [], f([1.0, 1.0]))


@pytest.mark.rule("A-28", "A-19")
def test_broadcast_input_gets_sums_over_its_slots(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    b = f([1.0, 2.0], "(4,2):(0,1)")
    r = b * 2.0
    (gradient,) = grad(r, [b], f([float(k) for k in range(8)], r.layout))
    assert values(gradient) == [12.0] * 4 + [44.0] * 4
    assert gradient.layout == Layout.parse("(4,2):(1,4)")


@pytest.mark.rule("A-29")
def test_checks_come_in_order_before_any_traversal(
    f: Callable[..., Any], product: tuple[Any, ...]
) -> None:
    x, _, _, z = product
    integers = Tensor(x.carrier.new_like([1, 2], dtype=DType.Int32), 0, x.layout)
    c = f([1.0, 1.0])
    cases = [
        ((3, x, 3), TypeError, "inputs must be an iterable of Tensors, got a single Tensor"),
        ((3, 3, 3), TypeError, "inputs must be an iterable of Tensors, got int"),
        ((3, [3], 3), TypeError, "output must be a Tensor, got int"),
        ((integers, [3], 3), RuntimeError, "not available"),
        ((z, [integers, 3], 3), ValueError, r"inputs\[0\] is not differentiable"),
        ((z, [x, 3], 3), TypeError, r"inputs\[1\] must be a Tensor"),
        ((z, [x], 3), TypeError, "requires a Tensor gradient"),
        ((z, [x], None), TypeError, "requires a Tensor gradient"),
        ((z, [], None), TypeError, "requires a Tensor gradient"),
        ((z, [x], f([1.0])), ValueError, "gradient layout must match"),
        ((z, [], f([1.0])), ValueError, "gradient layout must match"),
    ]
    for arguments, kind, message in cases:
        with pytest.raises(kind, match=message):
            grad(*arguments)
    assert z.autograd_ctx.inputs() != ()
    assert grad(z, [], c) == ()
    assert z.autograd_ctx.inputs() == ()


@pytest.mark.rule("A-30", "A-31", "Y-16")
def test_batched_cotangents_give_stacked_gradients(
    f: Callable[..., Any], values: Callable[..., list[float]], product: tuple[Any, ...]
) -> None:
    x, y, u, z = product
    identity = f([1.0, 0.0, 0.0, 1.0], "(2,2):(2,1)")
    gx, gy, gu = grad(z, (x, y, u), identity, batched=True)
    assert gx.layout == Layout.parse("(2,2):(2,1)")
    assert [gx.carrier[slot] for slot in range(4)] == [5.0, 0.0, 0.0, 7.0]
    assert [gy.carrier[slot] for slot in range(4)] == [2.0, 0.0, 0.0, 3.0]
    assert gu is None
    assert z.autograd_ctx.inputs() == ()


@pytest.mark.rule("A-31", "Y-17")
def test_stacked_gradients_keep_the_holes_disjoint(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    g = f([1.0] * 4, "(2,2):(1,3)")
    r = g + g
    assert r.layout == Layout.parse("(2,2):(1,2)")
    batched = f([float(k) for k in range(12)], "(3,2,2):(4,1,2)")
    (stacked,) = grad(r, [g], batched, batched=True, retain_graph=True)
    assert stacked.layout == Layout.parse("(3,2,2):(5,1,3)")
    assert stacked.carrier.size() == 15
    for k in range(3):
        cotangent = Tensor(batched.carrier, 4 * k, r.layout)
        (single,) = grad(r, [g], cotangent, retain_graph=True)
        assert [stacked[k, i, j] for j in range(2) for i in range(2)] == values(single)
        assert stacked.carrier[5 * k + 2] == 0.0


@pytest.mark.rule("A-30")
@pytest.mark.parametrize(
    "layout",
    ["(2,2):(1,2)", "(2):(1)", "((2),2):((2),1)", "(2,2,1):(2,1,1)", "(2,3):(3,1)", "():()"],
)
def test_batched_cotangents_need_one_leaf_mode_in_front(
    f: Callable[..., Any], product: tuple[Any, ...], layout: str
) -> None:
    x, _, _, z = product
    wrong = f([0.0] * Layout.parse(layout).size, layout)
    with pytest.raises(ValueError, match="one extra leaf mode in front"):
        grad(z, [x], wrong, batched=True)


@pytest.mark.rule("A-30")
def test_batch_stride_is_free_and_slices_must_suit_the_output(
    f: Callable[..., Any], values: Callable[..., list[float]], product: tuple[Any, ...]
) -> None:
    x, _, _, z = product
    apart = f([1.0, 2.0, 3.0, 4.0], "(2,2):(7,1)")
    (gradient,) = grad(z, [x], apart, batched=True, retain_graph=True)
    assert [gradient[k, i] for k in range(2) for i in range(2)] == [5.0, 21.0, 10.0, 28.0]
    same = f([1.0, 2.0], "(3,2):(0,1)")
    (gradient,) = grad(z, [x], same, batched=True)
    assert [gradient[k, i] for k in range(3) for i in range(2)] == [5.0, 14.0] * 3
    broadcast = f([1.0], "(2):(0)")
    with pytest.raises(ValueError, match="same shape in an injective layout"):
        grad(broadcast, [broadcast], f([1.0] * 3, "(3,2):(1,0)"), batched=True)
    with pytest.raises(TypeError, match="requires a Tensor gradient"):
        grad(z, [x], None, batched=True)


@pytest.mark.rule("A-31")
def test_cotangent_without_an_answer_counts_as_zeros(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    class OnlyPositive(sw.Operation):
        def _forward(self, *inputs: Any) -> Tensor:
            (tensor,) = inputs
            return sw.mul(tensor.detach(), 1.0)

        def backward(self, gradient: Any) -> Sequence[Tensor | None]:
            return (gradient,) if gradient[0] > 0 else (None,)

    x = f([1.0])
    r = OnlyPositive().forward(x)
    batched = f([-1.0, 2.0, 0.0], "(3,1):(1,1)")
    (stacked,) = grad(r, [x], batched, batched=True, retain_graph=True)
    assert values(stacked) == [0.0, 2.0, 0.0]
    (none,) = grad(r, [x], f([-1.0, -2.0], "(2,1):(1,1)"), batched=True)
    assert none is None


@pytest.mark.rule("A-33")
def test_there_is_no_double_backward(f: Callable[..., Any], product: tuple[Any, ...]) -> None:
    x, _, _, z = product
    with pytest.raises(TypeError, match="create_graph"):
        grad(z, [x], f([1.0, 1.0]), create_graph=True)
    with pytest.raises(TypeError, match="create_graph"):
        z.backward(f([1.0, 1.0]), create_graph=True)
