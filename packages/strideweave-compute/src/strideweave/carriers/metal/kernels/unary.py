"""Sign, roots, exponentials, logarithms, trigonometry and rounding of one operand."""

from functools import partial
from typing import TYPE_CHECKING

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Compute, Kernel, pointwise
from strideweave.carriers.metal.runtime import load

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core

_TWO = primitives.constant(2.0)
_EXP_LIMIT = primitives.constant(88.0)
"""Up to here MLX's exponential is finite; the true limit is 88.72."""
_SIGN = mx.array(-0x80000000, mx.int32)


def with_sign_of(source: mx.array, magnitude: mx.array) -> mx.array:
    """Combine the magnitude of one Float32 array with the sign bit of another."""
    sign = primitives.bitwise_and(primitives.view(source, mx.int32), _SIGN)
    bits = primitives.bitwise_and(primitives.view(magnitude, mx.int32), primitives.MAGNITUDE_BITS)
    return primitives.view(primitives.bitwise_or(sign, bits), mx.float32)


def exp(values: mx.array) -> mx.array:
    """Exponential, as the square of a root where MLX's own would overflow too early."""
    root = primitives.exp(primitives.multiply(values, primitives.HALF))
    return primitives.where(
        primitives.greater(values, _EXP_LIMIT),
        primitives.multiply(root, root),
        primitives.exp(values),
    )


def _sign(values: mx.array) -> mx.array:
    # By comparisons, because MLX's own sign of NaN is 0.
    above = primitives.converted(primitives.greater(values, primitives.ZERO), mx.float32)
    below = primitives.converted(primitives.less(values, primitives.ZERO), mx.float32)
    is_nan = primitives.not_equal(values, values)
    return primitives.where(is_nan, values, primitives.subtract(above, below))


def _odd(function: Compute) -> Compute:
    """Keep the sign of a zero, which MLX changes in some functions that are zero there."""

    def compute(values: mx.array) -> mx.array:
        return primitives.where(primitives.equal(values, primitives.ZERO), values, function(values))

    return compute


def _rsqrt(values: mx.array) -> mx.array:
    return primitives.divide(primitives.ONE, primitives.sqrt(values))


erf = _odd(primitives.erf)

KERNELS: dict[str, Kernel] = {
    "neg": pointwise(primitives.negative),
    "abs": pointwise(primitives.abs),
    "sign": pointwise(_sign),
    "recip": pointwise(partial(primitives.divide, primitives.ONE)),
    "sqrt": pointwise(primitives.sqrt),
    "rsqrt": pointwise(_rsqrt),
    "exp": pointwise(exp),
    "exp2": pointwise(partial(primitives.power, _TWO)),
    "log": pointwise(primitives.log),
    "log2": pointwise(primitives.log2),
    "sin": pointwise(_odd(primitives.sin)),
    "cos": pointwise(primitives.cos),
    "erf": pointwise(erf),
    "floor": pointwise(primitives.floor),
    "ceil": pointwise(primitives.ceil),
    "round": pointwise(primitives.round),
}
