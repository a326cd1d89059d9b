"""Gradients of products of long fibers, which are computed block by block."""

import numpy as np
import pytest
from numpy.typing import NDArray

import strideweave as sw


def products_of_others(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each element of each row the product of the others, in order, rounded each step."""
    products = np.ones_like(values)
    for position in range(values.shape[1]):
        factor = np.repeat(values[:, position, None], values.shape[1], axis=1)
        factor[:, position] = 1
        products = products * factor
    return products


@pytest.mark.rule("F-28")
@pytest.mark.parametrize("shape", [(1, 1500), (3, 701), (2, 1), (1, 2)])
def test_rounding_follows_the_fiber(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(5)
    values = random.uniform(0.9, 1.1, shape).astype(np.float32)
    values[0, -1] = 0
    cotangents = random.standard_normal(shape[0], np.float32)
    tensor = sw.Parameter(sw.from_numpy(values))
    sw.reduce_prod(tensor, "a b -> a").backward(sw.from_numpy(cotangents))
    assert tensor.grad is not None
    assert np.array_equal(tensor.grad.numpy(), cotangents[:, None] * products_of_others(values))
