"""Comparisons and logical operations, which give Bool."""

from typing import Any

import numpy

from strideweave.carriers.cpu.conversion import Bools, Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, pointwise


def _logical_not(values: Floats, out: Bools | None = None) -> Any:
    return numpy.equal(values, 0, out)


KERNELS: dict[str, Kernel] = {
    "eq": pointwise(numpy.equal),
    "ne": pointwise(numpy.not_equal),
    "lt": pointwise(numpy.less),
    "le": pointwise(numpy.less_equal),
    "logical_and": pointwise(numpy.logical_and),
    "logical_or": pointwise(numpy.logical_or),
    "logical_xor": pointwise(numpy.logical_xor),
    "logical_not": pointwise(_logical_not),
}
