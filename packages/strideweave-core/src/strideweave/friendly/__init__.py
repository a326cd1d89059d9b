"""Short ways to make, read and summarise tensors."""

from strideweave.friendly.factories import arange, full, ones, rand, randn, zeros
from strideweave.friendly.layouts import column_major, row_major
from strideweave.friendly.reading import item, mean, sum, to_list
from strideweave.friendly.values import tensor

__all__ = [
    "arange",
    "column_major",
    "full",
    "item",
    "mean",
    "ones",
    "rand",
    "randn",
    "row_major",
    "sum",
    "tensor",
    "to_list",
    "zeros",
]
