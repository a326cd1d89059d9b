"""Dtype descriptors, representation rules, and the helpers that carriers accept storage with."""

from strideweave.dtype import (
    BlockScaledDType,
    CompoundDType,
    DType,
    DTypeCategory,
    Level,
    LevelExtent,
    RepresentationRule,
    RepresentationValidationContext,
    SimpleDType,
    SymbolicBits,
    Whole,
    WholeExtent,
    accepts_storage_dtype,
    storage_zero,
    validate_storage_dtype,
)
from strideweave.dtype import _unpickle_dtype as _unpickle_dtype

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
