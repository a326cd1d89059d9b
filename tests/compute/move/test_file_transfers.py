"""Values between CPU memory and files: whole spans, by one call, also in the background."""

import os
from ctypes import addressof, c_uint8
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Evictable, FileBacked, Generic, Layout, Tensor
from strideweave.carriers.move import (
    CpuToFileBackedMoveOperation,
    ElementwiseMoveOperation,
    FileBackedToCpuMoveOperation,
    dispatch_move,
    register_move_operation,
    unregister_move_operation,
)

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """Note every positioned transfer: direction, byte count and byte position."""
    noted: list[tuple[str, int, int]] = []
    preadv, pwrite = os.preadv, os.pwrite

    def noting_preadv(descriptor: int, buffers: list[Any], position: int) -> int:
        noted.append(("read", sum(len(buffer) for buffer in buffers), position))
        return preadv(descriptor, buffers, position)

    def noting_pwrite(descriptor: int, values: Any, position: int) -> int:
        noted.append(("write", len(values), position))
        return pwrite(descriptor, values, position)

    monkeypatch.setattr(os, "preadv", noting_preadv)
    monkeypatch.setattr(os, "pwrite", noting_pwrite)
    return noted


@pytest.mark.rule("M-13", "M-14", "M-15")
def test_the_pairs_are_exact() -> None:
    pairs: dict[tuple[type[Carrier], type[Carrier]], Any] = {
        (CPU, FileBacked): CpuToFileBackedMoveOperation,
        (FileBacked, CPU): FileBackedToCpuMoveOperation,
    }
    classes: list[type[Carrier]] = [CPU, FileBacked, Generic, Evictable]
    for source in classes:
        for destination in classes:
            expected = pairs.get((source, destination), ElementwiseMoveOperation)
            assert dispatch_move(source, destination) is expected
    for pair, operation in pairs.items():
        assert (operation.source_class, operation.destination_class) == pair
        assert getattr(operation, "__final__", False) is True


@pytest.mark.rule("M-13")
def test_a_built_in_entry_can_be_taken_out() -> None:
    tensor = Tensor(CPU(0).new_like([1.0, 2.0]), 0, Layout.parse("2:1"))
    assert unregister_move_operation(CPU, FileBacked) is CpuToFileBackedMoveOperation
    try:
        copied = sw.copy(tensor, FileBacked())
    finally:
        register_move_operation(CPU, FileBacked, CpuToFileBackedMoveOperation)
    assert type(copied.autograd_ctx) is ElementwiseMoveOperation and copied.tolist() == [1.0, 2.0]
    assert type(sw.copy(tensor, FileBacked()).autograd_ctx) is CpuToFileBackedMoveOperation


def random(count: int, dtype: DType) -> Any:
    values = np.random.default_rng(count).integers(-(2**31), 2**31, count, np.int32)
    if dtype is BOOL:
        return values > 0
    return values.astype(np.float32) if dtype is FLOAT else values


@pytest.mark.rule("M-14", "C-61", "C-75", "G-9")
@pytest.mark.parametrize("dtype", [FLOAT, INT, BOOL], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 3 * 4096 + 1])
def test_one_call_carries_the_whole_span(
    dtype: DType, count: int, calls: list[tuple[str, int, int]]
) -> None:
    values = random(count, dtype)
    slot_bytes = 1 if dtype is BOOL else 4
    source = Tensor(CPU(0, dtype=dtype).new_like(values), 0, Layout.leaf(count, 1))
    file = FileBacked(dtype=dtype)
    stored = sw.move(source, file)
    assert calls == [("write", count * slot_bytes, 0)]
    assert file.path.read_bytes() == values.tobytes()
    back = sw.move(stored, CPU(count, dtype=dtype))
    assert calls[1:] == [("read", count * slot_bytes, 0)] and file.is_released()
    assert np.array_equal(back.numpy(), values)


@pytest.mark.rule("M-11", "M-14")
def test_a_read_starts_at_the_offset_and_takes_the_span(calls: list[tuple[str, int, int]]) -> None:
    file = FileBacked().new_like(range(20))
    calls.clear()
    tensor = Tensor(file, 3, Layout.parse("4:2"))
    copied = sw.copy(tensor, CPU(9))
    assert calls == [("read", 7 * 4, 12)]
    assert copied.tolist() == [3.0, 5.0, 7.0, 9.0] and copied.offset == 0
    assert [copied.carrier[slot] for slot in range(9)] == [3, 4, 5, 6, 7, 8, 9, 0, 0]


@pytest.mark.rule("C-53", "M-14")
def test_foreign_bytes_of_bool_are_normalized() -> None:
    memory = (c_uint8 * 3)(0, 7, 255)
    wrapped = CPU(3, addressof(memory), dtype=BOOL)
    file = FileBacked(dtype=BOOL)
    sw.move(Tensor(wrapped, 0, Layout.parse("3:1")), file)
    assert file.path.read_bytes() == b"\0\1\1"


@pytest.mark.rule("M-21", "M-14")
def test_versions() -> None:
    source = Tensor(CPU(3), 0, Layout.parse("3:1"))
    sized, given = FileBacked(), FileBacked().allocate_like(5)
    sw.copy(source, sized)
    sw.copy(source, given)
    assert (source.version, sized.version, given.version) == (0, 0, 1) and given.size() == 5
    target = CPU(3)
    sw.copy(Tensor(given, 0, Layout.parse("3:1")), target)
    assert target.version == 1 and given.version == 1


@pytest.mark.rule("M-29", "G-3", "C-40")
def test_a_truncated_file_fails_and_changes_no_version() -> None:
    file = FileBacked().new_like([1.0] * 8)
    tensor, target = Tensor(file, 0, Layout.parse("8:1")), CPU(8)
    os.truncate(file.path, 12)
    with pytest.raises(ValueError, match="only 3 slots left"):
        sw.move(tensor, target)
    os.truncate(file.path, 32)
    preadv = os.preadv

    def truncating(descriptor: int, buffers: list[Any], position: int) -> int:
        os.truncate(file.path, 12)  # after all checks
        return preadv(descriptor, buffers, position)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "preadv", truncating)
        with pytest.raises(OSError, match="ends at byte 12, 20 bytes early"):
            sw.move(tensor, target)
    assert target.version == 0 and not target.is_owned() and not file.is_owned()
    assert not file.is_released()


@pytest.mark.rule("M-29", "M-7", "G-3", "G-10")
def test_a_failing_write_leaves_a_retry_possible() -> None:
    source = Tensor(CPU(0).new_like([1.0, 2.0]), 0, Layout.parse("2:1"))
    sized, given = FileBacked(), FileBacked().allocate_like(2)

    def full(*arguments: Any) -> int:
        raise OSError(28, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        for destination in (sized, given):
            with pytest.raises(OSError, match="No space left") as failure:
                sw.move(source, destination)
            assert failure.value.filename == str(destination.path)
    assert sized.size() == 0 and given.size() == 2 and given.version == 0
    for destination in (sized, given):
        assert sw.copy(source, destination).tolist() == [1.0, 2.0]


@pytest.mark.rule("M-25", "M-26", "M-28", "C-61")
def test_transfers_in_the_background() -> None:
    count = 1 << 16
    values = random(count, INT)
    layout = Layout.leaf(count, 1)
    source = Tensor(CPU(0, dtype=INT).new_like(values), 0, layout)
    files = [FileBacked(dtype=INT) for _ in range(8)]
    stored = [sw.copy_async(source, files[0]).wait()]
    handles = [sw.copy_async(stored[0], CPU(count, dtype=INT))]
    for file in files[1:]:
        copy = Tensor(CPU(0, dtype=INT).new_like(values), 0, layout)
        handles.append(sw.move_async(copy, file))
    for handle in handles:
        assert np.array_equal(np.asarray(handle.wait()), values)
    assert not source.carrier.is_owned()


@pytest.mark.rule("C-40", "M-16")
def test_files_exchange_spans_with_each_other(calls: list[tuple[str, int, int]]) -> None:
    file = FileBacked().new_like(range(100))
    calls.clear()
    copied = sw.copy(Tensor(file, 0, Layout.leaf(100, 1)), FileBacked())
    assert calls == [("read", 400, 0), ("write", 400, 0)]
    assert copied.tolist() == [float(value) for value in range(100)]
