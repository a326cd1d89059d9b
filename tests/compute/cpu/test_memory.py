"""Wrapped memory, lifetime, spans and export of CPU."""

import gc
import mmap
from array import array
from ctypes import addressof, c_uint8

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, DType, Layout, Tensor
from strideweave.carriers import spans

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


def wrapped_bytes(*values: int) -> tuple[CPU, "object"]:
    memory = (c_uint8 * len(values))(*values)
    return CPU(len(values), addressof(memory), dtype=BOOL), memory


@pytest.mark.rule("C-52", "C-54", "50/E-7")
def test_wrapping_memory() -> None:
    memory = array("f", [1.5, 2.5])
    carrier = CPU(2, memory.buffer_info()[0], empty=True)
    assert [carrier[0], carrier[1]] == [1.5, 2.5]
    carrier[1] = 9.5
    assert memory[1] == 9.5 and carrier.pointer() == memory.buffer_info()[0]
    memory[0] = 3.5
    assert carrier[0] == 3.5 and carrier.version == 1
    carrier.release()
    assert memory.tolist() == [3.5, 9.5] and carrier.pointer() == 0


@pytest.mark.rule("C-52")
def test_kernels_read_and_leave_wrapped_memory() -> None:
    memory = array("i", [9, 1, 2, 3])
    tensor = Tensor(CPU(4, memory.buffer_info()[0], dtype=INT), 1, Layout.parse("3:1"))
    total = sw.add(tensor, tensor)
    assert total.tolist() == [2, 4, 6] and memory.tolist() == [9, 1, 2, 3]
    memory[1] = 5
    assert sw.add(tensor, tensor).tolist() == [10, 4, 6]


@pytest.mark.rule("C-53")
def test_any_nonzero_byte_reads_as_true() -> None:
    carrier, memory = wrapped_bytes(0, 1, 2, 255)
    assert [carrier[slot] for slot in range(4)] == [False, True, True, True]
    out = array("b", [9] * 4)
    spans.read_span(carrier, 0, out)
    assert out.tolist() == [0, 1, 1, 1]
    carrier[3] = True
    carrier[1] = False
    assert list(memory) == [0, 0, 2, 1]  # type: ignore[call-overload]  # a ctypes array


@pytest.mark.rule("C-53")
def test_span_writes_store_zero_or_one() -> None:
    carrier = CPU(3, dtype=BOOL)
    spans.write_span(carrier, 0, memoryview(bytes([0, 2, 255])).cast("?"))
    assert carrier._buffer.view(np.uint8).tolist() == [0, 1, 1]


@pytest.mark.rule("C-53")
def test_kernels_normalise_wrapped_bytes() -> None:
    carrier, memory = wrapped_bytes(2, 0, 4, 128)
    layout = Layout.parse("4:1")
    condition = Tensor(carrier, 0, layout)
    yes, no = (Tensor(CPU(0).new_like([value] * 4), 0, layout) for value in (1.0, -1.0))
    assert sw.select(condition, yes, no).tolist() == [1.0, -1.0, 1.0, 1.0]
    assert sw.cast(condition, INT).tolist() == [1, 0, 1, 1]
    assert sw.logical_xor(condition, condition).tolist() == [False] * 4
    strided = Tensor(carrier, 0, Layout.parse("2:2"))
    both = sw.logical_and(strided, Tensor(carrier, 2, Layout.parse("2:1")))
    assert both.tolist() == [True, True]
    assert both.carrier._host_array().view(np.uint8).tolist() == [1, 1]
    assert list(memory) == [2, 0, 4, 128]  # type: ignore[call-overload]  # a ctypes array


@pytest.mark.rule("C-54")
def test_pointer_and_dlpack_info() -> None:
    carrier = CPU(2)
    buffer = carrier._host_array()
    assert buffer is not None
    assert carrier.pointer() == buffer.ctypes.data > 0 and CPU(0).pointer() > 0
    assert carrier.dlpack_info() == {
        "pointer": carrier.pointer(),
        "device_type": 1,
        "device_id": 0,
    }
    carrier.release()
    assert carrier.pointer() == 0 and carrier.dlpack_info()["pointer"] == 0


@pytest.mark.rule("C-51", "B-32")
@pytest.mark.parametrize("dtype", [FLOAT, INT, BOOL])
def test_large_storage_starts_at_a_page(dtype: DType) -> None:
    slots = 2**20 + 3
    zeros = CPU(slots, dtype=dtype)
    values = np.ones(slots, zeros._host_array().dtype)  # type: ignore[union-attr]
    carriers = {
        0: [zeros, zeros.allocate_like(slots)],
        slots: [zeros.new_like(values), CPU(0, dtype=dtype).new_like(values)],
        None: [CPU(slots, dtype=dtype, empty=True)],
    }
    for ones, alike in carriers.items():
        for carrier in alike:
            buffer = carrier._host_array()
            assert buffer is not None and carrier.pointer() % mmap.PAGESIZE == 0
            assert buffer.shape == (slots,) and buffer.flags.c_contiguous
            assert ones in (None, np.count_nonzero(buffer))


@pytest.mark.rule("C-51", "C-33")
def test_more_memory_than_there_is() -> None:
    for slots in (2**60, 2**61 - 1):
        with pytest.raises(MemoryError):
            CPU(slots, empty=True)


@pytest.mark.rule("C-55")
def test_views_keep_an_owned_buffer_alive() -> None:
    carrier = CPU(0).new_like([1.0, 2.0, 3.0])
    view = Tensor(carrier, 1, Layout.parse("2:1")).numpy()
    carrier.release()
    del carrier
    gc.collect()
    assert view.tolist() == [2.0, 3.0]
    view[0] = 7.0
    assert view.tolist() == [7.0, 3.0]


@pytest.mark.rule("C-29", "C-30", "C-40", "50/E-10")
def test_a_released_cpu_still_builds_and_offers_no_storage() -> None:
    carrier = CPU(2)
    carrier.release()
    carrier.release()
    assert carrier.is_released() and carrier.size() == 0 and carrier.dtype() is FLOAT
    assert carrier.new_like([3.0])[0] == 3.0 and carrier.allocate_like(2).size() == 2
    assert carrier._host_array() is None
    assert not spans.read_span(carrier, 0, array("f", [0.0]))
    assert not spans.write_span(carrier, 0, array("f", [0.0]))


@pytest.mark.rule("C-40", "S-10")
@pytest.mark.parametrize(
    ("dtype", "values", "typecode"),
    [(FLOAT, [1.5, -0.0, 2.5], "f"), (INT, [1, -2, 3], "i"), (BOOL, [True, False, True], "b")],
)
def test_spans_copy_at_once(dtype: DType, values: list[float], typecode: str) -> None:
    carrier = CPU(0, dtype=dtype).new_like(values)
    out = array(typecode, [0, 0])
    assert spans.read_span(carrier, 1, out)
    assert out.tolist() == values[1:]
    assert spans.write_span(carrier, 0, out)
    assert [carrier[slot] for slot in range(3)] == [*values[1:], values[2]]
    assert carrier.version == 0


@pytest.mark.rule("C-22", "C-23", "C-29")
def test_ownership_closes_it_to_others() -> None:
    carrier = CPU(1)
    token = carrier._claim_ownership()
    assert not carrier.is_mutable() and carrier[0] == 0.0
    for write in (carrier.__setitem__, carrier.set_value):
        with pytest.raises(RuntimeError, match="not mutable"):
            write(0, 1.0)
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    carrier._relinquish_ownership(token)
    carrier[0] = 1.0
    assert carrier.version == 1
