"""Span hooks of definition-free classes and span callbacks of storage providers."""

from array import array
from typing import Any

import pytest

from strideweave import DType
from strideweave.carriers import spans

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool


def _read_span(carrier: Any, start: int, out: Any) -> None:
    for position in range(len(out)):
        out[position] = carrier.cells[start + position]


def _write_span(carrier: Any, start: int, values: Any) -> None:
    carrier.cells[start : start + len(values)] = values.tolist()


@pytest.mark.rule("C-84", "S-10")
@pytest.mark.parametrize(
    ("dtype", "typecode", "span_format", "values"),
    [(FLOAT32, "f", "f", [1.5, 2.5]), (INT32, "i", "i", [1, -2]), (BOOL, "b", "?", [True, False])],
)
def test_span_callbacks_get_typed_flat_buffers(
    workshop: Any, dtype: DType, typecode: str, span_format: str, values: list[Any]
) -> None:
    seen: list[tuple[Any, ...]] = []

    def read(carrier: Any, start: int, out: Any) -> None:
        seen.append((out.format, out.ndim, out.c_contiguous, out.readonly))
        _read_span(carrier, start, out)

    def write(carrier: Any, start: int, given: Any) -> None:
        seen.append((given.format, given.ndim, given.c_contiguous, given.readonly))
        _write_span(carrier, start, given)

    storage = workshop.storage(read_span=read, write_span=write)
    carrier = workshop.defined(storage=storage)(4, dtype=dtype)
    assert spans.write_span(carrier, 1, array(typecode, values))
    out = array(typecode, [0, 0])
    assert spans.read_span(carrier, 1, out)
    assert out.tolist() == values and carrier[1] == values[0] and carrier.version == 0
    assert seen == [(span_format, 1, True, True), (span_format, 1, True, False)]


@pytest.mark.rule("C-84")
def test_either_span_callback_may_stand_alone(workshop: Any) -> None:
    reads = workshop.defined(storage=workshop.storage(read_span=_read_span))(2, dtype=INT32)
    assert spans.read_span(reads, 0, array("i", [0, 0]))
    assert not spans.write_span(reads, 0, array("i", [0, 0]))
    writes = workshop.defined(storage=workshop.storage(write_span=_write_span))(2, dtype=INT32)
    assert not spans.read_span(writes, 0, array("i", [0, 0]))
    assert spans.write_span(writes, 0, array("i", [3, 4])) and writes[1] == 4


@pytest.mark.rule("C-84", "C-41")
def test_a_span_callback_returns_none(workshop: Any) -> None:
    storage = workshop.storage(
        read_span=lambda carrier, start, out: True, write_span=lambda carrier, start, values: 2
    )
    carrier = workshop.defined(storage=storage)(2, dtype=INT32)
    with pytest.raises(TypeError, match="read_span of Shelf must return None, got True"):
        spans.read_span(carrier, 0, array("i", [0]))
    with pytest.raises(TypeError, match="write_span of Shelf must return None, got 2"):
        spans.write_span(carrier, 0, array("i", [0]))


@pytest.mark.rule("C-84")
def test_new_like_writes_one_span(workshop: Any) -> None:
    calls: list[tuple[int, list[Any]]] = []

    def write(carrier: Any, start: int, values: Any) -> None:
        calls.append((start, values.tolist()))
        _write_span(carrier, start, values)

    def refuse(*arguments: Any) -> None:
        raise AssertionError("the span was offered")

    storage = workshop.storage(write=refuse, write_span=write)
    carrier = workshop.defined(storage=storage)(0, dtype=BOOL)
    made = carrier.new_like([True, False, True])
    assert [made[slot] for slot in range(3)] == [True, False, True] and made.version == 0
    assert carrier.new_like([]).size() == 0
    assert calls == [(0, [True, False, True])]


@pytest.mark.rule("C-84", "R-112")
def test_spans_widen_no_dtype(workshop: Any) -> None:
    storage = workshop.storage(
        supports_dtype=lambda carrier, dtype: dtype is DType.E4M3, write_span=_write_span
    )
    carrier = workshop.defined(storage=storage)(1, dtype=DType.E4M3)
    assert carrier.new_like(["a", "b"])[1] == "b"
    assert not carrier.supports_storage_dtype(FLOAT32)


@pytest.mark.rule("C-40", "C-41")
def test_a_definition_free_class_opts_in_by_hooks(workshop: Any) -> None:
    bare = workshop.subclass()()
    assert not spans.read_span(bare, 0, array("f", [0.0]))
    assert not spans.write_span(bare, 0, array("f", [0.0]))
    for answer, offered in ((None, True), (NotImplemented, False)):
        hooks = {name: lambda *_, a=answer: a for name in ("_read_span", "_write_span")}
        carrier = workshop.subclass(**hooks)()
        assert spans.read_span(carrier, 0, array("f", [0.0])) is offered
        assert spans.write_span(carrier, 0, array("f", [0.0])) is offered
    wrong = workshop.subclass(_read_span=lambda *_: 0, _write_span=lambda *_: True)()
    with pytest.raises(TypeError, match=r"Shelf._read_span must return None, or NotImplemented"):
        spans.read_span(wrong, 0, array("f", [0.0]))
    with pytest.raises(TypeError, match=r"Shelf._write_span must return None, or NotImplemented"):
        spans.write_span(wrong, 0, array("f", [0.0]))


@pytest.mark.rule("C-84")
def test_span_hooks_of_a_definition_backed_class_are_not_asked(workshop: Any) -> None:
    def refuse(*arguments: Any) -> None:
        raise AssertionError("hooks belong to definition-free classes")

    carrier_class = workshop.subclass(_read_span=refuse, _write_span=refuse)
    carrier = workshop.defined(carrier_class=carrier_class)(1, dtype=INT32)
    assert not spans.read_span(carrier, 0, array("i", [0]))
    assert not spans.write_span(carrier, 0, array("i", [0]))


@pytest.mark.rule("C-41")
def test_one_slot_is_written_without_a_version_step(workshop: Any) -> None:
    carrier = workshop.defined()(1, dtype=INT32)
    spans.write_slot(carrier, 0, 5)
    assert (carrier[0], carrier.version) == (5, 0)
