"""Casts between the three dtypes, which the pointwise frame performs but for those to Bool."""

from typing import TYPE_CHECKING

from strideweave.carriers.metal import primitives
from strideweave.carriers.metal.kernels.frame import Kernel, pointwise
from strideweave.carriers.metal.runtime import load

if TYPE_CHECKING:
    import mlx.core as mx
else:
    mx = load().core


def _to_bool(values: mx.array) -> mx.array:
    return primitives.not_equal(values, mx.array(0, values.dtype))


KERNELS: dict[str, Kernel] = {
    "_cast_float32": pointwise(primitives.copied),
    "_cast_int32": pointwise(primitives.copied),
    "_cast_bool": pointwise(_to_bool),
}
