"""Comparisons and logical operations, which give Bool."""

from functools import partial

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel, pointwise

KERNELS: dict[str, Kernel] = {
    "eq": pointwise(primitives.equal),
    "ne": pointwise(primitives.not_equal),
    "lt": pointwise(primitives.less),
    "le": pointwise(primitives.less_equal),
    "logical_and": pointwise(primitives.logical_and),
    "logical_or": pointwise(primitives.logical_or),
    "logical_xor": pointwise(primitives.not_equal),
    "logical_not": pointwise(partial(primitives.equal, primitives.ZERO)),
}
