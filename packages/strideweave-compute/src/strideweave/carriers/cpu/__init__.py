"""The NumPy carrier."""

from strideweave.carriers.cpu.carrier import CPU

__all__ = ["CPU"]
