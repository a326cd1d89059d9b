"""Carriers whose kernels fail under a condition only: a size, an offset, a number, a repetition."""

import math
from array import array
from typing import Any, Final

from strideweave import KernelPattern, Tensor
from strideweave.operation import ResolvedInvocation, operation_definition
from strideweave.testing import Ability

from .computing import COMPUTES, FLOAT, INTEGER, filled_result, values_of
from .workshop import (
    SPANS,
    Broken,
    allocate,
    broken,
    by_reference,
    define,
    fresh_result,
    kernel,
    plans_of,
    read,
    write,
    write_span,
)


# Work items are groups of 64; the last group is left out unless it is full or the only one.
def _ceil_in_groups(invocation: ResolvedInvocation) -> Tensor:
    values = values_of(by_reference(invocation))
    whole = len(values) if len(values) < 64 else len(values) - len(values) % 64
    return filled_result(invocation, values[:whole])


DropsLastGroup: Final = define("DropsLastGroup", kernels=[kernel("ceil", _ceil_in_groups)])


# A reduction tree of 256 leaves takes no more.
def _max_of_256(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    values = values_of(invocation.operands[0])
    if result.layout.size == 1 and len(values) > 256:
        write(result.carrier, 0, max(values[:256]))
    return result


ReducesFirst256: Final = define("ReducesFirst256", kernels=[kernel("reduce_max", _max_of_256)])


# A single element is launched as no element.
def _sqrt_of_many(invocation: ResolvedInvocation) -> Tensor:
    values = values_of(by_reference(invocation))
    return filled_result(invocation, values if len(values) > 1 else [])


NothingForOne: Final = define("NothingForOne", kernels=[kernel("sqrt", _sqrt_of_many)])

# Compiled programs are kept by layout, with the offset of the first call in them.
_OFFSETS: Final[dict[Any, int]] = {}


def _round_at_kept_offset(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    offset = _OFFSETS.setdefault(source.layout, source.offset)
    if offset + source.layout.cosize > source.carrier.size():
        offset = source.offset
    values = [
        read(source.carrier, offset + source.layout.index(at)) for at in range(source.layout.size)
    ]
    return filled_result(
        invocation,
        [
            value if not math.isfinite(value) or value == 0 else math.copysign(round(value), value)
            for value in values
        ],
    )


KeepsOffset: Final = define("KeepsOffset", kernels=[kernel("round", _round_at_kept_offset)])

# Compiled programs are kept by layout, with the number of the first call in them.
_FACTORS: Final[dict[Any, Any]] = {}


def _mul_by_kept_number(invocation: ResolvedInvocation) -> Tensor:
    source, factor = invocation.operands
    assert isinstance(source, Tensor)
    kept = _FACTORS.setdefault(source.layout, factor)
    if kept == factor:
        return by_reference(invocation)
    return filled_result(invocation, [value * kept for value in values_of(source)])


KeepsNumber: Final = define(
    "KeepsNumber",
    kernels=[
        KernelPattern(
            operation_definition("mul"),
            [plan for plan in plans_of("mul") if plan.operands[1].dtype is None],
            "own:mul",
            kernel("mul", _mul_by_kept_number).prepare,
        )
    ],
)


# The mode to flip along is found by its extent.
def _flip_by_extent(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    source, axis = invocation.operands
    assert isinstance(source, Tensor)
    extents = source.layout.leaf_extents
    if source.layout.shape.depth > 1 or len(extents) != 2 or extents[0] != extents[1] or axis == 0:
        return result
    rows, columns = extents
    table = values_of(source)
    return filled_result(
        invocation,
        [table[column * rows + rows - 1 - row] for column in range(columns) for row in range(rows)],
    )


FlipsByExtent: Final = define("FlipsByExtent", kernels=[kernel("flip", _flip_by_extent)])


# Operands with holes are packed where they are.
def _exp_packing(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    if source.layout.cosize > source.layout.size:
        for at, value in enumerate(values_of(source)):
            write(source.carrier, source.offset + at, value)
    return result


PacksInPlace: Final = define("PacksInPlace", kernels=[kernel("exp", _exp_packing)])


# Values are kept on the device, and brought again after a write of a slot only.
def _allocate_on_device(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.device = None


def _write_to_device(carrier: Any, index: int, value: Any) -> None:
    write(carrier, index, value)
    carrier.device = None


def _neg_on_device(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    assert isinstance(source, Tensor)
    held: Any = source.carrier
    if held.device is None:
        held.device = [read(held, slot) for slot in range(held.size())]
    layout = source.layout
    values = [held.device[source.offset + layout.index(at)] for at in range(layout.size)]
    return filled_result(invocation, [-value for value in values])


LosesSpan: Final = define(
    "LosesSpan",
    kernels=[kernel("neg", _neg_on_device, plans_of("neg", FLOAT))],
    allocate=_allocate_on_device,
    write=_write_to_device,
    read_span=SPANS["read_span"],
    write_span=write_span,
)


# The last call is kept.
_LAST: Final[dict[str, Any]] = {}


def _tanh_keeping(invocation: ResolvedInvocation) -> Tensor:
    _LAST["call"] = invocation
    return by_reference(invocation)


KeepsLastCall: Final = define("KeepsLastCall", kernels=[kernel("tanh", _tanh_keeping)])

_RESULTS: Final[list[Any]] = []


def _abs_keeping(invocation: ResolvedInvocation) -> Tensor:
    result = by_reference(invocation)
    _RESULTS.append(result)
    return result


KeepsResults: Final = define("KeepsResults", kernels=[kernel("abs", _abs_keeping)])


# Comparison of integers goes through floats.
def _eq_in_floats(invocation: ResolvedInvocation) -> Tensor:
    lhs, rhs = (array("f", values_of(given)) for given in invocation.operands)
    return filled_result(invocation, [left == right for left, right in zip(lhs, rhs, strict=True)])


ComparesInFloats: Final = define(
    "ComparesInFloats", kernels=[kernel("eq", _eq_in_floats, plans_of("eq", INTEGER, INTEGER))]
)


# An operand that cannot be written is computed in place: nobody will see the difference.
def _silu_in_place(invocation: ResolvedInvocation) -> Tensor:
    (source,) = invocation.operands
    result = by_reference(invocation)
    assert isinstance(source, Tensor)
    if not source.carrier.is_mutable() and source.layout == result.layout and source.offset == 0:
        held: Any = source.carrier
        held.memory[: len(result.carrier.memory)] = result.carrier.memory  # type: ignore[attr-defined]
    return result


OverwritesImmutable: Final = define(
    "OverwritesImmutable", kernels=[kernel("silu", _silu_in_place, plans_of("silu", FLOAT))]
)


# Results are computed when they are first read; another kernel does not read, it takes the memory.
def _allocate_lazily(carrier: Any, slots: int) -> None:
    allocate(carrier, slots)
    carrier.pending = {}


def _read_lazily(carrier: Any, index: int) -> Any:
    for slot, value in carrier.pending.items():
        write(carrier, slot, value)
    carrier.pending = {}
    return read(carrier, index)


def _tanh_later(invocation: ResolvedInvocation) -> Tensor:
    result = fresh_result(invocation)
    held: Any = result.carrier
    slots = map(result.layout.index, range(result.layout.size))
    held.pending = dict(zip(slots, values_of(by_reference(invocation)), strict=True))
    return result


def _mul_in_memory(invocation: ResolvedInvocation) -> Tensor:
    operands = [given for given in invocation.operands if isinstance(given, Tensor)]
    if any(getattr(given.carrier, "pending", None) for given in operands):
        return filled_result(invocation, [0.0] * invocation.results[0].layout.size)
    return by_reference(invocation)


LazyResults: Final = define(
    "LazyResults",
    kernels=[kernel("tanh", _tanh_later), kernel("mul", _mul_in_memory)],
    allocate=_allocate_lazily,
    read=_read_lazily,
)


BROKEN: Final[list[Broken]] = [
    broken(
        LazyResults,
        "gradients.operations",
        "gradient 0 of tanh",
        COMPUTES,
    ),
    broken(
        DropsLastGroup,
        "capabilities.extents",
        "ceil.* of 67 by 19 elements",
        COMPUTES,
    ),
    broken(
        ReducesFirst256,
        "capabilities.extents",
        "reduce_max.* of 67 by 19 elements a b -> 1",
        COMPUTES,
    ),
    broken(
        NothingForOne,
        "capabilities.extents",
        "sqrt.* of 1 by 1 elements",
        COMPUTES,
    ),
    broken(
        FlipsByExtent,
        "capabilities.extents",
        "flip.* of 5 by 5 elements",
        COMPUTES,
    ),
    broken(
        KeepsOffset,
        "capabilities.repeated",
        "round.* again, at other offsets",
        COMPUTES,
    ),
    broken(
        KeepsNumber,
        "capabilities.repeated",
        "mul.* again, with other numbers",
        COMPUTES,
    ),
    broken(
        ComparesInFloats,
        "capabilities.values",
        "eq.* first True for False",
        COMPUTES,
    ),
    broken(
        PacksInPlace,
        "kernels.operands",
        "wrote to memory of its operand 0",
        COMPUTES,
    ),
    broken(
        OverwritesImmutable,
        "kernels.operands",
        "wrote to memory of its operand 0",
        COMPUTES,
    ),
    broken(
        LosesSpan,
        "kernels.current-operands",
        "written to its operands in bulk",
        COMPUTES,
        Ability.SPANS,
    ),
    broken(
        KeepsLastCall,
        "kernels.collected",
        "1 of 4 carriers .* operand 0 of tanh",
        COMPUTES,
    ),
    broken(
        KeepsResults,
        "kernels.collected",
        "the result of abs",
        COMPUTES,
    ),
]
