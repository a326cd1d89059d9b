"""Casts between the three dtypes."""

from typing import Any

import numpy

from strideweave.carriers.cpu.conversion import Array
from strideweave.carriers.cpu.kernels.frame import Kernel, narrow, pointwise
from strideweave.ops.conversion import int32_cast_overflow


def _to_float32(values: Array, out: Array | None = None) -> Any:
    return numpy.positive(values, out)  # a copy: the frame has converted them


def _to_int32(values: Array, out: Array | None = None) -> Array:
    if values.dtype != numpy.float32:
        return narrow(values, out, int32_cast_overflow)
    # Binary64, because the largest Int32 is no binary32 value.
    truncated = numpy.trunc(values, dtype=numpy.float64)
    return narrow(truncated, out, int32_cast_overflow)


def _to_bool(values: Array, out: Array | None = None) -> Any:
    return numpy.not_equal(values, values.dtype.type(0), out)


KERNELS: dict[str, Kernel] = {
    "_cast_float32": pointwise(_to_float32),
    "_cast_int32": pointwise(_to_int32),
    "_cast_bool": pointwise(_to_bool),
}
