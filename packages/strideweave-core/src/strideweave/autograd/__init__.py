"""Reverse-mode differentiation."""

from strideweave.autograd.functional_grad import grad

__all__ = ["grad"]
