"""The carrier of plain Python values."""

from strideweave.carriers.generic.carrier import Generic

__all__ = ["Generic"]
