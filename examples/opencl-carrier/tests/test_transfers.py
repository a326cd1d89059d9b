"""Moves out by routes, moves in by spans, and gradients both ways."""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
import strideweave as sw
from strideweave import CPU, DType, FileBacked, Layout, Shape, Stride, Tensor
from strideweave.carriers.dtype import SimpleDType
from strideweave.testing import ArrayCarrier

import strideweave_opencl.storage as storage
from strideweave_opencl import OpenCLBuffer

OnDevice: TypeAlias = Callable[..., Tensor]
STRIDED = Layout(Shape(2, 3), Stride(1, 3))
VALUES = [9.0, 1.0, 2.0, 9.0, 3.0, 4.0, 9.0, 5.0, 6.0]


@pytest.fixture
def slot_accesses(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the copies between host and device that storage callbacks made."""
    lengths: list[int] = []
    for name in ("_from_device", "_to_device"):
        original = getattr(storage, name)

        def counted(*arguments: Any, original: Any = original) -> None:
            lengths.append(len(arguments[-1]))
            original(*arguments)

        monkeypatch.setattr(storage, name, counted)
    return lengths


@pytest.mark.parametrize(
    ("make", "kind", "route"),
    [
        (lambda: CPU(8), "transfer_route", "opencl.read"),
        (lambda: OpenCLBuffer(8, dtype=DType.Float32), "transfer_route", "opencl.copy"),
        (lambda: OpenCLBuffer(0, dtype=DType.Float32), "transfer_route", "opencl.copy"),
        (FileBacked, "elementwise", None),
        (lambda: ArrayCarrier(8, dtype=DType.Float32), "elementwise", None),
    ],
    ids=["CPU", "device", "empty", "file", "definition-backed"],
)
def test_out(
    on_device: OnDevice,
    make: Callable[[], sw.Carrier],
    kind: str,
    route: str | None,
    slot_accesses: list[int],
) -> None:
    tensor, destination = on_device(VALUES, STRIDED, offset=1), make()
    explanation = sw.explain_move(tensor, destination)
    assert (explanation.kind, explanation.route_id) == (kind, route)
    slot_accesses.clear()
    moved = sw.move(tensor, destination)
    assert slot_accesses == ([] if route else [8])
    assert moved.tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]
    assert moved.layout == STRIDED and tensor.carrier.is_released()


@pytest.mark.parametrize("dtype", [DType.Float32, DType.Int32, DType.Bool])
def test_in_is_one_span(dtype: SimpleDType, slot_accesses: list[int]) -> None:
    kind = {DType.Float32: float, DType.Int32: int, DType.Bool: bool}[dtype]
    host = CPU(0, dtype=dtype).new_like([kind(value) for value in (1, 0, 1, 1)])
    tensor = Tensor(host, 1, Layout(Shape(3), Stride(1)))
    moved = sw.move(tensor, OpenCLBuffer(3, dtype=dtype))
    assert slot_accesses == [3]
    assert [(value, type(value)) for value in moved.tolist()] == [(0, kind), (1, kind), (1, kind)]


def test_arrays_come_in_and_go_out_in_spans(slot_accesses: list[int]) -> None:
    array = np.arange(1000, dtype=np.float32).reshape(20, 50)
    host: Tensor = sw.from_numpy(array)
    tensor = sw.move(host, OpenCLBuffer(1000, dtype=DType.Float32))
    tensor[...] = sw.from_numpy(-array)
    assert np.array_equal(np.asarray(tensor), -array)
    assert set(slot_accesses) == {1000} and tensor.carrier.version == 2


def test_a_graph_goes_through_both_directions(on_device: OnDevice) -> None:
    tensor = on_device([1.0, 2.0, 3.0])
    host = sw.move(sw.mul(tensor, 2.0), CPU(3))
    back = sw.move(sw.mul(host, 5.0), OpenCLBuffer(3, dtype=DType.Float32))
    back.backward(on_device([1.0, 10.0, 100.0]))
    assert tensor.grad is not None and type(tensor.grad.carrier) is OpenCLBuffer
    assert tensor.grad.tolist() == [10.0, 100.0, 1000.0]


def test_versions_and_mutability_stay_with_the_framework(on_device: OnDevice) -> None:
    carrier = on_device([1.0, 2.0]).carrier
    carrier[0] = 0.1
    assert carrier.version == 1 and carrier[0] == 0.10000000149011612
    fixed = carrier.new_like([1.0], mutable=False)
    with pytest.raises(RuntimeError, match="not mutable"):
        fixed[0] = 2.0
    assert carrier.allocate_like(3).size() == 3 and carrier.allocate_like(3)[2] == 0.0
    carrier.release()
    assert carrier.size() == 0
    with pytest.raises(RuntimeError, match="released"):
        carrier[0]
