"""Sign, roots, exponentials, logarithms, trigonometry and rounding of one operand."""

from typing import Any

import numpy

from strideweave.carriers.cpu.conversion import Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, pointwise

_ONE = numpy.ones((), numpy.float32)

# The rational approximation of erf that Eigen uses, accurate to a few units in the last place.
# Coefficients of odd powers in the numerator and even powers in the denominator, highest first.
_ERF_LIMIT = numpy.float32(4)
_ERF_NUMERATOR = numpy.array(
    [
        -2.72614225801306e-10,
        2.77068142495902e-08,
        -2.10102402082508e-06,
        -5.69250639462346e-05,
        -7.34990630326855e-04,
        -2.95459980854025e-03,
        -1.60960333262415e-02,
    ],
    numpy.float32,
)
_ERF_DENOMINATOR = numpy.array(
    [
        -1.45660718464996e-05,
        -2.13374055278905e-04,
        -1.68282697438203e-03,
        -7.37332916720468e-03,
        -1.42647390514189e-02,
    ],
    numpy.float32,
)


def erf(values: Floats, out: Floats | None = None) -> Any:
    """Error function; exactly 1 in magnitude from 4 on."""
    clipped = numpy.clip(values, -_ERF_LIMIT, _ERF_LIMIT)
    square = numpy.square(clipped)
    clipped *= _polynomial(_ERF_NUMERATOR, square)
    return numpy.divide(clipped, _polynomial(_ERF_DENOMINATOR, square), out)


def _polynomial(coefficients: Floats, values: Floats) -> Floats:
    total = numpy.full_like(values, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= values
        total += coefficient
    return total


def _rsqrt(values: Floats, out: Floats | None = None) -> Any:
    return numpy.divide(_ONE, numpy.sqrt(values), out)


KERNELS: dict[str, Kernel] = {
    "neg": pointwise(numpy.negative),
    "abs": pointwise(numpy.absolute),
    "sign": pointwise(numpy.sign),
    "recip": pointwise(numpy.reciprocal),
    "sqrt": pointwise(numpy.sqrt),
    "rsqrt": pointwise(_rsqrt),
    "exp": pointwise(numpy.exp),
    "exp2": pointwise(numpy.exp2),
    "log": pointwise(numpy.log),
    "log2": pointwise(numpy.log2),
    "sin": pointwise(numpy.sin),
    "cos": pointwise(numpy.cos),
    "erf": pointwise(erf),
    "floor": pointwise(numpy.floor),
    "ceil": pointwise(numpy.ceil),
    "round": pointwise(numpy.rint),
}
