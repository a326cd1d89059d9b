"""Values between Metal and other carriers: whole spans, all or nothing, also in the background."""

import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, FileBacked, Generic, Layout, Metal, Tensor
from strideweave.carriers.move import (
    CpuToMetalMoveOperation,
    ElementwiseMoveOperation,
    MetalToCpuMoveOperation,
    MetalToMetalMoveOperation,
    dispatch_move,
)
from strideweave.layout.enumeration import slots as slots_of

MakeTensor = Callable[..., Tensor]
FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool
OPERATIONS = {
    (CPU, Metal): CpuToMetalMoveOperation,
    (Metal, CPU): MetalToCpuMoveOperation,
    (Metal, Metal): MetalToMetalMoveOperation,
}
PAIRS = [pytest.param(*pair, id=f"{pair[0].__name__}-{pair[1].__name__}") for pair in OPERATIONS]


def slots(carrier: Carrier) -> list[Any]:
    return [carrier[slot] for slot in range(carrier.size())]


@pytest.mark.rule("MT-40", "M-13", "M-14", "M-16", "M-17")
def test_the_pairs_are_exact_and_reached_by_every_path() -> None:
    move: Any = importlib.import_module("strideweave.carriers.move")
    operation: Any = importlib.import_module("strideweave.operation")
    for pair, expected in OPERATIONS.items():
        assert dispatch_move(*pair) is expected
        assert (expected.source_class, expected.destination_class) == pair
        for module in (sw, move, operation):
            assert getattr(module, expected.__name__) is expected
    for other in (Generic, FileBacked):
        assert (
            dispatch_move(Metal, other) is dispatch_move(other, Metal) is ElementwiseMoveOperation
        )
    for pair in ((Metal, sw.BlockDeviceCarrier), (sw.BlockDeviceCarrier, Metal)):
        with pytest.raises(NotImplementedError, match="no permitted route"):
            dispatch_move(*pair)


LAYOUTS = ["4:1", "(2,3):(3,1)", "(2,2):(1,4)", "(3,2):(0,2)", "((2,2),3):((1,6),2)"]


@pytest.mark.rule("MT-41", "MT-42", "MT-43", "M-2", "M-5", "M-21")
@pytest.mark.parametrize(("source_class", "destination_class"), PAIRS)
@pytest.mark.parametrize("text", LAYOUTS)
@pytest.mark.parametrize("dtype", [FLOAT, INT, BOOL], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("offset", [0, 2])
def test_a_span_moves_with_its_holes(
    source_class: Any, destination_class: Any, text: str, dtype: DType, offset: int
) -> None:
    layout = Layout.parse(text)
    numbers = np.random.default_rng(3).integers(-9, 9, offset + layout.cosize + 1)
    stored = (numbers > 0 if dtype is BOOL else numbers.astype(np.int32)).tolist()
    source = source_class(0, dtype=dtype).new_like(stored)
    kept = stored[: layout.cosize + 2][::-1]
    destination = destination_class(0, dtype=dtype).new_like(kept)
    tensor = Tensor(source, offset, layout)
    for action, is_copy in ((sw.copy, True), (sw.move, False)):
        version = destination.version
        result = action(tensor, destination)
        assert (result.layout, result.offset, result.carrier) == (layout, 0, destination)
        span = stored[offset : offset + layout.cosize]
        assert slots(destination) == span + kept[layout.cosize :]
        assert [result[at] for at in range(layout.size)] == [span[at] for at in slots_of(layout)]
        assert destination.version == version + 1 and source.version == 0
        assert source.is_released() is not is_copy


@pytest.mark.rule("MT-41", "M-5")
@pytest.mark.parametrize(("source_class", "destination_class"), PAIRS)
def test_a_destination_is_never_sized(source_class: Any, destination_class: Any) -> None:
    tensor = Tensor(source_class(2), 0, Layout.parse("2:1"))
    with pytest.raises(ValueError, match="too small"):
        sw.move(tensor, destination_class(0))
    assert tensor.tolist() == [0.0, 0.0]


@pytest.mark.rule("MT-43", "MT-10", "M-22", "M-25")
def test_pending_work_is_complete_before_the_source_goes(make_tensor: MakeTensor) -> None:
    numbers = np.random.default_rng(4).normal(size=(300, 300)).astype(np.float32)
    tensor = make_tensor(numbers.ravel(), "(300,300):(300,1)")
    expected = numbers
    for _ in range(8):
        tensor = sw.mul(sw.matmul(tensor, tensor), 0.01)
        expected = (expected @ expected.T) * np.float32(0.01)
    source = tensor.carrier
    handle = sw.move_async(tensor, CPU(90000))
    result = handle.wait()
    assert handle.done and source.is_released()
    assert np.allclose(np.asarray(result), expected, rtol=1e-3)


@pytest.mark.rule("MT-43", "MT-51", "MT-10")
def test_moves_in_the_background_are_built_on_their_own_threads(make_tensor: MakeTensor) -> None:
    handles = [sw.copy_async(make_tensor([float(number), 2.0]), Metal(2)) for number in range(20)]
    results = [handle.wait() for handle in handles]
    sums = [sw.add(result, result) for result in results]
    assert [total[0] for total in sums] == [2.0 * number for number in range(20)]


@pytest.mark.rule("MT-51", "M-25")
def test_moves_in_the_background_submit_in_few_threads(
    monkeypatch: pytest.MonkeyPatch, make_tensor: MakeTensor
) -> None:
    """MLX keeps a system thread for each, until the process ends."""
    runtime: Any = importlib.import_module("strideweave.carriers.metal.runtime")
    submit, threads = runtime.submit, set()

    def noting(*arrays: Any) -> None:
        threads.add(threading.get_ident())
        submit(*arrays)

    monkeypatch.setattr(runtime, "submit", noting)
    handles = [sw.copy_async(make_tensor([1.0]), Metal(1)) for _ in range(50)]
    assert [handle.wait()[0] for handle in handles] == [1.0] * 50
    assert len(threads - {threading.get_ident()}) in range(1, 5)


@pytest.mark.rule("MT-44", "MT-6", "M-29", "G-3", "G-10")
@pytest.mark.parametrize(("source_class", "destination_class"), PAIRS)
@pytest.mark.parametrize("count", [3, 2])
def test_a_failure_of_the_device_leaves_both_carriers_as_they_were(
    completions: Any, source_class: Any, destination_class: Any, count: int
) -> None:
    tensor = Tensor(source_class(0).new_like([1.0, 2.0, 3.0]), 0, Layout.parse(f"{count}:1"))
    destination = destination_class(0).new_like([7.0, 8.0, 9.0])
    storage = getattr(destination, "_slots", None)
    completions.failures.append(RuntimeError("device lost"))
    with pytest.raises(RuntimeError, match="device lost"):
        sw.move(tensor, destination)
    assert not tensor.carrier.is_released() and not tensor.carrier.is_owned()
    assert getattr(destination, "_slots", None) is storage
    assert (slots(destination), destination.version) == ([7.0, 8.0, 9.0], 0)
    moved = sw.move(tensor, destination)
    assert moved.tolist() == [1.0, 2.0, 3.0][:count] and destination.version == 1


@pytest.mark.rule("MT-43")
def test_an_empty_span_waits_for_pending_work(completions: Any) -> None:
    carrier, before = Metal(2), completions.count
    assert carrier._read_span(0, np.empty(0, np.float32).data) is None
    assert completions.count == before + 1


@pytest.mark.rule("MT-40", "MT-46", "M-16")
@pytest.mark.parametrize("dtype", [FLOAT, INT, BOOL], ids=lambda dtype: dtype.name)
def test_files_and_lists_exchange_spans(
    dtype: DType, monkeypatch: pytest.MonkeyPatch, make_tensor: MakeTensor
) -> None:
    """Through no slot: reading or writing one fails here."""
    values = [True, False, True, True] if dtype is BOOL else [1, -2, 3, 40]
    source = make_tensor(values, "(2,2):(2,1)", dtype)
    with monkeypatch.context() as patched:
        for name in ("get_value", "set_value"):
            patched.delattr(Metal, name)
        in_file = sw.copy(source, FileBacked(dtype=dtype))
        in_list = sw.copy(in_file, Generic([type(values[0])(0)] * 4, dtype=dtype))
        back = sw.copy(in_list, Metal(4, dtype=dtype))
        again = sw.copy(in_file, Metal(4, dtype=dtype))
    assert source.tolist() == [values[:2], values[2:]]
    assert back.tolist() == again.tolist() == source.tolist()


@pytest.mark.rule("MT-40", "MT-32", "M-31", "M-34")
def test_gradients_move_back(make_tensor: MakeTensor) -> None:
    leaf = sw.friendly.tensor([1.0, 2.0, 3.0])
    on_metal = sw.copy(leaf, Metal(3))
    assert type(on_metal.autograd_ctx) is CpuToMetalMoveOperation
    back = sw.copy(sw.mul(on_metal, on_metal), CPU(3))
    assert type(back.autograd_ctx) is MetalToCpuMoveOperation
    sw.reduce_sum(back, "a -> 1").backward()
    assert leaf.grad is not None and type(leaf.grad.carrier) is CPU
    assert leaf.grad.tolist() == [2.0, 4.0, 6.0]


@pytest.mark.rule("MT-42", "MT-44", "M-8")
def test_an_immutable_or_owned_metal_is_no_destination(make_tensor: MakeTensor) -> None:
    tensor = make_tensor([1.0])
    with pytest.raises(RuntimeError, match="mutable"):
        sw.copy(tensor, Metal(1, mutable=False))
    with pytest.raises(TypeError, match="dtype must match"):
        sw.copy(tensor, Metal(1, dtype=INT))
    assert tensor.tolist() == [1.0]
