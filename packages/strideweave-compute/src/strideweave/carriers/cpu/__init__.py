"""The NumPy carrier, and its moves to and from files and block devices."""

from strideweave.carriers.cpu.carrier import CPU
from strideweave.carriers.cpu.transfers import (
    CpuToFileBackedMoveOperation as CpuToFileBackedMoveOperation,
)
from strideweave.carriers.cpu.transfers import (
    FileBackedToCpuMoveOperation as FileBackedToCpuMoveOperation,
)
from strideweave.carriers.cpu.transfers_block_device import (
    BlockDeviceToCpuMoveOperation as BlockDeviceToCpuMoveOperation,
)
from strideweave.carriers.cpu.transfers_block_device import (
    CpuToBlockDeviceMoveOperation as CpuToBlockDeviceMoveOperation,
)

__all__ = ["CPU"]
