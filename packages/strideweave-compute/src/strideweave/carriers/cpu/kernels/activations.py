"""Activation functions."""

from typing import Any

import numpy
from numpy.typing import NDArray

from strideweave.carriers.cpu.conversion import Floats
from strideweave.carriers.cpu.kernels.frame import Kernel, pointwise
from strideweave.carriers.cpu.kernels.selection import select
from strideweave.carriers.cpu.kernels.unary import erf
from strideweave.ops import binary32

_ZERO = numpy.zeros((), numpy.float32)
_HALF = numpy.float32(0.5)
_INVERSE_SQRT_2 = numpy.float32(binary32.INVERSE_SQRT_2)
_LEAKY_SLOPE = numpy.float32(binary32.LEAKY_SLOPE)


def _relu(values: Floats, out: Floats | None = None) -> Any:
    # In this order: fmax(0, x) keeps -0.0.
    return numpy.fmax(values, _ZERO, out)


def _integer_relu(values: NDArray[numpy.int32], out: NDArray[numpy.int32] | None = None) -> Any:
    return numpy.maximum(values, 0, out=out)


def _decay(values: Floats) -> Floats:
    """The exponential of the negative magnitude, which cannot overflow."""
    magnitude = numpy.absolute(values)
    numpy.negative(magnitude, magnitude)
    return numpy.exp(magnitude, magnitude)


def _sigmoid(values: Floats, out: Floats | None = None) -> Any:
    """1 / (1 + exp(-x)) from 0 on, exp(x) / (1 + exp(x)) below."""
    numerator = numpy.minimum(values, _ZERO)
    numpy.exp(numerator, numerator)
    denominator = _decay(values)
    denominator += 1
    return numpy.divide(numerator, denominator, out)


def _gelu(values: Floats, out: Floats | None = None) -> Any:
    bell = erf(values * _INVERSE_SQRT_2)
    bell += 1
    return numpy.multiply(values * _HALF, bell, out)


def _silu(values: Floats, out: Floats | None = None) -> Any:
    return numpy.multiply(values, _sigmoid(values), out)


def _softplus(values: Floats, out: Floats | None = None) -> Any:
    return numpy.add(numpy.log1p(_decay(values)), numpy.maximum(values, _ZERO), out)


def _elu(values: Floats, out: Floats | None = None) -> Any:
    below = numpy.expm1(-numpy.absolute(values))
    return select(numpy.greater_equal(values, 0), values, below, out)


def _leaky_relu(values: Floats, out: Floats | None = None) -> Any:
    # The slope is below one, so the right branch is the larger value on both sides of zero.
    return numpy.maximum(values, values * _LEAKY_SLOPE, out=out)


KERNELS: dict[str, Kernel] = {
    "relu": pointwise(_relu, _integer_relu),
    "sigmoid": pointwise(_sigmoid),
    "tanh": pointwise(numpy.tanh),
    "gelu": pointwise(_gelu),
    "silu": pointwise(_silu),
    "softplus": pointwise(_softplus),
    "elu": pointwise(_elu),
    "leaky_relu": pointwise(_leaky_relu),
}
