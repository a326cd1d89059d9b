"""Maxima and minima: NaN wins, and signed zeros are told apart."""

import numpy

from strideweave.carriers.cpu.conversion import Bools, Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, pointwise


def maximum(lhs: Floats, rhs: Floats, out: Floats | None = None) -> Floats:
    """The larger value; +0.0 where both are zeros of different sign."""
    greatest: Floats = numpy.maximum(lhs, rhs, out=out)
    ties = _equal_zeros(greatest, lhs, rhs)
    if ties is not None:
        numpy.copyto(greatest, numpy.where(numpy.signbit(lhs), rhs, lhs), where=ties)
    return greatest


def minimum(lhs: Floats, rhs: Floats, out: Floats | None = None) -> Floats:
    """The smaller value; -0.0 where both are zeros of different sign."""
    least: Floats = numpy.minimum(lhs, rhs, out=out)
    ties = _equal_zeros(least, lhs, rhs)
    if ties is not None:
        numpy.copyto(least, numpy.where(numpy.signbit(lhs), lhs, rhs), where=ties)
    return least


def _equal_zeros(extremes: Floats, lhs: Floats, rhs: Floats) -> Bools | None:
    """Where both operands are zeros, which NumPy orders arbitrarily; None for nowhere."""
    zeros = numpy.equal(extremes, 0)
    return numpy.logical_and(zeros, numpy.equal(lhs, rhs)) if zeros.any() else None


def _clamp(values: Floats, lower: Floats, upper: Floats, out: Floats | None = None) -> Floats:
    return minimum(maximum(values, lower), upper, out)


KERNELS: dict[str, Kernel] = {
    "maximum": pointwise(maximum),
    "minimum": pointwise(minimum),
    "clamp": pointwise(_clamp),
}
