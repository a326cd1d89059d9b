"""Optimisers step a tiled parameter tile by tile, and leave untouched tiles alone."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Parameter, Tensor, TileSelection, TileSet


def flat(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def one(*numbers: int) -> TileSet:
    return TileSet([(number,) for number in numbers])


@pytest.mark.rule("N-40", "TE-74", "TE-99")
@pytest.mark.parametrize("capacity", [None, 1, 2])
def test_only_touched_tiles_are_stepped(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor], capacity: int | None
) -> None:
    carrier = tiled((4,), (2,), stored=True, capacity=capacity)
    weight = Parameter(full(carrier))
    for tile in (3, 1):
        compact = carrier.project(weight, TileSelection([[tile]])).wait()
        compact.backward(dense([1.0, 2.0]))
    carrier.evict(one(0, 1, 2, 3))
    sw.nn.SGD([weight], lr=0.5).step()
    assert flat(weight) == [0, 1, 1.5, 2, 4, 5, 5.5, 6] and carrier.version == 1
    assert carrier.primary_tiles == carrier.dirty_tiles == (one(3) if capacity == 1 else one(1, 3))
    assert carrier.secondary_tiles == (one(0, 1, 2) if capacity == 1 else one(0, 2))


@pytest.mark.rule("N-40", "N-39")
def test_adam_keeps_the_state_of_untouched_tiles(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (1,), [1.0, 1.0])
    weight, plain = Parameter(full(carrier)), Parameter(dense([1.0]))
    optimizer, reference = sw.nn.Adam([weight], lr=0.1), sw.nn.Adam([plain], lr=0.1)
    for tile in (0, 1, 0):
        weight.grad = None
        carrier.project(weight, TileSelection([[tile]])).wait().backward(dense([0.5]))
        optimizer.step()
        if tile == 0:
            plain.grad = dense([0.5])
            reference.step()
    assert weight[0] == plain[0] and carrier.version == 3
    assert weight[1] == pytest.approx(0.9)


@pytest.mark.rule("N-40")
def test_a_dense_gradient_steps_every_tile(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (2,), (), capacity=1).new_like([0, 0, 3, 4])
    weight = Parameter(full(carrier))
    weight.grad = dense([1, 2, 3, 4])
    sw.nn.SGD([weight], lr=1.0).step()
    assert flat(weight) == [-1, -2, 0, 0] and carrier.version == 1
