"""Maxima and minima: NaN wins, and signed zeros are told apart."""

from typing import TYPE_CHECKING

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel, pointwise

if TYPE_CHECKING:
    import mlx.core as mx


def _maximum(lhs: "mx.array", rhs: "mx.array") -> "mx.array":
    """The larger value; +0.0 where both are zeros of different sign."""
    sums = primitives.add(lhs, rhs)  # of two zeros, -0.0 only if both are
    return primitives.where(_are_zeros(lhs, rhs), sums, primitives.maximum(lhs, rhs))


def _minimum(lhs: "mx.array", rhs: "mx.array") -> "mx.array":
    """The smaller value; -0.0 where both are zeros of different sign."""
    sums = primitives.add(primitives.negative(lhs), primitives.negative(rhs))
    lower = primitives.minimum(lhs, rhs)
    return primitives.where(_are_zeros(lhs, rhs), primitives.negative(sums), lower)


def _are_zeros(lhs: "mx.array", rhs: "mx.array") -> "mx.array":
    return primitives.logical_and(
        primitives.equal(lhs, primitives.ZERO), primitives.equal(rhs, primitives.ZERO)
    )


def _clamp(values: "mx.array", lower: "mx.array", upper: "mx.array") -> "mx.array":
    return _minimum(_maximum(values, lower), upper)


KERNELS: dict[str, Kernel] = {
    "maximum": pointwise(_maximum),
    "minimum": pointwise(_minimum),
    "clamp": pointwise(_clamp),
}
