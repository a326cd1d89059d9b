"""The NumPy carrier."""

from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.cpu.carrier import CPU
from strideweave.carriers.generic.capabilities import catalogue_capabilities

__all__ = ["CPU"]

register_operation_capabilities(CPU, catalogue_capabilities())
