"""Arithmetic of two operands. Names, order and rules are those of ``strideweave.ops``."""

from typing import TYPE_CHECKING

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel, pointwise
from strideweave.carriers.metal.kernels.unary import with_sign_of

if TYPE_CHECKING:
    import mlx.core as mx


def _remainder(lhs: "mx.array", rhs: "mx.array") -> "mx.array":
    # MLX gives the sign of the divisor, so it is given magnitudes.
    magnitude = primitives.remainder(primitives.abs(lhs), primitives.abs(rhs))
    return with_sign_of(lhs, magnitude)


KERNELS: dict[str, Kernel] = {
    "add": pointwise(primitives.add),
    "sub": pointwise(primitives.subtract),
    "mul": pointwise(primitives.multiply),
    "elementwise_mul": pointwise(primitives.multiply),
    "div": pointwise(primitives.divide),
    "rem": pointwise(_remainder),
    "pow": pointwise(primitives.power),
}
