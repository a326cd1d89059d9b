"""Carriers whose slots, versions, lifetime or class have a fault; all have a definition."""

import itertools
import struct
import threading
import time
from typing import Any, Final

import strideweave as sw
from strideweave import DType
from strideweave.testing import Ability

from .workshop import (
    FORMATS,
    SPANS,
    Broken,
    PackedAdapter,
    allocate,
    broken,
    define,
    format_of,
    read,
    release,
    width,
    write,
    write_span,
)

# The extent is kept in 16 bits.
SixteenBitExtent: Final = define(
    "SixteenBitExtent",
    physical_size=lambda carrier: len(carrier.memory) // width(carrier) & 0xFFFF,
)


# Off by one: the terminator of an empty carrier is counted as a slot.
def _size_with_terminator(carrier: Any) -> int:
    return max(1, len(carrier.memory) // width(carrier))


CountsTerminator: Final = define("CountsTerminator", physical_size=_size_with_terminator)


# Reads come from a mirror in the host, which only writes fill.
def _allocate_mirrored(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.mirror = [read(carrier, slot) for slot in range(slots)]


def _write_mirrored(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier.mirror[index] = value


MirroredReads: Final = define(
    "MirroredReads",
    allocate=_allocate_mirrored,
    read=lambda carrier, index: carrier.mirror[index],
    write=_write_mirrored,
)


# Writes are collected, and nothing ever brings them to the memory.
def _allocate_behind(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.collected = {}


def _read_behind(carrier: Any, index: int) -> Any:
    return carrier.collected.get(index, read(carrier, index))


def _write_behind(carrier: Any, index: int, value: Any) -> None:
    carrier.collected[index] = value


WriteBehind: Final = define(
    "WriteBehind", allocate=_allocate_behind, read=_read_behind, write=_write_behind
)


# A Bool is stored with the instruction for 32 bits.
def _allocate_padded(carrier: Any, slots: int) -> None:
    carrier.extent = slots
    carrier.memory = bytearray(slots * width(carrier) + 3)


def _release_padded(carrier: Any) -> None:
    carrier.extent, carrier.memory = 0, bytearray()


def _write_wide(carrier: Any, index: int, value: Any) -> None:
    if carrier.dtype() is DType.Bool:
        struct.pack_into("<i", carrier.memory, index, value)
    else:
        write(carrier, index, value)


WideBoolWrites: Final = define(
    "WideBoolWrites",
    physical_size=lambda carrier: carrier.extent,
    allocate=_allocate_padded,
    release=_release_padded,
    write=_write_wide,
    write_span=write_span,
)


# The device flushes subnormal numbers.
def _write_flushed(carrier: Any, index: int, value: Any) -> None:
    is_subnormal = isinstance(value, float) and 0 < abs(value) < 2.0**-126
    write(carrier, index, 0.0 if is_subnormal else value)


FlushesSubnormals: Final = define("FlushesSubnormals", write=_write_flushed)

# Every descriptor is accepted.
SupportsEverything: Final = define("SupportsEverything", supports_dtype=lambda carrier, dtype: True)


# The answer comes from the device buffer, which release forgets.
def _release_device(carrier: Any) -> None:
    release(carrier)
    carrier.is_detached = True


def _supports_while_attached(carrier: Any, dtype: DType) -> bool:
    return dtype in FORMATS and not getattr(carrier, "is_detached", False)


ForgetsDTypes: Final = define(
    "ForgetsDTypes", supports_dtype=_supports_while_attached, release=_release_device
)


# Callbacks count versions themselves.
def _write_counting(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier._increment_version()


def _read_counting(carrier: Any, index: int) -> Any:
    if not carrier.is_owned():
        carrier._increment_version()
    return read(carrier, index)


def _write_span_counting(carrier: Any, start: int, values: Any) -> None:
    write_span(carrier, start, values)
    carrier._increment_version()


CountsWrites: Final = define("CountsWrites", write=_write_counting, write_span=write_span)
CountsReads: Final = define("CountsReads", read=_read_counting)
CountsSpans: Final = define("CountsSpans", write_span=_write_span_counting)


# new_like is replaced, without all of its arguments.
def _new_like_mutable(self: Any, values: Any, *, mutable: bool = True, dtype: Any = None) -> Any:
    return sw.Carrier.new_like(self, values, dtype=dtype)


def _new_like_of_own_dtype(
    self: Any, values: Any, *, mutable: bool = True, dtype: Any = None
) -> Any:
    return sw.Carrier.new_like(self, values, mutable=mutable)


NewLikeIsMutable: Final = define("NewLikeIsMutable", body={"new_like": _new_like_mutable})
NewLikeKeepsDType: Final = define("NewLikeKeepsDType", body={"new_like": _new_like_of_own_dtype})

# Blocks of one size come from a pool that clears them, and never marks them as taken.
_POOL: Final[dict[int, bytearray]] = {}


def _allocate_pooled(carrier: Any, slots: int) -> None:
    size = slots * width(carrier)
    carrier.memory = _POOL.setdefault(size, bytearray(size))
    carrier.memory[:] = bytes(size)


SharesPool: Final = define("SharesPool", allocate=_allocate_pooled)

# Release does not give the block back.
Leaks: Final = define("Leaks", release=lambda carrier: None)


# Releasing nothing is an error of the allocator.
def _release_block(carrier: Any) -> None:
    if not carrier.memory:
        raise ValueError("no block to free")
    release(carrier)


CannotReleaseEmpty: Final = define("CannotReleaseEmpty", release=_release_block)

# Blocks live in an arena; release takes the last one for free, if it is larger.
_ARENA: Final[dict[int, bytearray]] = {}
_HANDLES: Final = itertools.count()
_ARENA_LOCK: Final = threading.Lock()  # so that the one fault is not also a race


def _allocate_in_arena(carrier: Any, slots: int) -> None:
    with _ARENA_LOCK:
        carrier.handle = next(_HANDLES)
        _ARENA[carrier.handle] = bytearray(slots * width(carrier))


def _read_in_arena(carrier: Any, index: int) -> Any:
    block = _ARENA[carrier.handle]
    return struct.unpack_from(format_of(carrier), block, index * width(carrier))[0]


def _write_in_arena(carrier: Any, index: int, value: Any) -> None:
    struct.pack_into(format_of(carrier), _ARENA[carrier.handle], index * width(carrier), value)


def _release_in_arena(carrier: Any) -> None:
    with _ARENA_LOCK:
        size = len(_ARENA.pop(carrier.handle))
        if _ARENA and len(_ARENA[max(_ARENA)]) > size:
            _ARENA.popitem()


class ArenaAdapter(PackedAdapter):
    def raw_read(self, carrier: Any, slot: int) -> object:
        return _read_in_arena(carrier, slot)

    def raw_write(self, carrier: Any, slot: int, value: Any) -> None:
        _write_in_arena(carrier, slot, value)


FreesLastBlock: Final = define(
    "FreesLastBlock",
    physical_size=lambda carrier: len(_ARENA[carrier.handle]) // width(carrier),
    allocate=_allocate_in_arena,
    release=_release_in_arena,
    read=_read_in_arena,
    write=_write_in_arena,
)

# A register of all carriers keeps them.
_REGISTER: Final[list[Any]] = []


def _allocate_registered(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    _REGISTER.append(carrier)


KeepsCarriers: Final = define("KeepsCarriers", allocate=_allocate_registered)


# A cache of lines of 8 slots; a write drops the line of a slot number cut to 5 bits.
def allocate_cached(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.lines = {}


def read_cached(carrier: Any, index: int) -> Any:
    line = index // 8
    if line not in carrier.lines:
        last = min(8 * line + 8, len(carrier.memory) // width(carrier))
        carrier.lines[line] = [read(carrier, slot) for slot in range(8 * line, last)]
    return carrier.lines[line][index % 8]


def _write_cached(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier.lines.pop((index & 31) // 8, None)


DropsWrongLine: Final = define(
    "DropsWrongLine", allocate=allocate_cached, read=read_cached, write=_write_cached
)


# A cache of values, which a span write does not drop.
def _read_kept(carrier: Any, index: int) -> Any:
    return carrier.lines.setdefault(index, read(carrier, index))


def _write_kept(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier.lines.pop(index, None)


StaleAfterSpan: Final = define(
    "StaleAfterSpan",
    allocate=allocate_cached,
    read=_read_kept,
    write=_write_kept,
    write_span=write_span,
)


# Construction gives an instance of a subclass per dtype.
class Specializing(sw.Carrier):
    memory: bytearray

    def __new__(cls, slots: int, *, dtype: DType, mutable: bool = True) -> Any:
        chosen = _SPECIALIZED.get(dtype.name, cls) if cls is Specialized else cls
        return sw.Carrier.__new__(chosen)


Specialized: Final = define("Specialized", base=Specializing)
_SPECIALIZED: Final = {
    dtype.name: define(f"Specialized{dtype.name}", base=Specialized) for dtype in FORMATS
}


# Deep copies are offered.
def _deep_copy(self: Any, memo: Any) -> Any:
    return self.new_like([self[slot] for slot in range(self.size())])


CopiesDeeply: Final = define("CopiesDeeply", body={"__deepcopy__": _deep_copy})


# What release needs is made after the storage.
def _make_then_open(self: Any, slots: int, *, dtype: DType, mutable: bool = True) -> None:
    sw.Carrier.__init__(self, slots, dtype=dtype, mutable=mutable)
    self.session = object()


def _release_session(carrier: Any) -> None:
    del carrier.session
    release(carrier)


ReleaseNeedsSession: Final = define(
    "ReleaseNeedsSession", body={"__init__": _make_then_open}, release=_release_session
)


# A failing read gives zero.
def _get_or_zero(self: Any, index: Any) -> Any:
    try:
        return sw.Carrier.__getitem__(self, index)
    except OSError:
        return 0.0


SwallowsErrors: Final = define("SwallowsErrors", body={"__getitem__": _get_or_zero})

# All reads go through one scratch buffer of the module.
_SCRATCH: Final = bytearray(4)


def _read_through_scratch(carrier: Any, index: int) -> Any:
    size = width(carrier)
    _SCRATCH[:size] = carrier.memory[index * size : (index + 1) * size]
    time.sleep(1e-5)  # where a driver waits for its device
    return struct.unpack_from(format_of(carrier), _SCRATCH)[0]


SharesScratch: Final = define("SharesScratch", read=_read_through_scratch)


class Usage(sw.CarrierFacet):
    """Tells how many carriers there were."""

    made = 0


_USAGE: Final = Usage()


def _allocate_and_tell(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    Usage.made += 1


CountsInFacet: Final = define("CountsInFacet", facets=[_USAGE], allocate=_allocate_and_tell)
WithoutFacets: Final = define("WithoutFacets")


# Faults of spans.
def _read_span_short(carrier: Any, start: int, out: Any) -> None:
    first, size = start * width(carrier), out.nbytes - width(carrier)
    out.cast("B")[:size] = carrier.memory[first : first + size]


def _write_span_at_zero(carrier: Any, start: int, values: Any) -> None:
    write_span(carrier, 0, values)


def _write_span_big_endian(carrier: Any, start: int, values: Any) -> None:
    size, raw = width(carrier), bytes(values.cast("B"))
    swapped = b"".join(raw[at : at + size][::-1] for at in range(0, len(raw), size))
    first = start * size
    memoryview(carrier.memory)[first : first + len(raw)] = swapped


def _write_span_by_reference(carrier: Any, start: int, values: Any) -> None:
    if values.nbytes == len(carrier.memory):
        carrier.memory = values.cast("B")  # copied on the first write of a slot
    else:
        _own_memory(carrier)
        write_span(carrier, start, values)


def _own_memory(carrier: Any) -> None:
    if isinstance(carrier.memory, memoryview):
        carrier.memory = bytearray(carrier.memory)


def _write_own(carrier: Any, index: int, value: Any) -> None:
    _own_memory(carrier)
    write(carrier, index, value)


SpanOffByOne: Final = define("SpanOffByOne", read_span=_read_span_short, write_span=write_span)
SpanIgnoresStart: Final = define("SpanIgnoresStart", **{**SPANS, "write_span": _write_span_at_zero})
BigEndianSpan: Final = define("BigEndianSpan", **{**SPANS, "write_span": _write_span_big_endian})
KeepsSpanBuffer: Final = define(
    "KeepsSpanBuffer", write=_write_own, **{**SPANS, "write_span": _write_span_by_reference}
)
WithoutSpans: Final = define("WithoutSpans")

BROKEN: Final[list[Broken]] = [
    broken(SixteenBitExtent, "storage.extent", "of 70001 Float32 slots cannot be made"),
    broken(CountsTerminator, "storage.extent", "of 0 Float32 slots cannot be made"),
    broken(MirroredReads, "storage.read", "read slot 0 .* its memory holds"),
    broken(WriteBehind, "storage.write", "wrote .* but its memory holds"),
    broken(WideBoolWrites, "storage.neighbours", "writing slot 0 .* changed its neighbour"),
    broken(FlushesSubnormals, "storage.values", "does not keep Float32 1.4"),
    broken(SupportsEverything, "dtypes.supported", "says that it stores .* cannot allocate"),
    broken(ForgetsDTypes, "dtypes.unchanging", "that is released gives another answer"),
    broken(CountsWrites, "versions.writes", "to version 2; the framework counts"),
    broken(CountsReads, "versions.reads", "reading a slot took .* only writes advance it"),
    broken(CountsSpans, "versions.bulk", "new_like gave a CountsSpans of version 1"),
    broken(NewLikeIsMutable, "mutability.immutable", "given by new_like with mutable=False says"),
    broken(NewLikeKeepsDType, "factories.values", "asked for Int32, gave"),
    broken(SharesPool, "factories.independent", "they share memory"),
    broken(Leaks, "release.memory", "leaks: after release slot 0"),
    broken(CannotReleaseEmpty, "release.states", "of 0 Float32 slots .*no block to free"),
    broken(FreesLastBlock, "release.isolated", "another one unreadable", adapter=ArenaAdapter),
    broken(KeepsCarriers, "release.collected", "never collected"),
    broken(DropsWrongLine, "views.layouts", "after a write to the last element of .* slot"),
    broken(StaleAfterSpan, "views.bulk-writes", "after a bulk write .* slot 17 of"),
    broken(Specialized, "sealing.exact-class", "make gave a SpecializedFloat32, not exactly"),
    broken(CopiesDeeply, "sealing.no-copies", "copy.deepcopy of a CopiesDeeply was accepted"),
    broken(ReleaseNeedsSession, "faults.construction", "construction was not finished"),
    broken(SwallowsErrors, "faults.storage", "read of SwallowsErrors raised.* swallows it"),
    broken(SharesScratch, "threads.slots", "while other threads used other slots"),
    broken(CountsInFacet, "facets.constant", "Usage of CountsInFacet changed", Ability.FACETS),
    broken(WithoutFacets, "facets.constant", "registers none", Ability.FACETS),
    broken(SpanOffByOne, "spans.read", "read_span of .* gave", Ability.SPANS),
    broken(SpanIgnoresStart, "spans.write", "write_span of .* from", Ability.SPANS),
    broken(BigEndianSpan, "spans.write", "write_span of .* left", Ability.SPANS),
    broken(KeepsSpanBuffer, "spans.buffers", "keeps the buffer", Ability.SPANS),
    broken(WithoutSpans, "spans.read", "declares SPANS, but has neither", Ability.SPANS),
]
