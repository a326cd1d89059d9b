"""Tools for testing carriers."""

from strideweave.testing.array_carrier import ArrayCarrier

__all__ = ["ArrayCarrier"]
