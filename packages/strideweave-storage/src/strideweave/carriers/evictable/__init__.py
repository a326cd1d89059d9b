"""The carrier of two tiers that computes where its values are resident."""

from strideweave.carriers.evictable.carrier import Evictable

__all__ = ["Evictable"]
