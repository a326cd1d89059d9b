"""The public contract of carrier authors: definitions, providers, kernel packs, prepared work.

An author writes a Carrier subclass, puts callbacks into the records of this module, and registers
one CarrierDefinition for exactly that class. Everything else stays with the framework.
"""

from strideweave.carriers.extension.composite import CompositeProvider
from strideweave.carriers.extension.definition import CarrierDefinition
from strideweave.carriers.extension.interface import KernelExecutionInterface
from strideweave.carriers.extension.packs import KernelPack
from strideweave.carriers.extension.patterns import KernelPattern, KernelProvider
from strideweave.carriers.extension.prepared import (
    PreparedComposite,
    PreparedKernel,
    PreparedTransfer,
    Unsupported,
)
from strideweave.carriers.extension.reference import reference_pattern
from strideweave.carriers.extension.registration import (
    register_carrier_definition,
    register_kernel_pack,
)
from strideweave.carriers.extension.results import ProviderCompletion, ProviderResult
from strideweave.carriers.extension.storage import StorageProvider
from strideweave.carriers.extension.transfers import (
    TransferProvider,
    TransferRequest,
    TransferRoute,
)
from strideweave.carriers.facet import CarrierFacet

__all__ = [
    "CarrierDefinition",
    "CarrierFacet",
    "CompositeProvider",
    "KernelExecutionInterface",
    "KernelPack",
    "KernelPattern",
    "KernelProvider",
    "PreparedComposite",
    "PreparedKernel",
    "PreparedTransfer",
    "ProviderCompletion",
    "ProviderResult",
    "StorageProvider",
    "TransferProvider",
    "TransferRequest",
    "TransferRoute",
    "Unsupported",
    "reference_pattern",
    "register_carrier_definition",
    "register_kernel_pack",
]
