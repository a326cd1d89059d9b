"""Hierarchies over CPU memory and files."""

import os
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, DType, Evictable, FileBacked, Generic, Layout, Tensor, profile

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


def over_file(values: Any, layout: str | None = None, dtype: DType = FLOAT) -> Tensor:
    carrier = Evictable(CPU(0, dtype=dtype).new_like(values), FileBacked(dtype=dtype))
    return Tensor(carrier, 0, Layout.parse(layout or f"{carrier.size()}:1"))


def hierarchy_of(tensor: Tensor) -> Evictable:
    assert isinstance(tensor.carrier, Evictable)
    return tensor.carrier


@pytest.mark.rule("C-75", "C-72", "M-18")
@pytest.mark.parametrize("dtype", [FLOAT, INT, BOOL], ids=lambda dtype: dtype.name)
def test_transitions_are_one_bulk_transfer_each_way(
    dtype: DType, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int, int]] = []
    preadv, pwrite = os.preadv, os.pwrite

    def noting_preadv(descriptor: int, buffers: list[Any], position: int) -> int:
        calls.append(("read", len(buffers[0]), position))
        return preadv(descriptor, buffers, position)

    def noting_pwrite(descriptor: int, values: Any, position: int) -> int:
        calls.append(("write", len(values), position))
        return pwrite(descriptor, values, position)

    count = 50_000
    values = np.random.default_rng(1).integers(-9, 9, count, np.int32)
    values = values > 0 if dtype is BOOL else values.astype(np.float32 if dtype is FLOAT else int)
    tensor = over_file(values.tolist(), dtype=dtype)
    monkeypatch.setattr(os, "preadv", noting_preadv)
    monkeypatch.setattr(os, "pwrite", noting_pwrite)
    hierarchy_of(tensor).evict()
    hierarchy_of(tensor).promote()
    total = count * (1 if dtype is BOOL else 4)
    assert calls == [("write", total, 0), ("read", total, 0)]
    assert np.array_equal(np.asarray(tensor), values)


@pytest.mark.rule("C-67", "C-72", "50/E-24")
def test_values_survive_and_views_stay_valid() -> None:
    tensor = over_file(list(range(24)), "(4,6):(1,4)")
    view = sw.permute(tensor[1:3, :], 1, 0)
    before = view.tolist()
    for _ in range(3):
        hierarchy_of(tensor).evict()
        assert hierarchy_of(tensor).secondary.size() == 24
        hierarchy_of(tensor).promote()
    assert view.carrier is tensor.carrier and view.tolist() == before
    assert tensor.version == 0


@pytest.mark.rule("Y-32", "A-47", "C-80", "C-72", "M-39")
def test_profiles_show_the_hierarchy_and_its_primary() -> None:
    def events(**options: Any) -> Any:
        tensor = over_file([1.0, -2.0])
        with profile(**options) as profiler:
            hierarchy_of(sw.relu(tensor)).evict()
        return profiler.events()

    outer, inner = events()
    assert [(event.id, event.parent_id, event.name) for event in (outer, inner)] == [
        (0, None, "relu"),
        (1, 0, "relu"),
    ]
    assert (outer.carrier_type, inner.carrier_type) == (Evictable, CPU)
    assert outer.self_time_ns == outer.duration_ns - inner.duration_ns
    (root,) = events(carriers={CPU})
    assert root.carrier_type is CPU and root.parent_id is None
    (whole,) = events(carriers={Evictable})
    assert whole.carrier_type is Evictable and whole.self_time_ns < whole.duration_ns
    assert events(carriers=()) == ()
    shaped, nested = events(record_shapes=True)
    assert shaped.input_shapes == nested.input_shapes == ((2,),)


@pytest.mark.rule("O-30", "C-77")
def test_capabilities_are_those_of_cpu() -> None:
    assert (
        Evictable(CPU(1), FileBacked()).operation_capabilities() == CPU(1).operation_capabilities()
    )


@pytest.mark.rule("C-82", "O-75", "A-24")
def test_the_node_is_single_use_and_names_the_hierarchy() -> None:
    result = sw.relu(over_file([1.0]))
    node = result.autograd_ctx
    assert node is not None and node._dispatch_carrier_class is Evictable
    with pytest.raises(RuntimeError):
        node.forward(result)


@pytest.mark.rule("C-82", "A-35", "G-13")
def test_training_over_evicted_values_agrees_with_cpu() -> None:
    """Weights are evicted between steps; every gradient agrees with plain CPU."""
    rng = np.random.default_rng(3)
    inputs = rng.standard_normal(12).astype(np.float32)
    start = rng.standard_normal(8).astype(np.float32)

    def steps(make: Any, *, evicts: bool) -> list[float]:
        data, weights = make(inputs, "(3,4):(1,3)"), make(start, "(2,4):(1,2)")
        for _ in range(4):
            if evicts:
                hierarchy_of(weights).promote()
            hidden = sw.sigmoid(sw.matmul(weights, data))
            loss = sw.reduce_sum(hidden * hidden, "rows columns -> 1")
            loss.backward()
            gradient = weights.grad
            assert gradient is not None and type(gradient.carrier) is type(weights.carrier)
            updated = [w - 0.5 * g for w, g in zip(flat(weights), flat(gradient), strict=True)]
            weights[...] = np.array(updated, np.float32)
            weights.grad = None
            if evicts:
                hierarchy_of(weights).evict()
        if evicts:
            hierarchy_of(weights).promote()
        return flat(weights)

    def flat(tensor: Tensor) -> list[float]:
        return [tensor[ordinal] for ordinal in range(tensor.size())]

    def plain(values: Any, layout: str) -> Tensor:
        return Tensor(CPU(0).new_like(values), 0, Layout.parse(layout))

    assert steps(over_file, evicts=True) == steps(plain, evicts=False)


@pytest.mark.rule("M-16", "M-2", "C-41")
@pytest.mark.parametrize("destination", [lambda: CPU(6), FileBacked, lambda: Generic([0.0] * 6)])
def test_hierarchies_move_like_other_carriers(destination: Any) -> None:
    source = over_file([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "(2,3):(1,2)")
    tiers = (hierarchy_of(source).primary, hierarchy_of(source).secondary)
    moved = sw.move(source, destination())
    assert moved.tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    assert source.carrier.is_released() and all(tier.is_released() for tier in tiers)
    back = sw.move(moved, Evictable(CPU(6), FileBacked()))
    assert back.tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    assert back.version == 1 and hierarchy_of(back).primary.version == 1


@pytest.mark.rule("M-31", "M-34", "C-76")
def test_gradients_cross_moves_of_hierarchies() -> None:
    source = over_file([1.0, 2.0])
    moved = sw.move(source, CPU(2))
    (moved * moved).backward(Tensor(CPU(0).new_like([1.0, 10.0]), 0, Layout.parse("2:1")))
    assert source.grad is not None and source.grad.tolist() == [2.0, 40.0]
    assert isinstance(source.grad.carrier, Evictable)


@pytest.mark.rule("M-26", "C-25", "C-70")
def test_a_pending_move_keeps_the_values_where_they_are() -> None:
    tensor = over_file(list(range(1 << 16)))
    handle = sw.copy_async(tensor, FileBacked())
    try:
        hierarchy_of(tensor).evict()
    except RuntimeError as error:
        assert "owned" in str(error)
    assert handle.wait().tolist() == [float(value) for value in range(1 << 16)]
    hierarchy_of(tensor).promote()
    hierarchy_of(tensor).evict()


@pytest.mark.rule("M-47", "M-49")
def test_numpy_gets_a_copy() -> None:
    tensor = over_file([1.0, 2.0])
    with pytest.raises(BufferError, match="Evictable"):
        tensor.numpy()
    array = np.array(tensor)
    array[0] = 9.0
    assert tensor.tolist() == [1.0, 2.0]
    with pytest.raises(BufferError, match="Evictable"):
        tensor.__dlpack__()
