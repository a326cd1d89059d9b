"""MLX kernels, one module per family of operations, as in ``strideweave.ops``.

Importing them loads MLX.
"""

from collections.abc import Mapping
from types import MappingProxyType

from strideweave.carriers.metal.kernels import (
    activations,
    arithmetic,
    contractions,
    conversion,
    convolution,
    extrema,
    indexing,
    joining,
    ordering,
    predicates,
    reductions,
    scan,
    selection,
    unary,
)
from strideweave.carriers.metal.kernels.frame import Kernel

_FAMILIES = (
    arithmetic,
    unary,
    activations,
    extrema,
    predicates,
    selection,
    conversion,
    reductions,
    scan,
    contractions,
    convolution,
    indexing,
    joining,
    ordering,
)

KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {name: kernel for family in _FAMILIES for name, kernel in family.KERNELS.items()}
)
"""The kernel of every operation, by dispatch name."""
