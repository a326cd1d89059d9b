"""Checks of bulk access: what a span reads, writes and may keep."""

from collections.abc import Sequence
from typing import Any, Final

from strideweave.carriers import spans
from strideweave.carriers.base import Carrier
from strideweave.dtype import SimpleDType
from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import check, require
from strideweave.testing.conformance.values import SPECIAL, distinct, same, span_of
from strideweave.testing.operation_case import Value

_SLOTS: Final = 40
_MANY: Final = 5003
_SPANS: Final = (
    *((_SLOTS, span) for span in ((0, 1), (0, _SLOTS), (39, 1), (1, 5), (7, 16), (13, 27))),
    (_MANY, (3, 4999)),
)
"""How many slots a carrier has, and the first slot and the length of a span of it."""


def _spans(subject: CarrierAdapter[Any]) -> list[tuple[int, tuple[int, int]]]:
    return [(size, span) for size, span in _SPANS if subject.has_room(size)]


def _values(dtype: SimpleDType, count: int, salt: int = 0) -> list[Value]:
    """Give values of which the last ones are special."""
    return [*distinct(dtype, count, salt), *SPECIAL[dtype]][-count:]


def _reads_spans(carrier: Carrier, dtype: SimpleDType) -> bool:
    return spans.read_span(carrier, 0, span_of(dtype, [0]))


def _writes_spans(carrier: Carrier, dtype: SimpleDType) -> bool:
    return spans.write_span(carrier, 0, span_of(dtype, [0]))


@check("spans.read", ability=Ability.SPANS)
def read(subject: CarrierAdapter[Any]) -> None:
    """Reading a span gives what its slots hold, and fills nothing else."""
    for dtype in subject.dtypes:
        offered = subject.make(1, dtype)
        require(
            _reads_spans(offered, dtype) or _writes_spans(offered, dtype),
            f"{subject.name} declares SPANS, but has neither read_span nor write_span for "
            f"{dtype.name}",
        )
        if not _reads_spans(offered, dtype):
            continue
        for size, (start, count) in _spans(subject):
            values = _values(dtype, size)
            carrier = subject.filled(values, dtype)
            guarded = span_of(dtype, distinct(dtype, count + 2, salt=50))
            before = guarded.tolist()
            spans.read_span(carrier, start, guarded[1 : count + 1])
            _require_read(subject, dtype, (start, count), values, before, guarded.tolist())


def _require_read(
    subject: CarrierAdapter[Any],
    dtype: SimpleDType,
    span: tuple[int, int],
    values: Sequence[Value],
    before: Sequence[Value],
    found: Sequence[Value],
) -> None:
    start, count = span
    what = f"read_span of {subject.name}, {count} {dtype.name} slots from {start},"
    for position in range(count):
        got, expected = found[position + 1], values[start + position]
        require(
            same(got, expected),
            f"{what} gave {got!r} at position {position}; slot {start + position} holds "
            f"{expected!r}",
        )
    require(
        same(found[0], before[0]) and same(found[-1], before[-1]),
        f"{what} wrote outside the buffer that it was given",
    )


@check("spans.write", ability=Ability.SPANS)
def write(subject: CarrierAdapter[Any]) -> None:
    """Writing a span leaves what successive writes would, and other slots alone."""
    for dtype in subject.dtypes:
        if not _writes_spans(subject.make(1, dtype), dtype):
            continue
        for size, (start, count) in _spans(subject):
            before = distinct(dtype, size)
            carrier = subject.filled(before, dtype)
            given = _values(dtype, count, salt=77)
            spans.write_span(carrier, start, span_of(dtype, given))
            expected = [*before[:start], *given, *before[start + count :]]
            for slot, value in enumerate(expected):
                found = subject.raw_read(carrier, slot)
                place = "in" if start <= slot < start + count else "outside"
                require(
                    same(found, value),
                    f"write_span of {subject.name}, {count} {dtype.name} slots from {start}, left "
                    f"{found!r} in slot {slot} {place} the span; it must be {value!r}",
                )


@check("spans.buffers", ability=Ability.SPANS)
def buffers(subject: CarrierAdapter[Any]) -> None:
    """A span's buffer is not kept beyond the call."""
    for dtype in subject.dtypes:
        carrier = subject.make(_SLOTS, dtype)
        if not _writes_spans(carrier, dtype):
            continue
        buffer = span_of(dtype, distinct(dtype, _SLOTS))
        spans.write_span(carrier, 0, buffer)
        values = subject.raw_values(carrier, _SLOTS)
        for position, value in enumerate(distinct(dtype, _SLOTS, salt=5)):
            buffer[position] = value
        for slot, expected in enumerate(values):
            found = subject.raw_read(carrier, slot)
            require(
                same(found, expected),
                f"write_span of {subject.name} keeps the buffer that it was given: slot {slot} "
                f"became {found!r} when the caller reused it after the call",
            )
