"""SGD and Adam: arithmetic, layouts, atomicity and arguments."""

import math
from array import array
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Parameter
from strideweave.nn import SGD, Adam


def binary32(value: float) -> float:
    return array("f", [value])[0]


@pytest.mark.rule("N-38", "Z-28")
def test_sgd_rounds_once(parameter: Callable[..., Any]) -> None:
    p = parameter([1.0], [0.3])
    SGD([p], lr=0.1).step()
    assert p.item() == 0.9700000286102295


@pytest.mark.rule("N-38")
def test_sgd_skips_parameters_without_a_gradient_and_counts_repeats_once(
    parameter: Callable[..., Any], make: Callable[..., Any]
) -> None:
    p, q = parameter([1.0], [1.0]), parameter([1.0])
    optimiser = SGD(iter([p, q, p]), 0.5)
    optimiser.step()
    assert p.item() == 0.5 and q.item() == 1.0 and q.version == 0
    optimiser.lr = 0.25
    optimiser.step()
    assert p.item() == 0.25 and optimiser.lr == 0.25
    optimiser.zero_grad()
    assert p.grad is None and q.grad is None
    optimiser.step()
    assert p.item() == 0.25


@pytest.mark.rule("N-38", "N-39")
@pytest.mark.parametrize("optimiser", [SGD, Adam])
def test_arguments_of_every_optimiser(
    parameter: Callable[..., Any], make: Callable[..., Any], optimiser: Any
) -> None:
    p = parameter([1.0])
    for parameters, lr, kind, message in (
        (3, 0.1, TypeError, "iterable of Parameters"),
        ([make([1.0])], 0.1, TypeError, r"\[0\] must be a Parameter.* pass module\.par"),
        ([], 0.1, ValueError, "parameters is empty, so there is nothing to update; pass module"),
        ([p], "x", TypeError, "lr must be a real number"),
        ([p], 1j, TypeError, "lr must be a real number"),
        ([p], 0, ValueError, "lr must be positive"),
        ([p], -0.1, ValueError, "lr must be positive"),
        ([p], math.inf, ValueError, "lr must be"),
        ([p], math.nan, ValueError, "lr must be"),
    ):
        with pytest.raises(kind, match=message):
            optimiser(parameters, lr)
    made = optimiser([p], 1)
    assert made.lr == 1.0 and type(made.lr) is float
    with pytest.raises(ValueError, match="lr must be positive"):
        made.lr = 0.0
    assert made.lr == 1.0


@pytest.mark.rule("N-39", "Z-32")
def test_adam_worked_example(make: Callable[..., Any]) -> None:
    p = Parameter(make([1.0]))
    optimiser = Adam([p], lr=0.1)
    seen = []
    for gradient in (0.5, 0.5, -1.0):
        p.grad = make([gradient])
        optimiser.step()
        seen.append(p.item())
    assert seen == [0.8999999761581421, 0.7999999523162842, 0.807564914226532]


@pytest.mark.rule("N-39")
def test_adam_follows_its_formula_line_by_line(make: Callable[..., Any]) -> None:
    lr, b1, b2, eps, decay = 0.01, 0.8, 0.95, 1e-6, 0.1
    p = Parameter(make([1.0, -2.0]))
    optimiser = Adam([p], lr, betas=(b1, b2), eps=eps, weight_decay=decay)
    expected = [(1.0, 0.0, 0.0), (-2.0, 0.0, 0.0)]
    for step, gradients in enumerate(([0.5, 0.25], [0.125, -3.0], [0.0, 1.0]), start=1):
        p.grad = make(gradients)
        optimiser.step()
        moved = []
        for (value, m, v), g in zip(expected, gradients, strict=True):
            g = g + decay * value
            m = binary32(b1 * m + (1 - b1) * g)
            v = binary32(b2 * v + (1 - b2) * g * g)
            change = lr * (m / (1 - b1**step)) / (math.sqrt(v / (1 - b2**step)) + eps)
            moved.append((binary32(value - change), m, v))
        expected = moved
        assert p.tolist() == [value for value, _, _ in expected]


@pytest.mark.rule("N-39")
def test_adam_ages_only_parameters_with_a_gradient(make: Callable[..., Any]) -> None:
    p, q = Parameter(make([1.0])), Parameter(make([1.0]))
    optimiser = Adam([p, q], lr=0.1)
    p.grad = make([0.5])
    optimiser.step()
    q.grad = make([0.5])
    p.grad = None
    optimiser.step()
    assert p.item() == q.item() == 0.8999999761581421


@pytest.mark.rule("N-39")
def test_adam_settings(parameter: Callable[..., Any]) -> None:
    p = parameter([1.0])
    for settings, kind in (
        ({"betas": (1.0, 0.9)}, ValueError),
        ({"betas": (0.9, -0.1)}, ValueError),
        ({"betas": (math.nan, 0.9)}, ValueError),
        ({"betas": ("a", 0.9)}, TypeError),
        ({"betas": 0.9}, TypeError),
        ({"betas": (0.9,)}, TypeError),
        ({"eps": 0.0}, ValueError),
        ({"eps": math.inf}, ValueError),
        ({"eps": None}, TypeError),
        ({"weight_decay": -1.0}, ValueError),
        ({"weight_decay": math.inf}, ValueError),
        ({"weight_decay": "x"}, TypeError),
    ):
        with pytest.raises(kind, match=next(iter(settings))):
            Adam([p], **settings)
    wrongly_called: Any = Adam
    with pytest.raises(TypeError):
        wrongly_called([p], 0.1, (0.9, 0.999))


@pytest.mark.rule("N-40", "G-5")
def test_step_goes_through_any_layout_and_leaves_holes(make: Callable[..., Any]) -> None:
    p = Parameter(make([1.0, 2.0, 50.0, 3.0, 4.0], "(2,2):(3,1)"))
    p.grad = make([1.0, 10.0, 100.0, 1000.0], "(2,2):(1,2)")
    SGD([p], 1.0).step()
    assert p.tolist() == [[0.0, -98.0], [-7.0, -996.0]]
    assert p.carrier[2] == 50.0 and p.version == 1


@pytest.mark.rule("N-40", "G-5")
@pytest.mark.parametrize("optimiser", [SGD, Adam])
def test_broadcast_parameter_updates_each_slot_once(
    make: Callable[..., Any], optimiser: Any
) -> None:
    b, twin = Parameter(make([1.0, 2.0], "(4,2):(0,1)")), Parameter(make([1.0, 2.0]))
    (b * 2.0).backward(make([float(k) for k in range(8)], "(4,2):(1,4)"))
    twin.grad = make([12.0, 44.0])
    for p in (b, twin):
        optimiser([p], 0.5).step()
        assert p.version == 1
    assert [b[0, j] for j in range(2)] == twin.tolist()


@pytest.mark.rule("N-40", "G-3")
def test_failing_step_changes_no_parameter(make: Callable[..., Any]) -> None:
    gone, spent = Parameter(make([1.0])), make([1.0])
    gone.carrier.release()
    spent.carrier.release()
    frozen = Parameter(make([1.0], mutable=False))
    overlapping = Parameter(make([1.0] * 5, "(4,2):(1,1)"))
    cases: list[tuple[Parameter, Any, type[Exception], str]] = [
        (Parameter(make([1.0])), 3, TypeError, "must be a Float32 Tensor, got int"),
        (Parameter(make([1.0])), make([1], dtype=DType.Int32), TypeError, "got Int32"),
        (Parameter(make([1.0])), make([1.0, 2.0]), ValueError, "its .grad has shape"),
        (Parameter(make([1.0])), spent, RuntimeError, "its .grad's ArrayCarrier"),
        (gone, make([1.0]), RuntimeError, "its ArrayCarrier carrier is released"),
        (frozen, make([1.0]), RuntimeError, "not mutable"),
        (overlapping, make([1.0] * 8, "(4,2):(1,4)"), ValueError, "injective"),
    ]
    for bad, gradient, kind, message in cases:
        good = Parameter(make([1.0]))
        good.grad, bad.grad = make([1.0]), gradient
        with pytest.raises(kind, match=message):
            SGD([good, bad], 0.1).step()
        assert good.item() == 1.0 and good.version == 0


@pytest.mark.rule("N-38", "A-24")
def test_step_records_no_graph_and_makes_earlier_graphs_stale(make: Callable[..., Any]) -> None:
    p = Parameter(make([1.0]))
    (p * 2.0).backward()
    stale = p * 2.0
    SGD([p], 0.1).step()
    assert p.autograd_ctx is None
    with pytest.raises(RuntimeError, match="modified in-place"):
        stale.backward()


@pytest.mark.rule("N-38")
def test_parameters_of_other_dtypes_are_left_alone(make: Callable[..., Any]) -> None:
    integers = Parameter(make([1], dtype=DType.Int32))
    SGD([integers], 0.1).step()
    assert integers.item() == 1


@pytest.mark.rule("N-38", "N-39")
@pytest.mark.parametrize("optimiser", [SGD, Adam])
def test_optimisers_descend(make: Callable[..., Any], optimiser: Any) -> None:
    p = Parameter(make([1.0, -1.0]))
    target = make([0.25, 0.5])
    steps = optimiser([p], 0.05)
    losses = []
    for _ in range(60):
        steps.zero_grad()
        difference = p - target
        loss = sw.reduce_sum(difference * difference, "a -> 1")
        loss.backward()
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]


def test_repr_tells_kind_parameters_and_learning_rate(parameter: Callable[..., Any]) -> None:
    p, q = parameter([1.0]), parameter([1.0])
    assert repr(SGD([p, q, p], lr=0.5)) == "<SGD of 2 parameters, lr 0.5>"
    assert repr(Adam([p])) == "<Adam of 1 parameter, lr 0.001>"
