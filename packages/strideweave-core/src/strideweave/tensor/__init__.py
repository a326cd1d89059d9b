"""Tensors: a carrier, an offset into it and a hierarchical layout."""

from strideweave.tensor.tensor import Tensor

__all__ = ["Tensor"]
