"""A kernel pack: activation functions that the carrier itself serves by reference only.

Register it before the first OpenCLBuffer is made::

    strideweave.register_kernel_pack(strideweave_opencl.activations.PACK)
"""

from collections.abc import Mapping
from typing import Final

from strideweave import KernelPack

from strideweave_opencl import INTERFACE, OpenCLBuffer
from strideweave_opencl.kernels.pointwise import pointwise_patterns

EXPRESSIONS: Final[Mapping[str, str]] = {
    "gelu": "0.5f * x * (1.0f + erf(x * M_SQRT1_2_F))",
    "silu": "x * logistic(x)",
    "softplus": "log1p(exp(-fabs(x))) + (x <= 0.0f ? 0.0f : x)",
    "elu": "x > 0.0f ? x : expm1(x)",
    "leaky_relu": "x >= 0.0f ? x : 0.01f * x",
}

PACK: Final = KernelPack(
    "strideweave-opencl.activations",
    "1",
    OpenCLBuffer,
    INTERFACE,
    pointwise_patterns(EXPRESSIONS),
)
