"""Host arithmetic over carrier storage, with NumPy and without."""

from array import array
from typing import Any

import pytest

import strideweave.host as host
from strideweave import (
    Carrier,
    CarrierDefinition,
    DType,
    Layout,
    StorageProvider,
    Tensor,
    register_carrier_definition,
)
from strideweave.tensor.access import logical_values, write_logical_values


class Counting(Carrier):
    """A carrier with spans that counts how often single slots are used."""

    cells: "array[Any]"
    slot_calls: int
    buffers: list[tuple[type, str, int, bool]]


def _count(carrier: Counting, slot: int) -> float:
    carrier.slot_calls += 1
    value: float = carrier.cells[slot]
    return value


def _store(carrier: Counting, slot: int, value: float) -> None:
    carrier.slot_calls += 1
    carrier.cells[slot] = value


def _allocate(carrier: Counting, slots: int) -> None:
    carrier.cells, carrier.slot_calls, carrier.buffers = array("f", [0.0] * slots), 0, []


def _read_span(carrier: Counting, start: int, out: memoryview) -> None:
    carrier.buffers.append((type(out), out.format, out.ndim, out.c_contiguous))
    out[:] = memoryview(carrier.cells)[start : start + len(out)]


def _write_span(carrier: Counting, start: int, values: memoryview) -> None:
    carrier.buffers.append((type(values), values.format, values.ndim, values.c_contiguous))
    memoryview(carrier.cells)[start : start + len(values)] = values


register_carrier_definition(
    Counting,
    CarrierDefinition(
        StorageProvider(
            supports_dtype=lambda carrier, dtype: dtype is DType.Float32,
            physical_size=lambda carrier: len(carrier.cells),
            allocate=_allocate,
            release=lambda carrier: carrier.cells.__delitem__(slice(None)),
            read=_count,
            write=_store,
            read_span=_read_span,
            write_span=_write_span,
        )
    ),
)


def counting(layout: str, offset: int = 0) -> Tensor:
    placement = Layout.parse(layout)
    carrier = Counting(offset + placement.cosize + 1, dtype=DType.Float32)
    carrier.cells[:] = array("f", range(len(carrier.cells)))
    return Tensor(carrier, offset, placement)


def slot_calls(tensor: Tensor) -> int:
    assert isinstance(tensor.carrier, Counting)
    return tensor.carrier.slot_calls


LAYOUTS = ["4:1", "(2,3):(1,2)", "(2,3):(3,1)", "(2,(3,2)):(10,(1,30))", "3:2", "():()"]


@pytest.mark.rule("C-41", "C-84")
@pytest.mark.usefixtures("host_library")
@pytest.mark.parametrize("layout", [*LAYOUTS, "(2,3):(0,1)", "(3,2):(1,1)"])
def test_all_values_are_read_through_one_span(layout: str) -> None:
    tensor = counting(layout, 3)
    expected = [3.0 + tensor.layout(ordinal) for ordinal in range(tensor.size())]
    assert logical_values(tensor) == expected
    assert slot_calls(tensor) == 0


@pytest.mark.rule("C-41", "C-84")
@pytest.mark.usefixtures("host_library")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_values_are_written_through_one_span(layout: str) -> None:
    tensor = counting(layout, 3)
    assert isinstance(tensor.carrier, Counting)
    before, slots = (
        tensor.carrier.cells.tolist(),
        [3 + tensor.layout(i) for i in range(tensor.size())],
    )
    write_logical_values(tensor, [100.0 + ordinal for ordinal in range(tensor.size())])
    for ordinal, slot in enumerate(slots):
        before[slot] = 100.0 + ordinal
    assert tensor.carrier.cells.tolist() == before
    assert slot_calls(tensor) == 0 and tensor.version == 0


@pytest.mark.rule("C-41", "C-84", "S-10", "T-47")
@pytest.mark.usefixtures("host_library")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_bulk_write_between_spans_uses_no_single_slot(layout: str) -> None:
    tensor, source = counting(layout), counting(layout, 5)
    tensor[...] = source
    assert isinstance(tensor.carrier, Counting)
    assert set(tensor.carrier.buffers) == {(memoryview, "f", 1, True)}
    assert slot_calls(tensor) == slot_calls(source) == 0
    assert tensor.version == 1
    assert logical_values(tensor) == logical_values(source)


@pytest.mark.rule("C-41")
@pytest.mark.parametrize("layout", [*LAYOUTS, "(2,3):(0,1)"])
def test_an_array_lists_the_values_in_logical_order(layout: str) -> None:
    pytest.importorskip("numpy")
    tensor = counting(layout)
    values = host.read_array(tensor)
    assert values is not None
    assert values.shape == tensor.layout.leaf_extents[::-1]
    assert values.ravel().tolist() == logical_values(tensor)


@pytest.mark.rule("C-41")
def test_more_leaves_than_axes_are_read_as_values() -> None:
    leaves = ",".join(["1"] * 40)
    tensor = counting(f"(2,{leaves}):(1,{leaves})")
    assert host.read_array(tensor) is None
    assert logical_values(tensor) == [0.0, 1.0]
    tensor[...] = array("f", [5.0, 6.0])
    assert logical_values(tensor) == [5.0, 6.0] and tensor.version == 1


@pytest.mark.rule("C-41")
def test_new_storage_places_values_and_leaves_zeros_between() -> None:
    numpy = pytest.importorskip("numpy")
    tensor = counting("(2,3):(1,4)")
    values = numpy.arange(6, dtype=numpy.float32).reshape(3, 2)
    carrier = host.new_storage(tensor.carrier, DType.Float32, tensor.layout, values)
    assert type(carrier) is Counting and carrier.version == 0
    assert carrier.cells.tolist() == [0.0, 1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 4.0, 5.0]


@pytest.mark.rule("C-41")
def test_without_numpy_there_are_no_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "numpy_module", lambda: None)
    tensor = counting("4:1")
    assert host.read_array(tensor) is None
    assert not host.write_array(tensor, 0.0)
    assert host.strided(host.new_image(4, "f"), 0, tensor.layout) is None
