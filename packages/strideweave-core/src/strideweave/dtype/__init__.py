"""Dtype descriptors; the public path is ``strideweave.carriers.dtype``."""

from strideweave.dtype import builtins as builtins  # registers the built-ins and attaches them
from strideweave.dtype.block_scaled import BlockScaledDType
from strideweave.dtype.compound import CompoundDType
from strideweave.dtype.descriptor import DType, DTypeCategory, SimpleDType
from strideweave.dtype.level_extent import LevelExtent
from strideweave.dtype.levels import Level, SymbolicBits
from strideweave.dtype.registry import _unpickle_dtype as _unpickle_dtype
from strideweave.dtype.representation import (
    RepresentationRule,
    RepresentationValidationContext,
)
from strideweave.dtype.storage import accepts_storage_dtype, storage_zero, validate_storage_dtype
from strideweave.dtype.whole import Whole, WholeExtent

__all__ = [
    "BlockScaledDType",
    "CompoundDType",
    "DType",
    "DTypeCategory",
    "Level",
    "LevelExtent",
    "RepresentationRule",
    "RepresentationValidationContext",
    "SimpleDType",
    "SymbolicBits",
    "Whole",
    "WholeExtent",
    "accepts_storage_dtype",
    "storage_zero",
    "validate_storage_dtype",
]
