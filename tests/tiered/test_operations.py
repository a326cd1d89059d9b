"""Operations on full Tensors: the dense result, whatever the tiles, the tiers and the capacity."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strideweave as sw
from strideweave import Carrier, DType, Layout, Shape, Tensor, TiledEvictable, TileSet
from strideweave.carriers.operation_policy import operation_execution_options
from strideweave.carriers.tiled_evictable import backward, streaming
from strideweave.layout.construction import canonical_layout
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]
DIRECT = ("add", "elementwise_mul", "mul", "relu", "reduce_sum", "matmul")
SPECIAL = [0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 3.0e38, 1e-45, -7.0, 0.1, 2.0]


def all_tiles(carrier: TiledEvictable) -> TileSet:
    return sw.TileSelection([range(count) for count in carrier.grid_shape]).tile_set


def bits(tensor: Tensor) -> list[str]:
    return [repr(tensor[ordinal]) for ordinal in range(tensor.size())]


@pytest.mark.rule("TE-80", "TE-81", "TE-82", "TE-83")
@pytest.mark.parametrize("capacity", [None, 1, 2])
def test_results_are_ordinary_tensors(
    tiled: Any, full: Callable[..., Tensor], capacity: int | None
) -> None:
    carrier = tiled((2, 2), (1, 2), stored=True, capacity=capacity)
    x = full(carrier)
    result = sw.add(x, x)
    assert type(result.carrier) is ArrayCarrier and result.offset == 0
    assert result.layout == canonical_layout(x.shape)
    assert result.carrier.size() == result.layout.cosize
    node = result.autograd_ctx
    assert node is not None and node.inputs() == (x, x)
    assert node._operation_name == "add" and node._dispatch_carrier_class is TiledEvictable
    count = 4 if capacity is None else capacity
    assert len(carrier.primary_tiles.coordinates) == count and carrier.version == 0
    assert x.carrier is carrier


@pytest.mark.rule("TE-82", "O-40")
def test_dispatch_gives_a_fresh_operation(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,))
    for name in DIRECT:
        first, second = carrier.dispatch_op(name), carrier.dispatch_op(name)
        assert first is not second and first._operation_name == name
    result = carrier.dispatch_op("relu").forward(full(carrier))
    assert result.tolist() == [0, 1, 2, 3]


@pytest.mark.rule("TE-80", "O-43")
def test_other_names_are_refused(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,))
    for name in ("exp", "sub", "view", "reshape", "_batched_matmul"):
        with pytest.raises(sw.UnsupportedOperationPlan, match="project"):
            carrier.dispatch_op(name)
    with pytest.raises(NotImplementedError, match="nope"):
        carrier.dispatch_op("nope")
    with pytest.raises(TypeError):
        carrier.dispatch_op(3)
    with pytest.raises(sw.UnsupportedOperationPlan):
        sw.exp(full(carrier))
    with pytest.raises(sw.UnsupportedOperationPlan):
        sw.permute(full(carrier), 0)


@pytest.mark.rule("TE-81", "TE-100")
def test_released_carriers_say_exactly_so(tiled: Any, full: Callable[..., Tensor]) -> None:
    x, y = full(tiled((2,), (2,))), full(tiled((2,), (2,)))
    y.carrier.release()
    for attempt in (
        lambda: sw.add(x, y),
        lambda: sw.relu(y),
        lambda: y.carrier.dispatch_op("relu"),
        lambda: y.carrier.dispatch_op("nope"),
    ):
        with pytest.raises(RuntimeError) as caught:
            attempt()
        assert str(caught.value) == "TiledEvictable is released"


@pytest.mark.rule("TE-80", "TE-81")
def test_operands_that_do_not_fit_together(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled_tiers: Tiers,
) -> None:
    x = full(tiled((2,), (2,)))
    with pytest.raises(TypeError):
        sw.add(x, dense(range(4)))
    with pytest.raises(ValueError):
        sw.add(x, full(tiled((3,), (1,))))
    other = full(tiled((2,), (2,), tiers=controlled_tiers))
    with pytest.raises(sw.UnsupportedOperationPlan, match="ArrayCarrier and FastTier"):
        sw.add(x, other)
    view = Tensor(x.carrier, 0, Layout.parse("(2):(1)"))
    with pytest.raises(sw.UnsupportedOperationPlan, match="only full Tensors"):
        sw.relu(view)
    assert all_tiles(x.carrier) == x.carrier.primary_tiles  # type: ignore[arg-type,attr-defined]  # it is tiled


@pytest.mark.rule("TE-81", "TE-97")
def test_every_carrier_is_checked_before_any_is_touched(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    first, second = tiled((2,), (2,), stored=True), tiled((2,), (2,), ())
    with pytest.raises(RuntimeError, match="invalid"):
        sw.add(full(first), full(second))
    assert first.primary_tiles == TileSet()
    assert first.residency_stats().misses == 0
    first.release()


@st.composite
def tilings(draw: st.DrawFn, extents: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Draw a grid and tile shape for given extents."""
    tile = tuple(
        draw(st.sampled_from([side for side in range(1, extent + 1) if extent % side == 0]))
        for extent in extents
    )
    grid = tuple(extent // side for extent, side in zip(extents, tile, strict=True))
    return grid, tile


def build(
    drawn: tuple[tuple[int, ...], tuple[int, ...]],
    values: list[Any],
    capacity: int | None,
    dtype: DType = DType.Float32,
) -> Tensor:
    store = ArrayCarrier(0, dtype=dtype).new_like(values)
    fast = ArrayCarrier(0, dtype=dtype)
    carrier = TiledEvictable(fast, store, *drawn, primary_capacity=capacity)
    return Tensor(carrier, 0, canonical_layout(Shape(list(carrier.logical_shape))))


def as_dense(tensor: Tensor) -> Tensor:
    values = [tensor.carrier[slot] for slot in range(tensor.carrier.size())]
    carrier = ArrayCarrier(0, dtype=tensor.dtype()).new_like(values)
    return Tensor(carrier, 0, tensor.layout)


extents = st.sampled_from([1, 2, 3, 4])
capacities = st.sampled_from([None, 1, 2, 3])


@pytest.mark.rule("TE-81", "TE-83", "TE-84", "TE-85", "G-13")
@given(st.data())
def test_pointwise_operations_are_bit_identical(data: st.DataObject) -> None:
    shape = (data.draw(extents), data.draw(extents))
    other = tuple(data.draw(st.sampled_from([1, extent])) for extent in shape)
    values = st.lists(
        st.sampled_from(SPECIAL), min_size=math.prod(shape), max_size=math.prod(shape)
    )
    x = build(data.draw(tilings(shape)), data.draw(values), data.draw(capacities))
    y = build(
        data.draw(tilings(other)), data.draw(values)[: math.prod(other)], data.draw(capacities)
    )
    for name in ("add", "elementwise_mul", "mul"):
        function = getattr(sw, name)
        assert bits(function(x, y)) == bits(function(as_dense(x), as_dense(y)))
        assert bits(function(y, x)) == bits(function(as_dense(y), as_dense(x)))
        assert bits(function(x, x)) == bits(function(as_dense(x), as_dense(x)))
    assert bits(sw.relu(x)) == bits(sw.relu(as_dense(x)))
    assert bits(sw.mul(-2.5, x)) == bits(sw.mul(-2.5, as_dense(x)))
    for tensor in (x, y):
        capacity = tensor.carrier.primary_capacity  # type: ignore[attr-defined]  # it is tiled
        resident = len(tensor.carrier.primary_tiles.coordinates)  # type: ignore[attr-defined]  # it is tiled
        assert capacity is None or resident <= capacity


@pytest.mark.rule("TE-84", "TE-85", "G-13")
@given(st.data())
def test_sums_and_products_agree(data: st.DataObject) -> None:
    rows, columns, inner = (data.draw(extents) for _ in range(3))
    exact = st.integers(-8, 8).map(float)  # every partial sum is exact
    lists = [
        data.draw(st.lists(exact, min_size=count, max_size=count))
        for count in (rows * inner, columns * inner)
    ]
    x = build(data.draw(tilings((rows, inner))), lists[0], data.draw(st.sampled_from([None, 2])))
    y = build(data.draw(tilings((columns, inner))), lists[1], data.draw(capacities))
    for description in ("a b -> a", "a b -> b", "a b -> a 1"):
        assert bits(sw.reduce_sum(y, description)) == bits(sw.reduce_sum(as_dense(y), description))
    assert bits(sw.matmul(x, y)) == bits(sw.matmul(as_dense(x), as_dense(y)))
    assert bits(sw.matmul(x, x)) == bits(sw.matmul(as_dense(x), as_dense(x)))


@pytest.mark.rule("TE-85", "G-13")
@given(st.data())
def test_exact_integers_stay_exact(data: st.DataObject) -> None:
    shape = (data.draw(extents), data.draw(extents))
    numbers = st.lists(
        st.integers(-(2**31), 2**31 - 1), min_size=math.prod(shape), max_size=math.prod(shape)
    )
    x = build(data.draw(tilings(shape)), data.draw(numbers), data.draw(capacities), DType.Int32)

    def outcome(operation: Callable[[Tensor], Tensor], tensor: Tensor) -> object:
        try:
            return bits(operation(tensor))
        except OverflowError:
            return "overflow"

    operations: list[Callable[[Tensor], Tensor]] = [
        lambda tensor: sw.reduce_sum(tensor, "a b -> a"),
        lambda tensor: sw.add(tensor, tensor),
        lambda tensor: sw.relu(tensor),
        lambda tensor: sw.mul(tensor, 3),
    ]
    if x.carrier.primary_capacity != 1:  # type: ignore[attr-defined]  # it is tiled
        operations.append(lambda tensor: sw.matmul(tensor, tensor))
    plain = as_dense(x)
    for operation in operations:
        assert outcome(operation, x) == outcome(operation, plain)


@pytest.mark.rule("TE-85")
@pytest.mark.parametrize("capacity", [None, 1])
def test_a_wide_accumulator_rounds_once(
    tiled: Any, full: Callable[..., Tensor], capacity: int | None
) -> None:
    values = [1.0, *[2.0**-25] * 4, 0.0]
    carrier = tiled((1, 3), (1, 2), values, stored=True, capacity=capacity)
    options = operation_execution_options("reduce_sum", accumulator_dtype=DType.Float64)
    result = carrier.dispatch_op("reduce_sum").forward(full(carrier), options=options)
    assert result[0] == 1.0000001192092896


@pytest.mark.rule("TE-84", "TE-41", "G-7", "G-8")
@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_no_instant_has_more_tiles_than_the_capacity(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    capacity: int,
) -> None:
    carrier = tiled((6,), (2,), stored=True, capacity=capacity, tiers=controlled_tiers)
    seen: list[int] = []
    controlled.on_submit = lambda: seen.append(len(carrier.primary_tiles.coordinates))
    x = full(carrier)
    sw.add(x, x)
    sw.relu(x)
    assert (len(seen) >= 6 and max(seen) < capacity) or capacity == 1
    assert all(count <= capacity for count in seen)
    assert "out" not in controlled.log  # clean tiles are never written back


@pytest.mark.rule("TE-84", "TE-96")
def test_the_next_tile_arrives_while_one_is_computed(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = full(tiled((4,), (2,), stored=True, capacity=2, tiers=controlled_tiers))
    overlaps: list[int] = []

    def watch(module: Any, name: str) -> None:
        compute = getattr(module, name)

        def watched(*arguments: Any) -> Any:
            running = [transfer for transfer in controlled.pending if not transfer.done]
            overlaps.append(len(running))
            value = compute(*arguments)
            for transfer in running:
                transfer.finish()
            return value

        monkeypatch.setattr(module, name, watched)

    watch(streaming, "_block_result")
    watch(backward, "_accumulate")
    # Whoever computes cannot wait for the first tile, which nobody else would finish.
    controlled.on_submit = lambda: setattr(controlled, "is_held", len(controlled.log) > 1)
    result = sw.relu(x)
    assert overlaps == [1, 1, 1, 0] and result.tolist() == list(range(8))
    overlaps.clear()
    controlled.log.clear()
    result.backward(result.detach())
    assert overlaps == [1, 1, 1, 0]


@pytest.mark.rule("TE-41", "TE-84")
def test_a_product_of_a_carrier_with_itself_needs_two_tiles(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    x = full(tiled((2, 1), (1, 2), capacity=1))
    with pytest.raises(MemoryError, match="primary_capacity is 1"):
        sw.matmul(x, x)
    single = full(tiled((1, 1), (2, 2), capacity=1))
    assert sw.matmul(single, single).tolist() == [[4, 6], [6, 10]]


@pytest.mark.rule("TE-84", "S-2")
def test_a_tile_that_others_hold_is_waited_for_by_nobody(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((3,), (1,), stored=True, capacity=2, tiers=controlled_tiers)
    controlled.is_held = True
    busy = carrier.promote_async(TileSet([(0,)]))
    controlled.is_held = False
    with pytest.raises(RuntimeError, match="pending"):
        sw.relu(full(carrier))
    controlled.release()
    busy.wait(30)
    assert sw.relu(full(carrier)).tolist() == [0, 1, 2]


@pytest.mark.rule("TE-98", "G-3")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("capacity", [None, 1, 2])
def test_a_failing_transfer_fails_the_operation_only(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    capacity: int | None,
    position: int,
    stage: str,
) -> None:
    carrier = tiled((3,), (2,), stored=True, capacity=capacity, tiers=controlled_tiers)
    x = full(carrier)
    controlled.fail(position, stage)
    with pytest.raises(OSError, match="the test fails"):
        for _ in range(2):  # a prefetch that could not begin is tried again
            sw.relu(x)
            controlled.fail(0, stage)
            carrier.evict(all_tiles(carrier))
    assert [carrier[slot] for slot in range(6)] == list(range(6)) and carrier.version == 0
    assert all(tile.pins == 0 and tile.holder is None for tile in carrier._state.tiles)
    controlled.failing = {}
    assert sw.relu(x).tolist() == list(range(6))
    carrier.release()


@pytest.mark.rule("TE-84", "TE-98", "G-3")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
@pytest.mark.parametrize("capacity", [1, 2])
def test_a_streaming_add_fails_at_every_transfer_without_a_trace(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    capacity: int,
    stage: str,
) -> None:
    position = failures = 0
    while True:
        carriers = [
            tiled((4,), (2,), stored=True, capacity=capacity, tiers=controlled_tiers)
            for _ in range(2)
        ]
        x, y = map(full, carriers)
        for carrier in carriers:  # the last tiles are dirty and have to be written
            for slot in range(8 - 2 * capacity, 8):
                carrier[slot] = -1.0
        values = [[carrier[slot] for slot in range(8)] for carrier in carriers]
        has_failed = controlled.attempt(partial(sw.add, x, y), position, stage)
        if has_failed is None:
            break  # every transfer has failed once
        failures += has_failed
        for carrier, expected in zip(carriers, values, strict=True):
            assert [carrier[slot] for slot in range(8)] == expected
            assert carrier.version == 2 * capacity
            assert all(tile.pins == 0 and tile.holder is None for tile in carrier._state.tiles)
            assert len(carrier.primary_tiles.coordinates) <= capacity
        assert sw.add(x, y).tolist() == [2 * value for value in values[0]]
        position += 1
    assert position >= 8 + 2 * capacity and failures >= 2 * capacity


@pytest.mark.rule("TE-82")
@pytest.mark.parametrize("capacity", [None, 1])
def test_layouts_that_permute_inside_tiles(
    tiled: Any, full: Callable[..., Tensor], capacity: int | None
) -> None:
    carrier = tiled((2, 2), (2, 2), stored=True, capacity=capacity)
    x, y = full(carrier), full(carrier, "((2,2),(2,2)):((4,2),(1,8))")
    assert sw.relu(y).tolist() == as_dense(y).tolist()
    assert (
        sw.reduce_sum(y, "(a b) c -> c").tolist()
        == sw.reduce_sum(as_dense(y), "(a b) c -> c").tolist()
    )
    assert sw.reduce_sum(x, "a b -> b").tolist() == [6, 22, 38, 54]


@pytest.mark.rule("TE-81", "TE-83", "G-13")
@pytest.mark.parametrize("dtype", [DType.Float32, DType.Int32])
@pytest.mark.parametrize("is_swapped", [False, True])
@pytest.mark.parametrize("capacity", [None, 1])
@pytest.mark.parametrize("text", ["((2,2),(2,2)):((4,2),(1,8))", "((1,4),(2,2)):((0,1),(4,8))"])
def test_an_operand_of_one_element_has_no_say_in_the_layout(
    tiled: Any,
    full: Callable[..., Tensor],
    text: str,
    capacity: int | None,
    is_swapped: bool,
    dtype: DType,
) -> None:
    wide = full(tiled((2, 2), (2, 2), capacity=capacity, dtype=dtype), text)
    single = full(
        tiled((1, 1), (1, 1), [3], capacity=capacity, dtype=dtype), "((1,1),(1,1)):((0,0),(0,0))"
    )

    def product(*pair: Tensor) -> Tensor:
        return sw.mul(*(pair[::-1] if is_swapped else pair))

    dense = [
        Tensor(ArrayCarrier(0, dtype=dtype).new_like(values), 0, tensor.layout)
        for values, tensor in ((range(16), wide), ([3], single))
    ]
    result, expected = product(wide, single), product(dense[0], dense[1])
    assert result.layout == expected.layout == wide.layout and result.dtype() is dtype
    assert bits(result) == bits(expected)
