"""Metal as the fast tier of hierarchies: Evictable, and TiledEvictable over every secondary."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import (
    CPU,
    Carrier,
    DType,
    Evictable,
    FileBacked,
    Layout,
    Metal,
    Shape,
    Tensor,
    TiledEvictable,
    TileSelection,
    TileSet,
)
from strideweave.layout.construction import canonical_layout

Device = Callable[..., Any]


@pytest.mark.rule("MT-46", "C-58", "C-80")
@pytest.mark.parametrize("make_secondary", [lambda: CPU(4), FileBacked], ids=["CPU", "FileBacked"])
def test_evictable_computes_on_metal_and_keeps_values_elsewhere(
    make_secondary: Callable[[], Carrier],
) -> None:
    carrier = Evictable(Metal(0).new_like([1.0, 2.0, 3.0, 4.0]), make_secondary())
    tensor = Tensor(carrier, 0, Layout.parse("4:1"))
    doubled = sw.add(tensor, tensor)
    assert type(doubled.carrier) is Evictable and type(doubled.carrier.primary) is Metal
    carrier.evict()
    carrier.promote()
    assert tensor.tolist() == [1.0, 2.0, 3.0, 4.0] and doubled.tolist() == [2.0, 4.0, 6.0, 8.0]
    sw.reduce_sum(sw.mul(tensor, tensor), "a -> 1").backward()
    assert tensor.grad is not None and tensor.grad.tolist() == [2.0, 4.0, 6.0, 8.0]


def everything(carrier: TiledEvictable) -> TileSet:
    return TileSelection([range(count) for count in carrier.grid_shape]).tile_set


def full(carrier: TiledEvictable) -> Tensor:
    return Tensor(carrier, 0, canonical_layout(Shape(list(carrier.logical_shape))))


@pytest.mark.rule("MT-46", "TE-52", "TE-58", "R-65")
@pytest.mark.parametrize("capacity", [None, 2])
@pytest.mark.parametrize("kind", ["cpu", "file", "device"])
def test_tiles_on_metal(kind: str, capacity: int | None, open_device: Device) -> None:
    if kind == "device":
        secondary: Carrier = open_device().allocate(0)
    else:
        secondary = CPU(0) if kind == "cpu" else FileBacked()
    values = np.arange(-24, 24).reshape(8, 6).astype(np.float32)
    seed = Metal(0).new_like(values.T.ravel())
    carrier = TiledEvictable(seed, secondary, (4, 2), (2, 3), primary_capacity=capacity)
    tensor = full(carrier)
    assert np.array_equal(np.array(tensor.tolist()), values)
    carrier[9] = 100
    values[1, 1] = 100
    if capacity is None:
        carrier.evict(everything(carrier))
        carrier.promote(TileSet([(1, 1), (3, 0)]))
    assert np.array_equal(np.array(tensor.tolist()), values)
    assert np.array_equal(np.array(sw.relu(tensor).tolist()), np.maximum(values, 0))
    assert np.array_equal(np.array(sw.matmul(tensor, tensor).tolist()), values @ values.T)
    assert sw.reduce_sum(tensor, "a b -> a").tolist() == values.sum(axis=1).tolist()
    compact = carrier.project(tensor, TileSelection([[3, 0], [1]])).wait()
    assert type(compact.carrier) is Metal
    assert np.array_equal(np.array(compact.tolist()), values[np.ix_([6, 7, 0, 1], [3, 4, 5])])
    loss = sw.reduce_sum(sw.mul(tensor, tensor), "a b -> 1")
    loss.backward()
    assert tensor.grad is not None
    assert np.array_equal(np.array(tensor.grad.tolist()), 2 * values)
    carrier.release()


@pytest.mark.rule("MT-46", "TE-52", "TE-98")
def test_a_tile_that_fails_on_the_device_stays_where_it_was(completions: Any) -> None:
    carrier = TiledEvictable(Metal(0).new_like([1.0, 2.0, 3.0, 4.0]), CPU(0), (2,), (2,))
    carrier[0] = 5.0
    completions.failures.append(RuntimeError("device lost"))
    with pytest.raises(RuntimeError, match="device lost"):
        carrier.evict(TileSet([(0,)]))
    assert carrier.primary_tiles == TileSet([(0,), (1,)])
    carrier.evict(TileSet([(0,)]))
    assert full(carrier).tolist() == [5.0, 2.0, 3.0, 4.0]


@pytest.mark.rule("MT-46", "TE-25")
def test_integer_tiles_only_move(make_tensor: Callable[..., Tensor]) -> None:
    seed = Metal(0, dtype=DType.Int32).new_like([1, 2, 3, 4])
    carrier = TiledEvictable(seed, FileBacked(dtype=DType.Int32), (2,), (2,))
    carrier.evict(everything(carrier))
    assert full(carrier).tolist() == [1, 2, 3, 4]
    with pytest.raises(sw.UnsupportedOperationPlan):
        sw.add(full(carrier), full(carrier))
