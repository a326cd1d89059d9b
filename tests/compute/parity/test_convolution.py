"""Convolutions of every geometry: CPU and Generic agree exactly on small integers."""

from collections.abc import Sequence
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import CPU, Generic, Layout, Shape, Stride, Tensor
from strideweave.carriers.cpu.kernels import convolution

SMALL = st.integers(1, 3)


@st.composite
def geometries(draw: Any) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Modes of lhs and kernel, and parameters that fit."""
    rank = draw(st.integers(1, 3))
    groups, channels, features = draw(st.integers(1, 2)), draw(SMALL), draw(SMALL)
    extents = draw(st.lists(st.integers(1, 5), min_size=rank, max_size=rank))
    taps = draw(st.lists(SMALL, min_size=rank, max_size=rank))
    parameters: dict[str, Any] = {
        name: draw(st.lists(SMALL, min_size=rank, max_size=rank))
        for name in ("strides", "lhs_dilation", "kernel_dilation")
    }
    pairs = st.tuples(st.integers(0, 4), st.integers(0, 4))
    padding = draw(st.lists(pairs, min_size=rank, max_size=rank))
    for mode in range(rank):  # the kernel has to fit
        span = (extents[mode] - 1) * parameters["lhs_dilation"][mode] + 1
        needed = (taps[mode] - 1) * parameters["kernel_dilation"][mode] + 1
        before, after = padding[mode]
        padding[mode] = (before, max(after, needed - span - before))
    parameters.update(padding=padding, feature_groups=groups)
    lhs = [draw(SMALL), [channels, groups], *extents]
    return lhs, [[features, groups], channels, *taps], parameters


def both(modes: list[Any], draw: Any) -> tuple[Tensor, Tensor]:
    shape = Shape(modes)
    order = draw(st.permutations(range(len(shape.leaves))))
    strides, step = [0] * len(order), 1
    for leaf in order:
        strides[leaf] = step
        step *= shape.leaves[leaf]
    remaining = iter(strides)
    stride = Stride(
        [next(remaining) if isinstance(m, int) else [next(remaining) for _ in m] for m in modes]
    )
    integers = st.integers(-4, 4).map(float)
    values = draw(st.lists(integers, min_size=shape.size, max_size=shape.size))
    layout = Layout(shape, stride)
    return Tensor(CPU(0).new_like(values), 0, layout), Tensor(Generic(values), 0, layout)


def values(tensor: Tensor) -> Sequence[float]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def compare(geometry: tuple[list[Any], list[Any], dict[str, Any]], draw: Any) -> None:
    lhs_modes, kernel_modes, parameters = geometry
    found = []
    for lhs, kernel in zip(both(lhs_modes, draw), both(kernel_modes, draw), strict=True):
        result = sw.conv_general(lhs, kernel, **parameters)
        seed = [float(7 * n % 5 - 2) for n in range(result.size())]
        cotangent = Tensor(result.carrier.new_like(seed), 0, result.layout)
        gradients = sw.grad(result, [lhs, kernel], cotangent)
        parts = [result, *(gradient for gradient in gradients if gradient is not None)]
        found.append([(part.layout, values(part)) for part in parts])
    assert found[0] == found[1] and len(found[0]) == 3


@pytest.mark.rule("F-39", "G-13", "F-12")
@given(geometries(), st.data())
def test_values_and_gradients(
    geometry: tuple[list[Any], list[Any], dict[str, Any]], data: st.DataObject
) -> None:
    compare(geometry, data.draw)


@pytest.mark.rule("F-39", "F-12")
@pytest.mark.parametrize("scratch", [1, 7, 100])
def test_blocks_of_any_size(scratch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lhs = Tensor(CPU(0).new_like([float(n % 9 - 4) for n in range(2 * 4 * 7 * 5)]), 0, LHS)
    kernel = Tensor(CPU(0).new_like([float(n % 5 - 2) for n in range(6 * 2 * 3 * 2)]), 0, KERNEL)

    def convolve() -> Sequence[float]:
        padding = ((1, 0), (0, 2))
        return values(sw.conv_general(lhs, kernel, (2, 1), padding, feature_groups=2))

    expected = convolve()
    monkeypatch.setattr(convolution, "_SCRATCH", scratch)
    assert convolve() == expected


@pytest.mark.rule("F-39", "F-9")
@given(
    st.lists(st.sampled_from([inf, -inf, nan, 0.0, 2.0, -3.0]), min_size=1, max_size=4),
    st.lists(st.sampled_from([inf, -inf, nan, 0.0, 1.0, -2.0]), min_size=24, max_size=24),
    st.tuples(SMALL, st.integers(0, 4), st.integers(0, 4), SMALL, SMALL),
)
def test_padding_and_holes_do_not_meet_weights_that_are_not_finite(
    weights: list[float], slopes: list[float], geometry: tuple[int, int, int, int, int]
) -> None:
    stride, before, after, lhs_dilation, kernel_dilation = geometry
    extent, after = 5, after + 3 * len(weights)
    lhs = Tensor(CPU(0).new_like([1.0] * extent), 0, Layout.parse("(1,1,5):(1,1,1)"))
    kernel = Tensor(CPU(0).new_like(weights), 0, Layout(Shape(1, 1, len(weights)), Stride(1, 1, 1)))
    result = sw.conv_general(
        lhs,
        kernel,
        (stride,),
        ((before, after),),
        lhs_dilation=(lhs_dilation,),
        kernel_dilation=(kernel_dilation,),
    )
    slopes = (2 * slopes)[: result.size()]
    expected = [0.0] * extent
    for position, slope in enumerate(slopes):
        for tap, weight in enumerate(weights):
            step = position * stride + tap * kernel_dilation - before
            if step % lhs_dilation == 0 and 0 <= step // lhs_dilation < extent:
                expected[step // lhs_dilation] += slope * weight
    cotangent = Tensor(CPU(0).new_like(slopes), 0, result.layout)
    (gradient,) = sw.grad(result, [lhs], cotangent)
    assert gradient is not None
    assert np.array_equal(values(gradient), expected, equal_nan=True)


LHS, KERNEL = Layout.parse("(2,4,7,5):(1,2,8,56)"), Layout.parse("(6,2,3,2):(12,6,2,1)")
