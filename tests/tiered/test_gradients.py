"""Gradients of tiled Tensors: tiled themselves, and implicit zero where nothing arrived."""

import gc
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import (
    Carrier,
    DType,
    Layout,
    ResidencyPlan,
    Tensor,
    TiledEvictable,
    TileSelection,
    TileSet,
)
from strideweave.testing import ArrayCarrier

Tiers = tuple[type[Carrier], type[Carrier]]


def one(*numbers: int) -> TileSet:
    return TileSet([(number,) for number in numbers])


def flat(tensor: Tensor | None) -> list[Any]:
    assert tensor is not None
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def ones(tensor: Tensor, value: float = 1.0) -> Tensor:
    carrier = ArrayCarrier(0, dtype=DType.Float32).new_like([value] * tensor.layout.cosize)
    return Tensor(carrier, 0, tensor.layout)


def carrier_of(tensor: Tensor | None) -> Any:
    assert tensor is not None
    return tensor.carrier


@pytest.mark.rule("TE-91", "TE-92", "TE-93", "A-17")
def test_worked_example_of_two_projections(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2, 2), (2, 2), stored=True, capacity=3)
    x = full(carrier)
    selection = TileSelection([[0], [0]])
    total = None
    for value in (1.0, 2.0):
        compact = carrier.project(x, selection).wait()
        compact.backward(ones(compact, value))
        total = x.grad
    assert total is x.grad
    gradient = carrier_of(total)
    assert type(gradient) is TiledEvictable and gradient is not carrier
    assert gradient.primary_tiles == TileSet([(0, 0)])
    assert [gradient[slot] for slot in (0, 1, 4, 5, 2, 15)] == [3, 3, 3, 3, 0, 0]
    states = [gradient.tile_state(tile).location for tile in ((1, 0), (0, 1), (1, 1))]
    assert states == ["implicit"] * 3
    assert gradient.primary_capacity == 3 and gradient.grid_shape == (2, 2)
    assert total is not None and total.layout == x.layout and total.autograd_ctx is None


@pytest.mark.rule("TE-93", "A-14")
def test_contributions_within_one_traversal_stay_tiled(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    carrier = tiled((3,), (2,))
    x = full(carrier)
    first = carrier.project(x, TileSelection([[0]])).wait()
    second = carrier.project(x, TileSelection([[0, 2]])).wait()
    result = sw.reduce_sum(first * 2.0, "a -> 1") + sw.reduce_sum(second, "a -> 1")
    result.backward()
    assert flat(x.grad) == [3, 3, 0, 0, 1, 1]
    assert carrier_of(x.grad).primary_tiles == one(0, 2)
    assert carrier_of(x.grad).tile_state((1,)).location == "implicit"


@pytest.mark.rule("TE-90", "TE-91", "TE-95")
@pytest.mark.parametrize("capacity", [None, 2])
@pytest.mark.parametrize("text", ["(4,4):(1,4)", "((2,2),(2,2)):((4,2),(1,8))"])
def test_direct_operations_have_the_dense_gradients(
    tiled: Any, full: Callable[..., Tensor], capacity: int | None, text: str
) -> None:
    values = [float(slot % 5 - 2) for slot in range(16)]

    def gradients(x: Tensor, y: Tensor) -> list[list[float]]:
        for result in (
            sw.add(x, y),
            sw.mul(x, y),
            sw.mul(x, 3.0),
            sw.elementwise_mul(x, x),
            sw.relu(x),
            sw.matmul(x, y) if x.layout.depth < 2 else sw.relu(y),
            sw.reduce_sum(x, "a b -> a") if x.layout.depth < 2 else sw.relu(x),
        ):
            result.backward(result.detach())
        return [flat(x.grad), flat(y.grad)]

    def dense_of(tensor: Tensor) -> Tensor:
        inner = ArrayCarrier(0, dtype=DType.Float32).new_like(values)
        return Tensor(inner, 0, tensor.layout)

    x, y = (
        full(tiled((2, 2), (2, 2), values, stored=True, capacity=capacity), text) for _ in range(2)
    )
    assert gradients(x, y) == gradients(dense_of(x), dense_of(y))
    for tensor in (x, y):
        gradient = carrier_of(tensor.grad)
        assert type(gradient) is TiledEvictable and gradient.primary_capacity == capacity
        assert gradient.valid_tiles == carrier_of(tensor).valid_tiles
        if capacity is not None:
            assert len(gradient.primary_tiles.coordinates) <= capacity


@pytest.mark.rule("TE-91", "TE-95")
def test_broadcast_operands_get_summed_gradients(tiled: Any, full: Callable[..., Tensor]) -> None:
    wide, narrow = full(tiled((2, 2), (1, 2))), full(tiled((2, 1), (1, 1), [3, 4]))
    result = sw.mul(wide, narrow)
    result.backward(ones(result))
    assert flat(narrow.grad) == [0 + 2 + 4 + 6, 1 + 3 + 5 + 7]
    assert flat(wide.grad) == [3, 4] * 4
    assert type(carrier_of(narrow.grad)) is TiledEvictable


class Answering:
    def __init__(self) -> None:
        self.calls: list[tuple[TileSet, str]] = []

    def plan(self, required: TileSet, purpose: str) -> ResidencyPlan:
        self.calls.append((required, purpose))
        return ResidencyPlan()


@pytest.mark.rule("TE-94", "TE-95", "TE-36", "A-24")
def test_residency_may_change_between_forward_and_backward(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    policy = Answering()
    carrier = tiled((2,), (2,), [-1, 2, -3, 4], policy=policy)
    x = full(carrier)
    result = sw.relu(x)
    carrier.evict(one(0, 1))
    result.backward(ones(result))
    assert policy.calls == [(one(0, 1), "operation"), (one(0, 1), "backward")]
    assert carrier.primary_tiles == one(0, 1) and flat(x.grad) == [0, 1, 0, 1]


@pytest.mark.rule("TE-94", "A-24", "G-4")
@pytest.mark.parametrize("write", ["slot", "update", "compact"])
def test_writing_after_the_call_makes_backward_fail(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor], write: str
) -> None:
    carrier = tiled((2,), (2,))
    x, compact = full(carrier), dense([1, 2])
    results = [sw.relu(x), carrier.project(x, TileSelection([[0]])).wait()]
    scattered = carrier.scatter(compact, x, TileSelection([[0]])).wait()
    if write == "slot":
        carrier[3] = 9.0
    elif write == "update":
        carrier.update(dense([5, 6]), TileSelection([[1]]))
    else:
        compact[0] = 7.0
        results = []
    for result in (*results, scattered):
        with pytest.raises(RuntimeError, match="modified in-place"):
            result.backward(ones(result))
    assert x.grad is None


@pytest.mark.rule("TE-90", "TE-92")
@pytest.mark.parametrize(
    ("reduction", "expected"), [("replace", [1, 2, 0, 0]), ("add", [1, 2, 3, 4])]
)
def test_scatter_divides_its_gradient(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    reduction: str,
    expected: list[float],
) -> None:
    carrier = tiled((2,), (2,))
    x, compact = full(carrier), dense([5, 6])
    result = carrier.scatter(compact, x, TileSelection([[1]]), reduction=reduction).wait()
    node = result.autograd_ctx
    assert node is not None and node.inputs() == (compact, x)
    result.backward(dense([1, 2, 3, 4]))
    assert flat(compact.grad) == [3, 4] and type(carrier_of(compact.grad)) is ArrayCarrier
    assert flat(x.grad) == expected and type(carrier_of(x.grad)) is TiledEvictable
    location = "implicit" if reduction == "replace" else "primary"
    assert carrier_of(x.grad).tile_state((1,)).location == location


@pytest.mark.rule("TE-92")
def test_a_cotangent_may_be_tiled(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (2,))
    x, compact = full(carrier), dense([5, 6])
    filled = carrier.scatter(compact, x, TileSelection([[1]])).wait()
    other = carrier_of(filled).scatter(dense([7, 8]), filled, TileSelection([[0]]))
    both = carrier_of(other.wait())
    assert both.valid_tiles == one(0)
    back = carrier_of(filled).project(filled, TileSelection([[1]])).wait()
    back.backward(dense([10, 20]))
    assert flat(compact.grad) == [10, 20]
    assert carrier_of(x.grad).primary_tiles == TileSet()
    assert carrier_of(x.grad).valid_tiles == one(0, 1)


@pytest.mark.rule("TE-92", "O-77")
def test_wrong_cotangents(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (2,))
    x, compact = full(carrier), dense([5, 6])
    for result in (
        carrier.project(x, TileSelection([[0]])).wait(),
        carrier.scatter(compact, x, TileSelection([[0]])).wait(),
    ):
        node: Any = result.autograd_ctx
        with pytest.raises(TypeError, match="must be a Tensor"):
            node.backward(3)
        with pytest.raises(ValueError, match="shape"):
            node.backward(dense(range(5)))
        released = dense(range(result.size()))
        released.carrier.release()
        with pytest.raises(RuntimeError, match="released"):
            node.backward(released)


@pytest.mark.rule("TE-90", "A-5")
def test_nothing_is_recorded_without_a_graph(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (2,))
    with sw.no_grad():
        assert carrier.project(full(carrier), TileSelection([[0]])).wait().autograd_ctx is None
    whole = tiled((2,), (2,), dtype=DType.Int32)
    assert whole.project(full(whole), TileSelection([[0]])).wait().autograd_ctx is None
    carrier.update(dense([1, 2]), TileSelection([[0]]))
    assert full(carrier).autograd_ctx is None


@pytest.mark.rule("TE-90")
def test_the_mode_of_the_call_decides(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((2,), (2,), stored=True, tiers=controlled_tiers)
    x = full(carrier)
    controlled.is_held = True
    handle = carrier.project(x, TileSelection([[0]]))
    with sw.no_grad():
        controlled.release()
        compact = handle.wait(30)
    assert compact.autograd_ctx is not None and compact.autograd_ctx.inputs() == (x,)


@pytest.mark.rule("TE-93", "A-11", "A-17")
def test_a_leaf_takes_a_dense_cotangent(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    x = full(tiled((2,), (2,)))
    x.backward(dense([1, 2, 3, 4]))
    first = x.grad
    x.backward(dense([1, 1, 1, 1]))
    assert x.grad is first and flat(first) == [2, 3, 4, 5]
    assert type(carrier_of(first)) is TiledEvictable
    assert first is not None and first.version == 1


@pytest.mark.rule("TE-93", "A-28")
def test_grad_gives_tiled_gradients(tiled: Any, full: Callable[..., Tensor]) -> None:
    carrier = tiled((2,), (2,))
    x = full(carrier)
    compact = carrier.project(x, TileSelection([[1]])).wait()
    (gradient,) = sw.grad(compact, [x], ones(compact))
    assert flat(gradient) == [0, 0, 1, 1] and x.grad is None
    assert carrier_of(gradient).tile_state((0,)).location == "implicit"


@pytest.mark.rule("TE-93", "G-13")
def test_what_no_contribution_reaches_keeps_its_bits(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    carrier = tiled((2,), (1,))
    x = full(carrier)
    zeros = carrier.project(x, TileSelection([[0]])).wait()
    zeros.backward(ones(zeros, -0.0), retain_graph=True)
    other = carrier.project(x, TileSelection([[1]])).wait()
    other.backward(ones(other, 1.0))
    assert [repr(value) for value in flat(x.grad)] == ["-0.0", "1.0"]
    zeros.backward(ones(zeros, 0.0))
    assert [repr(value) for value in flat(x.grad)] == ["0.0", "1.0"]


@pytest.mark.rule("TE-96")
def test_backward_streams_with_a_capacity(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((4,), (1,), stored=True, capacity=1, tiers=controlled_tiers)
    x = full(carrier)
    result = sw.mul(x, x)
    seen: list[int] = []
    controlled.on_submit = lambda: seen.append(len(carrier.primary_tiles.coordinates))
    result.backward(result.detach())
    assert len(seen) >= 4 and max(seen) <= 1
    assert flat(x.grad) == [2 * value**3 for value in range(4)]
    assert len(carrier_of(x.grad).primary_tiles.coordinates) == 1


@pytest.mark.rule("TE-98", "G-3")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
@pytest.mark.parametrize("position", range(2))
def test_a_failing_backward_changes_nothing(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    position: int,
    stage: str,
) -> None:
    carrier = tiled((2,), (2,), [-1, 2, -3, 4], stored=True, tiers=controlled_tiers)
    x = full(carrier)
    result = sw.relu(x)
    carrier.evict(one(0, 1))
    cotangent = ones(result)
    controlled.fail(position, stage)
    with pytest.raises(OSError, match="the test fails"):
        result.backward(cotangent, retain_graph=True)
    assert x.grad is None and carrier.version == 0
    assert carrier.primary_tiles == TileSet() and carrier.valid_tiles == one(0, 1)
    result.backward(cotangent)
    assert flat(x.grad) == [0, 1, 0, 1]


STREAMED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "relu": lambda x, y: sw.relu(x),
    "mul": sw.mul,
    "matmul": sw.matmul,
}


@pytest.mark.rule("TE-96", "TE-98", "G-3")
@pytest.mark.parametrize("stage", ["prepare", "submit", "complete"])
@pytest.mark.parametrize("name", STREAMED)
def test_a_streamed_backward_fails_at_every_transfer_without_a_trace(
    tiled: Any,
    full: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
    name: str,
    stage: str,
) -> None:
    x, y = (
        full(tiled((2, 2), (1, 2), values, stored=True, capacity=1, tiers=controlled_tiers))
        for values in ([-1, 2, -3, 4, 5, 6, -7, 8], [1, -1, 2, 0, 3, 1, 1, 2])
    )
    result = STREAMED[name](x, y)
    states = [carrier_of(tensor)._state for tensor in (x, y)]
    position = 0
    while True:
        for tensor in (x, y):
            carrier_of(tensor).evict(carrier_of(tensor).primary_tiles)
        start = len(controlled.log)
        controlled.fail(position, stage)
        try:
            result.backward(result.detach(), retain_graph=True)
        except OSError as error:
            assert "the test fails" in str(error)
        if len(controlled.log) <= start + position:
            break  # every transfer has failed once
        controlled.failing = {}
        for tensor, state in zip((x, y), states, strict=True):
            assert carrier_of(tensor).version == 0
            assert carrier_of(tensor).valid_tiles == TileSet([(0, 0), (1, 0), (0, 1), (1, 1)])
            assert all(tile.pins == 0 and tile.holder is None for tile in state.tiles)
            assert state.active == 0 and state.spare == []
        if x.grad is not None:  # a failed prefetch is tried again when the tile is needed
            x.grad = y.grad = None
        position += 1
    assert position >= 4
    dense = [
        Tensor(ArrayCarrier(0, dtype=DType.Float32).new_like(flat(t)), 0, t.layout) for t in (x, y)
    ]
    expected = STREAMED[name](*dense)
    expected.backward(expected.detach())
    assert flat(x.grad) == flat(dense[0].grad)
    assert name == "relu" or flat(y.grad) == flat(dense[1].grad)


@pytest.mark.rule("TE-96", "TE-98")
def test_a_failed_backward_leaves_no_storage_behind(
    tiled: Any, full: Callable[..., Tensor], controlled: Any, controlled_tiers: Tiers
) -> None:
    carrier = tiled((4,), (2,), stored=True, capacity=1, tiers=controlled_tiers)
    result = sw.mul(full(carrier), 3.0)
    squared = sw.elementwise_mul(full(carrier), full(carrier))
    carrier.evict(carrier.primary_tiles)

    def live() -> list[int]:
        objects = gc.get_objects()
        return [
            sum(type(entry) is tier and not entry.is_released() for entry in objects)
            for tier in controlled_tiers
        ]

    before = live()
    controlled.fail(2, "submit")  # two tiles of each gradient are there
    with pytest.raises(OSError) as caught:
        squared.backward(result.detach())
    carrier.evict(carrier.primary_tiles)
    assert caught.value is not None and live() == before


@pytest.mark.rule("TE-36", "TE-95")
@pytest.mark.parametrize("capacity", [None, 2])
def test_backward_asks_once_per_carrier(
    tiled: Any, full: Callable[..., Tensor], capacity: int | None
) -> None:
    policy = Answering()
    carrier = tiled((2, 1), (1, 2), [1, 2, 3, 4], policy=policy, capacity=capacity)
    other = tiled((2, 1), (1, 2), [5, 6, 7, 8], policy=policy, capacity=capacity)
    x, twin, y = full(carrier), full(carrier), full(other)
    everything = TileSet([(0, 0), (1, 0)])
    for operation in (sw.mul, sw.elementwise_mul, sw.matmul):
        result = operation(x, twin)
        policy.calls.clear()
        result.backward(ones(result))
        assert policy.calls == [(everything, "backward")]
    result = sw.mul(x, y)
    policy.calls.clear()
    result.backward(ones(result))
    assert policy.calls == [(everything, "backward")] * 2
    policy.calls.clear()
    for result in (sw.add(x, y), sw.reduce_sum(x, "a b -> a"), sw.mul(x, 2.0)):
        policy.calls.clear()
        result.backward(ones(result))
        assert policy.calls == []


@pytest.mark.rule("TE-96", "TE-91")
def test_gradients_of_few_open_tiles(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    controlled: Any,
    controlled_tiers: Tiers,
) -> None:
    # Every tile of y's gradient takes a part from each of x's six tiles; one is open at a time.
    x = full(tiled((3, 2), (2, 2), stored=True, capacity=1, tiers=controlled_tiers))
    y = full(tiled((2, 2), (1, 2), stored=True, capacity=1, tiers=controlled_tiers))
    result = sw.matmul(x, y)
    seen: list[int] = []
    carriers = [carrier_of(tensor) for tensor in (x, y)]
    controlled.on_submit = lambda: seen.extend(len(c.primary_tiles.coordinates) for c in carriers)
    result.backward(dense([1.0] * 12, 6, 2, tier=controlled_tiers[0]))
    assert max(seen) == 1
    columns = [[6 * k + row for row in range(6)] for k in range(4)]  # of x: 6 rows, 4 columns
    other = [[2 * k + row for row in range(2)] for k in range(4)]
    assert flat(x.grad) == [float(sum(column)) for column in other for _ in range(6)]
    assert flat(y.grad) == [float(sum(column)) for column in columns for _ in range(2)]
    for tensor in (x, y):
        gradient = carrier_of(tensor.grad)
        assert len(gradient.primary_tiles.coordinates) <= 1
        assert gradient.valid_tiles == carrier_of(tensor).valid_tiles


@pytest.mark.rule("TE-96", "TE-85")
def test_what_needs_dense_operands_has_gradients_too(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    x = full(tiled((2, 2), (1, 2), stored=True, capacity=1))
    result = sw.reduce_sum(x, "a b -> a", accumulator_dtype=DType.Float64)
    result.backward(ones(result, 2.0))
    assert flat(x.grad) == [2.0] * 8
    grouped = full(tiled((2, 2), (1, 2), stored=True, capacity=1), "(2,(2,2)):(1,(2,4))")
    product = sw.matmul(grouped, x)
    product.backward(ones(product))
    assert flat(grouped.grad) == [1, 1, 5, 5, 9, 9, 13, 13]


@pytest.mark.rule("TE-96", "TE-92")
def test_a_streamed_backward_takes_a_tiled_cotangent(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    x = full(tiled((2, 2), (1, 2), stored=True, capacity=1))
    policy = Answering()
    cotangent = full(tiled((2, 1), (1, 4), stored=True, capacity=1, policy=policy))
    sw.relu(x).backward(cotangent)
    assert flat(x.grad) == [0, 1, 2, 3, 4, 5, 6, 7] and len(policy.calls) == 1


@pytest.mark.rule("TE-28")
def test_a_view_has_no_tiled_gradient(tiled: Any, dense: Callable[..., Tensor]) -> None:
    view = Tensor(tiled((2,), (2,)), 0, Layout.parse("(2):(1)"))
    with pytest.raises(ValueError):
        view.backward(dense([1, 2]))


@pytest.mark.rule("TE-93", "A-17")
@pytest.mark.parametrize("capacity", [None, 2])
def test_a_sparse_contribution_touches_its_tiles_only(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor], capacity: int | None
) -> None:
    x = full(tiled((4,), (2,), capacity=capacity))
    sw.add(x, x).backward(dense(range(8)))
    existing = x.grad
    assert existing is not None and isinstance(existing.carrier, TiledEvictable)
    gradient = existing.carrier
    gradient.evict(gradient.primary_tiles)
    before, version = gradient.residency_stats(), gradient.version
    gradient_tile(x, 2).backward(dense([100.0, 200.0]))
    assert x.grad is existing and existing.tolist() == [0, 2, 4, 6, 108, 210, 12, 14]
    after = gradient.residency_stats()
    assert gradient.version == version + 1
    assert gradient.dirty_tiles == gradient.primary_tiles == TileSet([(2,)])
    assert after.promotions == before.promotions + 1 and after.bytes_out == before.bytes_out


def gradient_tile(tensor: Tensor, number: int) -> Tensor:
    assert isinstance(tensor.carrier, TiledEvictable)
    return tensor.carrier.project(tensor, TileSelection([[number]])).wait()


@pytest.mark.rule("TE-44", "TE-96")
def test_gradients_count_what_storing_them_has_cost(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    x = full(tiled((4,), (2,), stored=True, capacity=1))
    sw.add(x, x).backward(dense(range(8)))
    assert x.grad is not None and isinstance(x.grad.carrier, TiledEvictable)
    counted = x.grad.carrier.residency_stats()
    # three of the four tiles of eight bytes did not fit
    assert (counted.promotions, counted.evictions, counted.bytes_out) == (1, 0, 24)

    y = full(tiled((4,), (2,), stored=True, capacity=1))
    product = sw.elementwise_mul(y, y)
    node = product.autograd_ctx
    assert node is not None
    left, _ = node.backward(dense([1] * 8))
    assert left is not None and isinstance(left.carrier, TiledEvictable)
    built = left.carrier.residency_stats()
    assert (built.promotions, built.evictions, built.bytes_out) == (4, 4, 32)
    assert built.bytes_in == 0


@pytest.mark.rule("A-18", "TE-93")
def test_a_sum_that_fails_leaves_every_gradient_alone(
    tiled: Any,
    full: Callable[..., Tensor],
    dense: Callable[..., Tensor],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaves = [full(tiled((2,), (2,))) for _ in range(2)]
    sw.add(*leaves).backward(dense([1, 2, 3, 4]))
    existing = [leaf.grad for leaf in leaves]
    product = sw.add(*leaves)
    answers = iter([sw.add, sw.add])  # the two tiles of the first gradient

    def failing(name: str, *terms: Tensor) -> Tensor:
        return next(answers)(*terms)

    monkeypatch.setattr("strideweave.carriers.tiled_evictable.gradients.evaluate", failing)
    versions = [entry.carrier.version for entry in existing if entry is not None]
    with pytest.raises(StopIteration):
        product.backward(dense([1, 1, 1, 1]))
    assert [leaf.grad for leaf in leaves] == existing
    for leaf, version in zip(leaves, versions, strict=True):
        assert leaf.grad is not None and leaf.grad.tolist() == [1, 2, 3, 4]
        assert leaf.grad.carrier.version == version


@pytest.mark.rule("TE-93", "A-17")
def test_an_existing_gradient_may_be_part_of_a_carrier(
    tiled: Any, full: Callable[..., Tensor], dense: Callable[..., Tensor]
) -> None:
    x = full(tiled((2,), (2,)))
    whole = tiled((4,), (2,), [5.0] * 8)
    x.grad = Tensor(whole, 2, Layout.parse("4:1"))
    gradient_tile(x, 1).backward(dense([1.0, 2.0]))
    assert x.grad is not None and x.grad.tolist() == [5, 5, 6, 7]
    assert full(whole).tolist() == [5, 5, 5, 5, 6, 7, 5, 5]
