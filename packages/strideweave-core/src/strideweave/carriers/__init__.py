"""Carriers and the contracts of carrier authors. Only strideweave-core ships this file."""

from pkgutil import extend_path
from typing import TYPE_CHECKING

__path__ = extend_path(__path__, __name__)  # editable layers live in other folders

from strideweave._optional import load_optional, present_names
from strideweave.carriers import operation_policy as operation_policy  # reachable as an attribute
from strideweave.carriers.base import Carrier
from strideweave.carriers.closed import CLOSED_CARRIER_MESSAGE, reject_carrier_subclass
from strideweave.carriers.discovery import (
    InstalledCarrier,
    carrier_names,
    installed,
    load_carrier,
)
from strideweave.carriers.dtype import (
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
)
from strideweave.carriers.operation_capability import (
    DependentCarrier,
    OperandCapability,
    OperationCapability,
    UnsupportedOperationPlan,
)

__all__ = [
    "CLOSED_CARRIER_MESSAGE",
    "BlockScaledDType",
    "Carrier",
    "CompoundDType",
    "DType",
    "DTypeCategory",
    "DependentCarrier",
    "InstalledCarrier",
    "Level",
    "LevelExtent",
    "OperandCapability",
    "OperationCapability",
    "RepresentationRule",
    "RepresentationValidationContext",
    "SimpleDType",
    "SymbolicBits",
    "UnsupportedOperationPlan",
    "Whole",
    "WholeExtent",
    "carrier_names",
    "installed",
    "load_carrier",
    "reject_carrier_subclass",
]
if TYPE_CHECKING:
    from strideweave.carriers.block_device import BlockDevice as BlockDevice  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.block_device import BlockDeviceCarrier as BlockDeviceCarrier  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.cpu import CPU as CPU  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.evictable import Evictable as Evictable  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.file_backed import FileBacked as FileBacked  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.generic import Generic as Generic  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from strideweave.carriers.metal import Metal as Metal  # type: ignore[import-not-found,import-untyped,unused-ignore]
else:
    _OPTIONAL = {  # name: (module that defines it, distribution that ships the module)
        "BlockDevice": ("strideweave.carriers.block_device", "strideweave-storage"),
        "BlockDeviceCarrier": ("strideweave.carriers.block_device", "strideweave-storage"),
        "CPU": ("strideweave.carriers.cpu", "strideweave-compute"),
        "Evictable": ("strideweave.carriers.evictable", "strideweave-storage"),
        "FileBacked": ("strideweave.carriers.file_backed", "strideweave-storage"),
        "Generic": ("strideweave.carriers.generic", "strideweave-storage"),
        "Metal": ("strideweave.carriers.metal", "strideweave-compute"),
    }

    def __getattr__(name):
        value = load_optional(__name__, name, _OPTIONAL)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *present_names(_OPTIONAL)})
