"""Storage of Metal carriers: arrays of one dimension, contiguous, submitted and never changed."""

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy

from strideweave.carriers.cpu.conversion import Array, zero_or_one
from strideweave.carriers.metal import primitives, runtime
from strideweave.dtype import DType

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = runtime.load().core

ELEMENTS: Final[dict[DType, "mx.Dtype"]] = {
    DType.Float32: mx.float32,
    DType.Int32: mx.int32,
    DType.Bool: mx.bool_,
}
"""The element type that stores each dtype."""

Slots: TypeAlias = "mx.array"
"""The storage of one carrier."""


def zeros(slots: int, dtype: DType) -> Slots:
    """Make storage that holds zeros, submitted."""
    return submitted(primitives.zeros((slots,), ELEMENTS[dtype]))


def from_host(values: Array) -> Slots:
    """Copy one dimension of host memory, of an element type and byte order that MLX stores.

    Any byte stands for a Bool, as others may have written it.

    Raises:
        RuntimeError: The process is a fork in which MLX is lost.
    """
    runtime.load()
    return mx.array(zero_or_one(values))  # holds its values from the start


def to_host(slots: Slots) -> Array:
    """View storage, once it is complete; the view is read-only and keeps the memory alive."""
    runtime._complete(slots)
    view: Array = numpy.asarray(slots)
    view.flags.writeable = False
    return view


def part(slots: Slots, start: int, count: int) -> Slots:
    """View consecutive slots, which exist."""
    if count == slots.size:
        return slots
    return primitives.as_strided(slots, (count,), (1,), start)


def replaced(slots: Slots, start: int, values: Slots) -> Slots:
    """Make complete storage with other values from ``start`` on, where they fit.

    What the device refuses propagates; then the values are nowhere.
    """
    if values.size == slots.size:
        staged = values
    else:
        where = mx.array(numpy.array([start], numpy.int32))
        staged = primitives.slice_update(slots, values, where, (0,))
    submitted(staged)
    runtime._complete(staged)
    return staged


def submitted(array: "mx.array") -> Slots:
    """Start computing an array, in the thread that built it."""
    runtime.submit(array)
    return array


def extracted(slots: Slots, start: int, count: int) -> Slots:
    """Copy consecutive slots, which exist, into storage of their own, submitted."""
    return submitted(primitives.copied(part(slots, start, count)))
