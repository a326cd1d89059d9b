"""Positioned input and output of whole spans."""

import errno
import hashlib
import os
import threading
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from strideweave import DType, FileBacked
from strideweave.carriers import spans
from strideweave.carriers.file_backed import storage_file

FLOAT, INT, BOOL = DType.Float32, DType.Int32, DType.Bool


def stored(values: list[float], dtype: DType = FLOAT) -> FileBacked:
    return FileBacked().new_like(values, dtype=dtype)


@pytest.mark.rule("C-40", "S-10")
@pytest.mark.parametrize(
    ("dtype", "values", "typecode"),
    [(FLOAT, [1.5, -0.0, 2.5], "f"), (INT, [1, -2, 3], "i"), (BOOL, [True, False, True], "b")],
)
def test_spans_start_anywhere(dtype: DType, values: list[float], typecode: str) -> None:
    carrier = stored(values, dtype)
    out = array(typecode, [0, 0])
    assert spans.read_span(carrier, 1, out)
    assert out.tolist() == values[1:]
    assert spans.write_span(carrier, 0, out)
    assert [carrier[slot] for slot in range(3)] == [*values[1:], values[2]]
    assert carrier.version == 0 and carrier._host_array() is None


@pytest.mark.rule("C-40")
def test_released_carriers_offer_no_spans() -> None:
    carrier = stored([1.0])
    carrier.release()
    assert not spans.read_span(carrier, 0, array("f", [0]))
    assert not spans.write_span(carrier, 0, array("f", [0]))


@pytest.mark.rule("C-40", "G-9")
@pytest.mark.parametrize("slots", [1, 1023, 1024, 1025, 4096 * 3 + 1])
def test_every_byte_reaches_the_file(slots: int, run_program: Callable[..., str]) -> None:
    values = np.random.default_rng(slots).integers(-(2**31), 2**31, slots, np.int32)
    carrier = FileBacked(dtype=INT).allocate_like(slots + 3)
    assert spans.write_span(carrier, 3, values.data)
    printed = run_program(
        """
        import hashlib, os
        from pathlib import Path

        print(hashlib.sha256(Path(os.environ["FILE"]).read_bytes()[12:]).hexdigest())
        """,
        FILE=str(carrier.path),
    )
    assert printed.strip() == hashlib.sha256(values.tobytes()).hexdigest()


@pytest.mark.rule("C-40")
def test_short_transfers_are_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    pread, pwrite, calls = os.preadv, os.pwrite, []

    def short_pread(descriptor: int, buffers: list[memoryview], offset: int) -> int:
        calls.append("read")
        return pread(descriptor, [buffers[0][:5]], offset)

    def short_pwrite(descriptor: int, values: memoryview, offset: int) -> int:
        calls.append("write")
        return pwrite(descriptor, values[:7], offset)

    carrier = FileBacked().allocate_like(8)
    monkeypatch.setattr(os, "preadv", short_pread)
    monkeypatch.setattr(os, "pwrite", short_pwrite)
    assert spans.write_span(carrier, 1, array("f", range(7)))
    out = array("f", [9] * 7)
    assert spans.read_span(carrier, 1, out)
    assert out.tolist() == list(range(7))
    assert (calls.count("write"), calls.count("read")) == (4, 6)


@pytest.mark.rule("C-40")
@pytest.mark.parametrize("has_vectors", [True, False])
def test_long_transfers_go_in_calls_that_every_system_takes(
    monkeypatch: pytest.MonkeyPatch, has_vectors: bool
) -> None:
    assert storage_file.MOST_BYTES_PER_CALL == 2**31 - 4096
    monkeypatch.setattr(storage_file, "MOST_BYTES_PER_CALL", 12)
    if not has_vectors:  # as on old releases of macOS
        monkeypatch.delattr(os, "preadv")
    lengths = []
    pwrite, pread_into = os.pwrite, storage_file._read_into

    def counted_write(descriptor: int, buffer: memoryview, position: int) -> int:
        lengths.append(len(buffer))
        return pwrite(descriptor, buffer, position)

    def counted_read(descriptor: int, buffer: memoryview, position: int) -> int:
        lengths.append(len(buffer))
        return pread_into(descriptor, buffer, position)

    monkeypatch.setattr(os, "pwrite", counted_write)
    monkeypatch.setattr(storage_file, "_read_into", counted_read)
    carrier = FileBacked().new_like(range(7))
    out = array("f", [9.0] * 6)
    assert spans.read_span(carrier, 1, out)
    assert out.tolist() == [1, 2, 3, 4, 5, 6] and lengths == [12, 12, 4, 12, 12]


@pytest.mark.rule("C-40", "G-10", "G-17")
@pytest.mark.parametrize("call", ["preadv", "pwrite", "ftruncate"])
def test_an_error_of_the_system_names_the_file(monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    carrier = FileBacked().new_like([1.0, 2.0])

    def fail(*arguments: object) -> int:
        raise OSError(errno.EIO, "gone")

    monkeypatch.setattr(os, call, fail)
    acts: dict[str, Callable[[], object]] = {
        "preadv": lambda: carrier[0],
        "pwrite": lambda: carrier.set_value(0, 5.0),
        "ftruncate": lambda: carrier._allocate(1),
    }
    with pytest.raises(OSError, match="gone") as failure:
        acts[call]()
    assert failure.value.errno == errno.EIO and failure.value.filename == str(carrier.path)
    monkeypatch.undo()
    assert [carrier[0], carrier[1]] == [1.0, 2.0] and carrier.version == 0


@pytest.mark.rule("C-40", "G-9")
def test_a_system_that_takes_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    carrier = FileBacked().allocate_like(2)
    monkeypatch.setattr(os, "pwrite", lambda *arguments: 0)
    with pytest.raises(OSError, match="took none of the last 8 bytes"):
        spans.write_span(carrier, 0, array("f", [1, 2]))


@pytest.mark.rule("C-40", "G-9")
def test_a_truncated_file_is_an_error_and_not_zeros() -> None:
    carrier = stored([1.0, 2.0, 3.0])
    os.truncate(carrier.path, 6)
    with pytest.raises(OSError, match="ends at byte 6, 6 bytes early") as failure:
        spans.read_span(carrier, 0, array("f", [0, 0, 0]))
    assert failure.value.filename == str(carrier.path)
    assert carrier[0] == 1.0
    with pytest.raises(IndexError):
        carrier[1]


@pytest.mark.rule("C-40")
def test_a_span_write_does_not_sync_and_flush_does(monkeypatch: pytest.MonkeyPatch) -> None:
    synchronized: list[int] = []
    monkeypatch.setattr(
        "strideweave.carriers.file_backed.storage_file._synchronize", synchronized.append
    )
    carrier = FileBacked().allocate_like(2)
    spans.write_span(carrier, 0, array("f", [1, 2]))
    carrier[0] = 3.0
    assert not synchronized
    carrier.flush()
    assert len(synchronized) == 1


@pytest.mark.rule("C-40")
def test_an_error_of_flush_is_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "device gone")

    monkeypatch.setattr("strideweave.carriers.file_backed.storage_file._synchronize", fail)
    with pytest.raises(OSError, match="device gone"):
        stored([1.0]).flush()


@pytest.mark.rule("C-61")
def test_factories_use_one_call_for_the_whole_span(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []
    pwrite = os.pwrite

    def counted(descriptor: int, values: memoryview, offset: int) -> int:
        written.append(len(values))
        return pwrite(descriptor, values, offset)

    monkeypatch.setattr(os, "pwrite", counted)
    stored([1.0] * 1000)
    FileBacked().allocate_like(1000)
    assert written == [4000]


@pytest.mark.rule("C-40")
@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux lists its mappings")
def test_the_file_is_never_mapped() -> None:
    carrier = stored([1.0] * 4096)
    out = array("f", [0]) * 4096
    spans.read_span(carrier, 0, out)
    assert str(carrier.path) not in Path("/proc/self/maps").read_text()


@pytest.mark.rule("G-6", "G-14")
def test_release_during_transfers_of_other_threads_meets_no_other_file() -> None:
    """A transfer never continues into a file that got the number of the closed one."""
    carriers: list[Any] = [FileBacked().allocate_like(1 << 16) for _ in range(8)]
    ones = array("f", [1.0]) * (1 << 16)
    start = threading.Barrier(9)

    def write(carrier: FileBacked) -> None:
        start.wait()
        while spans.write_span(carrier, 0, ones):
            pass

    writers = [threading.Thread(target=write, args=(carrier,)) for carrier in carriers]
    for writer in writers:
        writer.start()
    start.wait()
    fresh = []
    for carrier in carriers:
        carrier.release()
        fresh.append(FileBacked().allocate_like(1 << 16))
    for writer in writers:
        writer.join()
    out = array("f", [1.0]) * (1 << 16)
    for carrier in fresh:
        spans.read_span(carrier, 0, out)
        assert max(out) == 0.0
