"""Hierarchical layouts, index maps and their algebra."""

from strideweave.layout.index_map import IndexMap
from strideweave.layout.layout import Layout, Tiler
from strideweave.layout.permutation import Permutation
from strideweave.layout.product import Product
from strideweave.layout.shape import Shape, Stride
from strideweave.layout.swizzle import Swizzle, SwizzleStage
from strideweave.layout.tree import Node, Tree

__all__ = [
    "IndexMap",
    "Layout",
    "Node",
    "Permutation",
    "Product",
    "Shape",
    "Stride",
    "Swizzle",
    "SwizzleStage",
    "Tiler",
    "Tree",
]
