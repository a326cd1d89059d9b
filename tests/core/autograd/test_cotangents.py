"""Which cotangents a tensor accepts, and the implicit one."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import DType, Layout, Tensor, grad
from strideweave.testing import ArrayCarrier


@pytest.mark.rule("A-12", "Y-6")
@pytest.mark.parametrize("layout", ["(1):(1)", "(1):(0)", "(1):(7)"])
def test_single_leaf_of_extent_one_has_an_implicit_cotangent(
    f: Callable[..., Any], values: Callable[..., list[float]], layout: str
) -> None:
    x = f([4.0], layout)
    x.backward()
    assert values(x.grad) == [1.0]
    assert x.grad.layout == x.layout
    assert type(x.grad.carrier) is ArrayCarrier and x.grad.carrier is not x.carrier


@pytest.mark.rule("A-12", "Y-6")
@pytest.mark.parametrize("layout", ["():()", "(1,1):(1,1)", "((1)):((1))", "(2):(1)"])
def test_other_layouts_need_an_explicit_cotangent(f: Callable[..., Any], layout: str) -> None:
    x = f([0.0] * Layout.parse(layout).size, layout)
    with pytest.raises(ValueError, match="requires a gradient for non-scalar tensors"):
        x.backward()
    assert x.grad is None


@pytest.mark.rule("A-13")
@pytest.mark.parametrize("gradient", [3, [1.0, 2.0], "x"])
def test_cotangent_must_be_a_tensor(f: Callable[..., Any], gradient: Any) -> None:
    x = f([1.0, 2.0])
    with pytest.raises(TypeError, match="requires a Tensor gradient"):
        x.backward(gradient)
    with pytest.raises(TypeError, match="requires a Tensor gradient"):
        grad(x, [x], gradient)


@pytest.mark.rule("A-13", "Y-7")
def test_injective_tensor_needs_its_own_layout(f: Callable[..., Any]) -> None:
    x = f([1.0, 2.0, 3.0, 4.0], "(2,2):(1,2)")
    result = x * 2.0
    with pytest.raises(ValueError, match="gradient layout must match tensor layout"):
        result.backward(f([1.0] * 4, "(2,2):(2,1)"))
    gaps = f([1.0] * 4, "(2,2):(1,3)")
    with pytest.raises(ValueError, match="gradient layout must match tensor layout"):
        gaps.backward(f([1.0] * 4, "(2,2):(1,2)"))
    assert x.grad is None and gaps.grad is None


@pytest.mark.rule("A-13", "A-30")
@pytest.mark.parametrize("strides", ["1,1", "1,0"])
def test_strides_of_extent_one_make_no_difference(
    f: Callable[..., Any], values: Callable[..., list[float]], strides: str
) -> None:
    layout = f"(3,1):({strides})"
    x = f([1.0, 2.0, 3.0], "(3,1):(1,3)")
    (x * 2.0).backward(f([1.0, 0.0, -1.0], layout))
    assert values(x.grad) == [2.0, 0.0, -2.0] and x.grad.layout == x.layout
    x.backward(f([1.0, 1.0, 1.0], layout))
    assert values(x.grad) == [3.0, 1.0, -1.0]
    batch = f([1.0, 2.0] * 3, f"(2,3,1):(3,{strides})")
    (stacked,) = grad(x * 2.0, [x], batch, batched=True)
    assert values(stacked) == [2.0, 4.0] * 3


@pytest.mark.rule("A-13", "T-40")
@pytest.mark.parametrize("layout", ["(4,2):(1,4)", "(4,2):(2,1)", "(4,2):(3,20)"])
def test_broadcast_tensor_takes_its_shape_in_any_injective_layout(
    f: Callable[..., Any], values: Callable[..., list[float]], layout: str
) -> None:
    broadcast = f([1.0, 2.0], "(4,2):(0,1)")
    broadcast.backward(f([1.0] * 8, layout))
    assert values(broadcast.grad) == [4.0] * 8


@pytest.mark.rule("A-13")
@pytest.mark.parametrize(
    ("values_", "layout"), [([1.0, 2.0], "(4,2):(0,1)"), ([1.0] * 8, "(2,4):(1,2)")]
)
def test_broadcast_tensor_refuses_other_cotangents(
    f: Callable[..., Any], values_: list[float], layout: str
) -> None:
    broadcast = f([1.0, 2.0], "(4,2):(0,1)")
    with pytest.raises(ValueError, match="same shape in an injective layout"):
        broadcast.backward(f(values_, layout))


@pytest.mark.rule("A-13", "Y-12")
def test_other_aliasing_has_no_gradient(f: Callable[..., Any]) -> None:
    overlapping = f([1.0, 2.0, 3.0, 4.0, 5.0], "(4,2):(1,1)")
    doubled = overlapping * 2.0
    assert doubled[3, 1] == 10.0
    with pytest.raises(
        ValueError, match="aliasing is not caused only by stride-zero broadcast modes"
    ):
        doubled.backward(f([1.0] * 8, doubled.layout))
    with pytest.raises(ValueError, match="stride-zero broadcast modes"):
        overlapping.backward(f([1.0] * 8, "(4,2):(1,4)"))
    assert overlapping.grad is None


@pytest.mark.rule("A-13")
def test_released_cotangent_is_refused(f: Callable[..., Any]) -> None:
    x, gone = f([1.0]), f([1.0])
    gone.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        x.backward(gone)


@pytest.mark.rule("A-13")
def test_cotangent_is_converted_to_the_arithmetic_of_the_tensor(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0])
    prototype = ArrayCarrier(0, dtype=DType.Int32)
    integers = Tensor(prototype.new_like([3, 16777217]), 0, x.layout)
    (x * 1.0).backward(integers)
    assert values(x.grad) == [3.0, 16777216.0]
    assert x.grad.dtype() is DType.Float32
    flags = Tensor(prototype.new_like([True, False], dtype=DType.Bool), 0, x.layout)
    x.backward(flags)
    assert values(x.grad) == [4.0, 16777216.0]
