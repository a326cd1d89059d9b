"""Broadcasts of more values than memory has addresses."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor

HUGE = 2**62


def broadcast(*extents: int, dtype: DType = DType.Float32) -> Tensor:
    """One stored value, seen at every coordinate."""
    return Tensor(sw.CPU(1, dtype=dtype), 0, Layout(Shape(*extents), Stride(*(0,) * len(extents))))


def calls(tensor: Tensor) -> dict[str, Callable[[], Any]]:
    """Calls on a matrix whose second mode is huge."""
    flag = broadcast(4, tensor.shape.leaves[1], dtype=DType.Bool)
    return {
        "exp": lambda: sw.exp(tensor),
        "add": lambda: sw.add(tensor, broadcast(4, 1)),
        "lt": lambda: sw.lt(tensor, tensor),
        "select": lambda: sw.select(flag, tensor, tensor),
        "_cast_int32": lambda: sw.cast(tensor, DType.Int32),
        "mul": lambda: sw.mul(tensor, 2.0),
        "reduce_sum": lambda: sw.reduce_sum(tensor, "a b -> a"),
        "reduce_prod": lambda: sw.reduce_prod(tensor, "a b -> a"),
        "reduce_max": lambda: sw.reduce_max(tensor, "a b -> a"),
        "reduce_min": lambda: sw.reduce_min(tensor, "a b -> a"),
        "argmax": lambda: sw.argmax(tensor, "a b -> b"),
        "cumsum": lambda: sw.cumsum(tensor, 1),
        "matmul": lambda: sw.matmul(tensor, tensor),
        "_batched_matmul": lambda: sw.einsum(tensor, tensor, "a b, a b -> a"),
        "gather": lambda: sw.gather(tensor, broadcast(1, dtype=DType.Int32), 0),
        "scatter_add": lambda: sw.scatter_add(tensor, broadcast(4, dtype=DType.Int32), tensor, 0),
        "_sort_values": lambda: sw.sort(tensor, 0),
        "concat": lambda: sw.concat((tensor, tensor), 1),
        "pad": lambda: sw.pad(tensor, ((0, 0), (1, 0))),
        "flip": lambda: sw.flip(tensor, 1),
    }


@pytest.mark.rule("G-2", "G-17")
@pytest.mark.parametrize("extent", [HUGE, 2**70])
@pytest.mark.parametrize("name", calls(broadcast(4, 1)))
def test_too_many_values_are_refused(name: str, extent: int) -> None:
    with pytest.raises(OverflowError) as refusal:
        calls(broadcast(4, extent))[name]()
    message = str(refusal.value)
    assert message.startswith(f"{name}: ")
    assert "values of layout" in message and "exceed the address space" in message
    assert str(extent) in message


@pytest.mark.rule("G-2")
def test_results_count_too() -> None:
    column, row = broadcast(2**35, 1), broadcast(1, 2**35)
    with pytest.raises(OverflowError, match=rf"add: {2**70} values .* address space"):
        sw.add(column, row)


@pytest.mark.rule("G-2", "F-39")
@pytest.mark.parametrize(
    "parameters",
    [
        {"strides": (HUGE,), "padding": ((HUGE, HUGE),)},
        {"strides": (1,), "padding": ((HUGE, 0),), "kernel_dilation": (HUGE,)},
        {"strides": (2**70,), "padding": ((0, 2**70),)},
    ],
)
def test_padding_counts_too(parameters: dict[str, Any]) -> None:
    lhs, kernel = sw.friendly.ones(1, 1, 4), sw.friendly.ones(1, 1, 2)
    with pytest.raises(OverflowError, match=r"padding and holes, which exceed the address space"):
        sw.conv_general(lhs, kernel, **parameters)


@pytest.mark.rule("G-2", "C-41")
@pytest.mark.parametrize("extent", [2**62, 2**70])
def test_arrays_and_factories_count_too(extent: int) -> None:
    reach = rf"{extent} elements of 4 bytes.* address space"
    with pytest.raises(OverflowError, match=reach):
        broadcast(1, extent).numpy()
    with pytest.raises(OverflowError, match=reach):
        sw.friendly.zeros(extent)
