"""The built-in descriptors, registered in their documented order."""

from collections.abc import Iterator
from typing import Final

from strideweave.dtype.block_scaled import BlockScaledDType
from strideweave.dtype.descriptor import DType, DTypeCategory, SimpleDType
from strideweave.dtype.levels import Level
from strideweave.dtype.whole import Whole


def _categories() -> Iterator[DType]:
    root = DTypeCategory("Any")
    yield root
    yield DTypeCategory("Floating", supertype=root)
    yield DTypeCategory("Integer", supertype=root)


def _simple() -> Iterator[DType]:
    for name, bits, supertype in (
        ("Float32", 32, DType.Floating),
        ("Float64", 64, DType.Floating),
        ("Int32", 32, DType.Integer),
        ("Bool", 8, DType.Any),
        ("Int8", 8, DType.Integer),
        ("E8M0", 8, DType.Floating),
        ("E5M2", 8, DType.Floating),
        ("E4M3", 8, DType.Floating),
        ("E3M2", 6, DType.Floating),
        ("E2M3", 6, DType.Floating),
        ("E2M1", 4, DType.Floating),
    ):
        yield SimpleDType(name, bits=bits, supertype=supertype)


def _block_scaled() -> Iterator[DType]:
    shared_scale = (Level(DType.E8M0, 32),)
    for name, element, levels in (
        ("MXFP8_E4M3", DType.E4M3, shared_scale),
        ("MXFP8_E5M2", DType.E5M2, shared_scale),
        ("MXFP6_E3M2", DType.E3M2, shared_scale),
        ("MXFP6_E2M3", DType.E2M3, shared_scale),
        ("MXFP4", DType.E2M1, shared_scale),
        ("MXINT8", DType.Int8, shared_scale),
        ("NVFP4", DType.E2M1, (Level(DType.E4M3, 16), Level(DType.Float32, Whole))),
    ):
        yield BlockScaledDType(name, element=element, levels=levels)


def _attach(descriptors: Iterator[DType]) -> tuple[DType, ...]:
    attached = tuple(descriptors)
    for descriptor in attached:
        # DType refuses new descriptor attributes; the built-ins are the only ones it ever gets.
        type.__setattr__(DType, descriptor.name, descriptor)
    return attached


BUILTINS: Final = (*_attach(_categories()), *_attach(_simple()), *_attach(_block_scaled()))
"""Every built-in descriptor; each is also an attribute of ``DType`` under its name."""
