"""Choosing between operands by a condition."""

import numpy

from strideweave.carriers.cpu.conversion import Array, Bools, Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, pointwise

_BLEND_FROM = 4096
"""Elements from which blending bits beats ``numpy.where``, whose branches mispredict."""


def select(condition: Bools, on_true: Floats, on_false: Floats, out: Floats | None = None) -> Array:
    """The value of ``on_true`` where the condition holds, else that of ``on_false``."""
    if out is not None:
        numpy.copyto(out, on_false)
        numpy.copyto(out, on_true, where=condition)
        return out
    if condition.size < _BLEND_FROM:
        return numpy.where(condition, on_true, on_false)
    fallback = on_false.view(numpy.int32)
    mask = numpy.subtract(0, condition.view(numpy.int8), dtype=numpy.int32)
    mask &= numpy.bitwise_xor(on_true.view(numpy.int32), fallback)
    mask ^= fallback
    return mask.view(numpy.float32)


KERNELS: dict[str, Kernel] = {"select": pointwise(select)}
