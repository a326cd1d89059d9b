"""Carriers whose slots, spans or routes fail under a condition only: a size, a value, a thread."""

import threading
from array import array
from typing import Any, Final

import strideweave as sw
from strideweave import DType
from strideweave.carriers.extension import TransferRequest
from strideweave.testing import Ability

from .storing import allocate_cached, read_cached
from .without_definition import Shelf, ShelfAdapter
from .workshop import (
    SPANS,
    Broken,
    allocate,
    broken,
    carry,
    define,
    read,
    release,
    route,
    width,
    write,
    write_span,
)

Request = TransferRequest[Any, Any]
OUT, IN = Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN


# Released blocks are taken again as they are.
_FREE: Final[dict[int, list[bytearray]]] = {}


def _allocate_again(carrier: Any, slots: int) -> None:
    free = _FREE.get(slots * width(carrier))
    carrier.memory = free.pop() if free else bytearray(slots * width(carrier))


def _release_for_others(carrier: Any) -> None:
    _FREE.setdefault(len(carrier.memory), []).append(carrier.memory)
    release(carrier)


DirtyBlocks: Final = define("DirtyBlocks", allocate=_allocate_again, release=_release_for_others)

# Spans go through a window of 1024 bytes; what is behind the last whole window is left out.
_WINDOW: Final = 1024


def _read_windows(carrier: Any, start: int, out: Any) -> None:
    first, size = start * width(carrier), out.nbytes
    whole = size if size < _WINDOW else size - size % _WINDOW
    out.cast("B")[:whole] = bytes(carrier.memory[first : first + whole])


def _write_windows(carrier: Any, start: int, values: Any) -> None:
    first, size = start * width(carrier), values.nbytes
    whole = size if size < _WINDOW else size - size % _WINDOW
    memoryview(carrier.memory)[first : first + whole] = values.cast("B")[:whole]


ReadsWholeWindows: Final = define("ReadsWholeWindows", read_span=_read_windows)
WritesWholeWindows: Final = define("WritesWholeWindows", write_span=_write_windows)


# Spans of integers go through Float32 registers.
def _write_span_in_floats(carrier: Any, start: int, values: Any) -> None:
    if carrier.dtype() is DType.Int32:
        for position, value in enumerate(values):
            rounded = int(array("f", [value])[0])
            write(carrier, start + position, max(-(2**31), min(rounded, 2**31 - 1)))
    else:
        write_span(carrier, start, values)


SpansInFloats: Final = define("SpansInFloats", write_span=_write_span_in_floats)


# A span read adds zero to each value, which loses the sign of zero.
def _read_span_adding(carrier: Any, start: int, out: Any) -> None:
    for position in range(len(out)):
        value = read(carrier, start + position)
        out[position] = value + 0.0 if isinstance(value, float) else value


SpanLosesSign: Final = define("SpanLosesSign", **{**SPANS, "read_span": _read_span_adding})


# A cache of lines of 8 slots; a span write drops as many lines as it has, from the first one.
def _write_lined(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier.lines.pop(index // 8, None)


def _write_span_lined(carrier: Any, start: int, values: Any) -> None:
    write_span(carrier, start, values)
    for line in range(len(values) // 8 + 1):
        carrier.lines.pop(line, None)


DropsFirstLines: Final = define(
    "DropsFirstLines",
    allocate=allocate_cached,
    read=read_cached,
    write=_write_lined,
    write_span=_write_span_lined,
)


# Storage belongs to the thread that allocated it.
def _allocate_here(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.thread = threading.get_ident()


def _release_here(carrier: Any) -> None:
    if carrier.thread != threading.get_ident():
        raise RuntimeError("released in another thread than it was made in")
    release(carrier)


ReleasesInItsThread: Final = define(
    "ReleasesInItsThread", allocate=_allocate_here, release=_release_here
)

# A device context is made in the importing thread, and missed in all others.
_CONTEXT: Final = threading.local()
_CONTEXT.is_open = True


def _allocate_in_context(carrier: Any, slots: int) -> None:
    if not getattr(_CONTEXT, "is_open", False):
        raise RuntimeError("no context in this thread")
    allocate(carrier, slots)


AllocatesInMainThread: Final = define("AllocatesInMainThread", allocate=_allocate_in_context)


# The same for a route.
def _carry_in_context(request: Request) -> None:
    if not getattr(_CONTEXT, "is_open", False):
        raise RuntimeError("no context in this thread")
    carry(request)


MovesInMainThread: Final = define("MovesInMainThread", transfers=[route(_carry_in_context)])


# A route moves at most 4096 bytes in one piece, and no second one.
def _carry_one_piece(request: Request) -> None:
    for slot in range(min(request.physical_span, 4096 // width(request.source))):
        request.destination[slot] = read(request.source, request.tensor.offset + slot)


RouteDropsTail: Final = define("RouteDropsTail", transfers=[route(_carry_one_piece)])


# A route carries integers as floats.
def _carry_floats(request: Request) -> None:
    for slot in range(request.physical_span):
        value = read(request.source, request.tensor.offset + slot)
        if type(value) is int:
            value = max(-(2**31), min(int(array("f", [value])[0]), 2**31 - 1))
        request.destination[slot] = value


RouteInFloats: Final = define("RouteInFloats", transfers=[route(_carry_floats)])


# Destinations are remembered by the route.
_DESTINATIONS: Final[list[Any]] = []


def _carry_remembering(request: Request) -> None:
    carry(request)
    _DESTINATIONS.append((request.source, request.destination))


RouteKeepsCarriers: Final = define("RouteKeepsCarriers", transfers=[route(_carry_remembering)])


# allocate_like is replaced, without mutable.
def _allocate_like_mutable(
    self: Any, size: Any, *, mutable: bool = True, dtype: Any = None, empty: bool = False
) -> Any:
    return sw.Carrier.allocate_like(self, size, dtype=dtype)


AllocateLikeIsMutable: Final = define(
    "AllocateLikeIsMutable", body={"allocate_like": _allocate_like_mutable}
)


class NeedsFirstValue(Shelf):
    """Looks at the first value to make another carrier."""

    def new_like(self, values: Any, *, mutable: bool = True, dtype: Any = None) -> Any:
        given = list(values)
        assert given[0] is not None
        return super().new_like(given, mutable=mutable, dtype=dtype)


class KeepsValues(Shelf):
    """Keeps the list that new_like was given."""

    def __init__(self, values: Any, *, dtype: DType, mutable: bool = True) -> None:
        super().__init__(values, dtype=dtype, mutable=mutable)
        if isinstance(values, list):
            self.cells = values


BROKEN: Final[list[Broken]] = [
    broken(
        DirtyBlocks,
        "factories.zeros",
        "gave a DirtyBlocks .* fresh slots hold zero",
        reset=_FREE.clear,
    ),
    broken(
        ReadsWholeWindows,
        "spans.read",
        "read_span of .* 4999 Float32 slots from 3, gave",
        Ability.SPANS,
    ),
    broken(
        WritesWholeWindows,
        "spans.write",
        "write_span of .* 4999 Float32 slots from 3, left",
        Ability.SPANS,
    ),
    broken(SpansInFloats, "spans.write", "left 16777216 .* it must be 16777217", Ability.SPANS),
    broken(SpanLosesSign, "spans.read", "gave 0.0 .* holds -0.0", Ability.SPANS),
    broken(
        DropsFirstLines,
        "views.bulk-writes",
        "bulk write of 5 .* from slot 17 on, slot 17",
        Ability.SPANS,
    ),
    broken(ReleasesInItsThread, "threads.lifetime", "releasing a .* that another thread made"),
    broken(AllocatesInMainThread, "threads.lifetime", "making a .*no context in this thread"),
    broken(
        MovesInMainThread, "transfers.threads", "in several threads failed.*no context", OUT, IN
    ),
    broken(
        RouteDropsTail,
        "transfers.out-values",
        "Float32 of 2053 values: element 1024 .* is 0.0",
        OUT,
        IN,
    ),
    broken(
        RouteInFloats,
        "transfers.out-values",
        "Int32 of special values.* it must be 16777217",
        OUT,
        IN,
    ),
    broken(
        RouteKeepsCarriers,
        "transfers.collected",
        "nothing uses the source .* something keeps it",
        OUT,
        IN,
    ),
    broken(
        AllocateLikeIsMutable,
        "mutability.immutable",
        "given by allocate_like with mutable=False says",
    ),
    broken(NeedsFirstValue, "factories.values", "failed for 0 values", adapter=ShelfAdapter),
    broken(KeepsValues, "factories.values", "put .* into slot 0", adapter=ShelfAdapter),
]
