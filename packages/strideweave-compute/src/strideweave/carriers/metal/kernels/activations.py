"""Activation functions."""

from typing import TYPE_CHECKING

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel, pointwise
from strideweave.carriers.metal.kernels.unary import erf
from strideweave.ops import binary32

if TYPE_CHECKING:
    import mlx.core as mx

_INVERSE_SQRT_2 = primitives.constant(binary32.INVERSE_SQRT_2)
_LEAKY_SLOPE = primitives.constant(binary32.LEAKY_SLOPE)


def _relu(values: "mx.array") -> "mx.array":
    # A maximum would keep NaN.
    return primitives.where(primitives.greater(values, primitives.ZERO), values, primitives.ZERO)


def _gelu(values: "mx.array") -> "mx.array":
    bell = primitives.add(primitives.ONE, erf(primitives.multiply(values, _INVERSE_SQRT_2)))
    return primitives.multiply(primitives.multiply(values, primitives.HALF), bell)


def _silu(values: "mx.array") -> "mx.array":
    return primitives.multiply(values, primitives.sigmoid(values))


def _softplus(values: "mx.array") -> "mx.array":
    return primitives.logaddexp(values, primitives.ZERO)


def _elu(values: "mx.array") -> "mx.array":
    is_positive = primitives.greater(values, primitives.ZERO)
    return primitives.where(is_positive, values, primitives.expm1(values))


def _leaky_relu(values: "mx.array") -> "mx.array":
    below = primitives.multiply(values, _LEAKY_SLOPE)
    return primitives.where(primitives.greater_equal(values, primitives.ZERO), values, below)


KERNELS: dict[str, Kernel] = {
    "relu": pointwise(_relu),
    "sigmoid": pointwise(primitives.sigmoid),
    "tanh": pointwise(primitives.tanh),
    "gelu": pointwise(_gelu),
    "silu": pointwise(_silu),
    "softplus": pointwise(_softplus),
    "elu": pointwise(_elu),
    "leaky_relu": pointwise(_leaky_relu),
}
