"""The carrier of plain Python values."""

from strideweave.carriers.capability_queries import register_operation_capabilities
from strideweave.carriers.generic.capabilities import catalogue_capabilities
from strideweave.carriers.generic.carrier import Generic

__all__ = ["Generic"]

register_operation_capabilities(Generic, catalogue_capabilities())
