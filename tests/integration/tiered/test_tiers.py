"""TiledEvictable over the shipped carriers in every combination, and over an outsider's."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import (
    CPU,
    Carrier,
    DType,
    FileBacked,
    Generic,
    Shape,
    Tensor,
    TiledEvictable,
    TileSelection,
    TileSet,
)
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier

Device = Callable[..., Any]
PRIMARIES = ["generic", "cpu", "array"]
SECONDARIES = ["file", "generic", "cpu", "array", "device"]
DTYPES = [DType.Float32, DType.Int32]
UNROUTED = {("array", "device")}  # a definition without spans to a class with fixed pairs


@pytest.fixture
def make_tier(open_device: Device) -> Callable[..., Carrier]:
    """Build an empty tier of a kind."""

    def make(kind: str, dtype: DType = DType.Float32) -> Carrier:
        if kind == "device":
            carrier: Carrier = open_device().allocate(0, dtype=dtype)
            return carrier
        if kind == "generic":
            return Generic([], dtype=dtype)
        if kind == "cpu":
            return CPU(0, dtype=dtype)
        return FileBacked(dtype=dtype) if kind == "file" else ArrayCarrier(0, dtype=dtype)

    return make


def full(carrier: TiledEvictable) -> Tensor:
    return Tensor(carrier, 0, canonical_layout(Shape(list(carrier.logical_shape))))


def everything(carrier: TiledEvictable) -> TileSet:
    return TileSelection([range(count) for count in carrier.grid_shape]).tile_set


@pytest.mark.rule("TE-52", "TE-55", "TE-81", "TE-83", "TE-84", "G-13")
@pytest.mark.parametrize("capacity", [None, 2])
@pytest.mark.parametrize(
    ("primary", "secondary", "dtype"),
    [
        combination
        for combination in itertools.product(PRIMARIES, SECONDARIES, DTYPES)
        if combination[1] != "device" or combination[2] is DType.Float32  # all that it stores
    ],
)
def test_every_combination(
    make_tier: Callable[..., Carrier],
    primary: str,
    secondary: str,
    capacity: int | None,
    dtype: DType,
) -> None:
    values = np.arange(-24, 24).reshape(8, 6)
    seed = make_tier(primary, dtype).new_like(values.T.ravel().tolist())
    carrier = TiledEvictable(seed, make_tier(secondary, dtype), (4, 2), (2, 3))
    tensor = full(carrier)
    if (primary, secondary) in UNROUTED:
        with pytest.raises(NotImplementedError, match="BlockDeviceCarrier"):
            carrier.evict(everything(carrier))
        return
    carrier.evict(everything(carrier))
    assert carrier.secondary_tiles == everything(carrier)
    assert np.array_equal(np.array(tensor.tolist()), values)
    carrier.promote(TileSet([(1, 1), (3, 0)]))
    carrier[9] = 100
    values[1, 1] = 100
    carrier.evict(everything(carrier))
    if capacity is not None:
        stored = [carrier[slot] for slot in range(48)]
        carrier = TiledEvictable(
            make_tier(primary, dtype).new_like(stored),
            make_tier(secondary, dtype),
            (4, 2),
            (2, 3),
            primary_capacity=capacity,
        )
        tensor = full(carrier)
    assert np.array_equal(np.array(sw.relu(tensor).tolist()), np.maximum(values, 0))
    assert np.array_equal(np.array(sw.add(tensor, tensor).tolist()), values + values)
    product = np.array(sw.matmul(tensor, tensor).tolist())
    assert np.array_equal(product, values @ values.T)
    assert sw.reduce_sum(tensor, "a b -> a").tolist() == values.sum(axis=1).tolist()
    axes = ([3, 0], [1]) if capacity is not None else ([3, 0, 2], [1, 0])
    compact = carrier.project(tensor, TileSelection(axes)).wait()
    rows = [row for tile in axes[0] for row in (2 * tile, 2 * tile + 1)]
    columns = [column for tile in axes[1] for column in range(3 * tile, 3 * tile + 3)]
    assert np.array_equal(np.array(compact.tolist()), values[np.ix_(rows, columns)])
    assert type(compact.carrier) is type(carrier.primary)
    carrier.update(compact, TileSelection(axes), reduction="add")
    values[np.ix_(rows, columns)] *= 2
    carrier.evict(everything(carrier))
    assert np.array_equal(np.array(tensor.tolist()), values)
    carrier.release()


@pytest.mark.rule("TE-13", "TE-54")
@pytest.mark.parametrize("kind", ["file", "generic", "cpu", "array"])
def test_a_full_secondary_seeds_the_tiles(make_tier: Callable[..., Carrier], kind: str) -> None:
    seed = make_tier(kind).new_like([float(value) for value in range(24)])
    carrier = TiledEvictable(CPU(0), seed, (2, 2), (3, 2), primary_capacity=1)
    assert full(carrier).tolist() == np.arange(24.0).reshape(4, 6).T.tolist()
    assert carrier.primary_tiles == TileSet()


@pytest.mark.rule("TE-81", "TE-95", "G-13")
@pytest.mark.parametrize("capacity", [None, 1, 3])
def test_special_values_on_tile_borders(capacity: int | None) -> None:
    values = np.array(
        [[math.nan, -0.0, math.inf], [0.0, 1e-45, -math.inf], [3e38, -3e38, 1.0], [-1.0, 2.0, 0.5]],
        dtype=np.float32,
    )
    seed = CPU(0).new_like(values.T.ravel().tolist())
    dense = Tensor(CPU(0).new_like(values.T.ravel().tolist()), 0, canonical_layout(Shape([4, 3])))
    carrier = TiledEvictable(CPU(0), seed, (4, 3), (1, 1), primary_capacity=capacity)
    tensor = full(carrier)
    for operation in (sw.relu, lambda t: sw.add(t, t), lambda t: sw.mul(t, t)):
        tiled, plain = operation(tensor), operation(dense)
        assert tiled.numpy().tobytes("F") == plain.numpy().tobytes("F")
    result, expected = sw.relu(tensor), sw.relu(dense)
    result.backward(result.detach())
    expected.backward(expected.detach())
    assert tensor.grad is not None and dense.grad is not None
    assert np.array_equal(
        np.array(tensor.grad.tolist()), np.array(dense.grad.tolist()), equal_nan=True
    )


OPERATIONS: dict[str, tuple[bool, Callable[[Tensor, Tensor], Tensor]]] = {
    # Whether results and gradients are bit-identical to the dense ones.
    "add": (True, sw.add),
    "mul": (True, sw.mul),
    "elementwise_mul": (True, sw.elementwise_mul),
    "scaled": (True, lambda x, y: sw.mul(x, 0.7)),
    "relu": (True, lambda x, y: sw.relu(x)),
    "reduce_sum": (False, lambda x, y: sw.reduce_sum(x, "a b -> b")),
    "matmul": (False, sw.matmul),
}


@pytest.mark.rule("TE-52", "TE-85", "TE-96", "G-13")
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(
    ("primary", "secondary"),
    [("cpu", "file"), ("cpu", "device"), ("generic", "cpu"), ("array", "array")],
)
def test_gradients_do_not_depend_on_tiers_and_tiles(
    make_tier: Callable[..., Carrier], primary: str, secondary: str, name: str
) -> None:
    is_exact, operation = OPERATIONS[name]
    random = np.random.default_rng(11)
    values = random.standard_normal((2, 24, 20)).astype(np.float32)
    cotangents = random.standard_normal((24, 24)).astype(np.float32)

    def outcome(x: Tensor, y: Tensor) -> list[Any]:
        result = operation(x, y)
        count = result.layout.size
        arrived = make_tier(primary).new_like(cotangents.ravel()[:count].tolist())
        result.backward(Tensor(arrived, 0, result.layout))
        tensors = [result, *(tensor.grad for tensor in (x, y) if tensor.grad is not None)]
        return [np.array(tensor.tolist(), dtype=np.float32) for tensor in tensors]

    layout = canonical_layout(Shape([24, 20]))
    seeds = [make_tier(primary).new_like(entry.T.ravel().tolist()) for entry in values]
    expected = outcome(*(Tensor(seed, 0, layout) for seed in seeds))
    for grid, capacity in (((4, 2), 1), ((2, 5), 3), ((1, 4), 2), ((3, 1), None)):
        operands = []
        for entry in values:
            tile = [extent // count for extent, count in zip((24, 20), grid, strict=True)]
            carrier = TiledEvictable(
                make_tier(primary), make_tier(secondary), grid, tile, primary_capacity=capacity
            )
            fresh = carrier.new_like(entry.T.ravel().tolist())
            operands.append(Tensor(fresh, 0, layout))
            carrier.release()
        for found, wanted in zip(outcome(*operands), expected, strict=True):
            if is_exact:
                assert found.tobytes() == wanted.tobytes()
            else:
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
        for tensor in operands:
            tensor.carrier.release()


@pytest.mark.rule("TE-13")
def test_a_composed_carrier_is_no_tier() -> None:
    with pytest.raises(TypeError, match="independent"):
        TiledEvictable(sw.Evictable(CPU(4), CPU(0)), CPU(0), (2,), (2,))


@pytest.mark.rule("TE-16", "TE-25")
def test_bool_tiles(make_tier: Callable[..., Carrier]) -> None:
    seed = CPU(0, dtype=DType.Bool).new_like([True, False, True, True])
    carrier = TiledEvictable(seed, FileBacked(dtype=DType.Bool), (2,), (2,))
    carrier.evict(everything(carrier))
    carrier[1] = True
    assert [carrier[slot] for slot in range(4)] == [True] * 4
    fresh = carrier.new_like([False, False, True, False])
    assert fresh.tile_state((0,)).location == "implicit"


@pytest.mark.rule("TE-57", "TE-98")
def test_small_tiles_on_a_device_take_whole_allocations(open_device: Device) -> None:
    device = open_device(capacity=5 * 4096)
    carrier = TiledEvictable(CPU(6), device.allocate(0), (6,), (1,))
    room = device.capacity_bytes // device.allocation_alignment
    assert room == 5
    carrier.evict(TileSet([(number,) for number in range(room)]))
    with pytest.raises((OSError, MemoryError)):
        carrier.evict(TileSet([(5,)]))
    assert carrier.primary_tiles == TileSet([(5,)]) and carrier[5] == 0.0
