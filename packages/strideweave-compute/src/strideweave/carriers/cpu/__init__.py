"""The NumPy carrier, and its moves to and from files."""

from strideweave.carriers.cpu.carrier import CPU
from strideweave.carriers.cpu.transfers import (
    CpuToFileBackedMoveOperation as CpuToFileBackedMoveOperation,
)
from strideweave.carriers.cpu.transfers import (
    FileBackedToCpuMoveOperation as FileBackedToCpuMoveOperation,
)

__all__ = ["CPU"]
