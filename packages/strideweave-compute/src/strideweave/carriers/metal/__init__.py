"""The carrier on Metal GPUs, and its moves."""

from strideweave.carriers.metal.carrier import Metal
from strideweave.carriers.metal.transfers import (
    CpuToMetalMoveOperation as CpuToMetalMoveOperation,
)
from strideweave.carriers.metal.transfers import (
    MetalToCpuMoveOperation as MetalToCpuMoveOperation,
)
from strideweave.carriers.metal.transfers import (
    MetalToMetalMoveOperation as MetalToMetalMoveOperation,
)

__all__ = ["Metal"]
