"""Choosing between operands by a condition."""

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel, pointwise

KERNELS: dict[str, Kernel] = {"select": pointwise(primitives.where)}
