"""Convolutions and their gradients against PyTorch, with its order of modes and with others."""

from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Generic, Tensor

# Batch, features of a group, groups, extents; taps; then strides, padding and dilation by mode.
CONFIGURATIONS = {
    "plain": ((2, 3, 4, 1, (7,)), (3,), (1,), (0,), (1,)),
    "strided": ((2, 3, 4, 1, (9, 8)), (3, 2), (2, 3), (1, 2), (1, 1)),
    "dilated": ((1, 2, 3, 1, (9, 10)), (3, 3), (1, 2), (2, 0), (2, 3)),
    "grouped": ((2, 2, 3, 4, (6, 5)), (2, 3), (1, 1), (1, 1), (1, 1)),
    "depthwise": ((3, 1, 1, 5, (6,)), (3,), (1,), (1,), (1,)),
    "volume": ((2, 2, 2, 1, (4, 5, 3)), (2, 3, 2), (1, 2, 1), (1, 0, 1), (1, 1, 1)),
}


def leaf(array: Any) -> Tensor:
    return sw.from_numpy(np.ascontiguousarray(array, "f4"))


def arrays(configuration: Any) -> tuple[Any, Any]:
    (batch, channels, features, groups, extents), taps, *_ = configuration
    rng = np.random.default_rng(11)
    lhs = rng.standard_normal((batch, channels * groups, *extents), "f4")
    return lhs, rng.standard_normal((features * groups, channels, *taps), "f4")


def agree(found: Tensor | None, expected: Any) -> None:
    assert found is not None
    np.testing.assert_allclose(np.asarray(found), expected.detach().numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.rule("G-13", "F-39", "O-67")
@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_convolution(torch: Any, name: str, channels_last: bool) -> None:
    configuration = CONFIGURATIONS[name]
    (*_, groups, extents), _, strides, padding, dilation = configuration
    left, right = arrays(configuration)
    rank = len(extents)
    order = (0, *range(2, rank + 2), 1) if channels_last else tuple(range(rank + 2))
    places = tuple(map(order.index, range(rank + 2)))
    lhs, kernel = leaf(left.transpose(order)), leaf(right)
    x, k = (torch.tensor(array, requires_grad=True) for array in (left, right))
    convolve = getattr(torch.nn.functional, f"conv{rank}d")
    expected = convolve(x, k, None, strides, padding, dilation, groups)
    result = sw.conv_general(
        lhs,
        kernel,
        strides,
        [(count, count) for count in padding],
        kernel_dilation=dilation,
        feature_groups=groups,
        lhs_dims=places,
        output_dims=order,
    )
    agree(result, expected.permute(order))
    weights = np.random.default_rng(3).standard_normal(expected.shape, "f4")
    expected.backward(torch.tensor(weights))
    stored = np.empty_like(np.asarray(result))
    stored[...] = weights.transpose(order)
    seed = Tensor(result.carrier.allocate_like(result.layout.cosize), 0, result.layout)
    seed[...] = stored
    result.backward(seed)
    agree(lhs.grad, x.grad.permute(order))
    agree(kernel.grad, k.grad)


@pytest.mark.rule("G-13", "F-39")
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_transposed_convolution_is_one_over_a_dilated_operand(torch: Any, stride: int) -> None:
    rng = np.random.default_rng(5)
    left, right = rng.standard_normal((2, 3, 5), "f4"), rng.standard_normal((3, 4, 3), "f4")
    x, k = (torch.tensor(array, requires_grad=True) for array in (left, right))
    expected = torch.nn.functional.conv_transpose1d(x, k, stride=stride)
    lhs, kernel = leaf(left), leaf(right[:, :, ::-1])
    result = sw.conv_general(
        lhs, kernel, (1,), ((2, 2),), lhs_dilation=(stride,), kernel_dims=(1, 0, 2)
    )
    agree(result, expected)
    expected.backward(torch.ones_like(expected))
    ones = Tensor(result.carrier.new_like([1.0] * result.size()), 0, result.layout)
    result.backward(ones)
    agree(lhs.grad, x.grad)
    agree(kernel.grad, k.grad.flip(2))


@pytest.mark.rule("G-13", "F-39")
def test_generic_agrees_as_well(torch: Any) -> None:
    left, right = arrays(CONFIGURATIONS["grouped"])
    expected = torch.nn.functional.conv2d(torch.tensor(left), torch.tensor(right), groups=4)
    lhs, kernel = (
        Tensor(Generic(array.ravel().tolist()), 0, leaf(array).layout) for array in (left, right)
    )
    agree(sw.conv_general(lhs, kernel, (1, 1), ((0, 0),) * 2, feature_groups=4), expected)
    assert type(leaf(left).carrier) is CPU
