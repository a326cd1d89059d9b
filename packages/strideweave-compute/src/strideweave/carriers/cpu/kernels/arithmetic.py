"""Arithmetic of two operands. Names, order and rules are those of ``strideweave.ops``."""

from functools import partial
from typing import Any

import numpy

from strideweave.carriers.cpu.conversion import Array, Floats
from strideweave.carriers.cpu.kernels.frame import Compute, Kernel, narrow, pointwise
from strideweave.ops.reference import int32_overflow


def _checked(name: str, function: numpy.ufunc) -> Compute:
    """Compute with Int32 operands exactly, refusing results that leave Int32.

    Args:
        name: The operation, for messages.
        function: A ufunc whose result for two Int32 values always fits 64 bits.
    """
    overflow = partial(int32_overflow, name)

    def compute(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
        return narrow(function(lhs, rhs, dtype=numpy.int64), out, overflow)

    return compute


def _power(base: Floats, exponent: Any, out: Floats | None = None) -> Any:
    roots = numpy.equal(exponent, 0.5)
    if roots.any():
        # For an exponent that repeats NumPy takes the root, which differs at -0.0 and -inf.
        roots = numpy.logical_and(roots, numpy.logical_or(numpy.equal(base, 0), numpy.isinf(base)))
        base = numpy.where(roots, numpy.absolute(base), base)
    return numpy.power(base, exponent, out)


def _exact_power(base: Array, exponent: Any, out: Array | None = None) -> Array:
    """Raise Int32 bases to non-negative Int32 exponents.

    Every power that is an Int32 is within half a unit of its binary64 value; larger ones stay
    larger, and binary64 holds every exponent exactly, so its parity counts.
    """
    power = numpy.rint(numpy.power(base, exponent, dtype=numpy.float64))
    return narrow(power, out, partial(int32_overflow, "pow"))


KERNELS: dict[str, Kernel] = {
    "add": pointwise(numpy.add, _checked("add", numpy.add)),
    "sub": pointwise(numpy.subtract, _checked("sub", numpy.subtract)),
    "mul": pointwise(numpy.multiply, _checked("mul", numpy.multiply)),
    "elementwise_mul": pointwise(numpy.multiply, _checked("elementwise_mul", numpy.multiply)),
    "div": pointwise(numpy.divide),
    "rem": pointwise(numpy.fmod),
    "pow": pointwise(_power, _exact_power),
}
