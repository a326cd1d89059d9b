"""StrideWeave tensors in OpenCL memory: the carrier OpenCLBuffer, defined with public names only.

Importing this package opens the device and registers the carrier. Its module ``activations`` has a
kernel pack with more kernels, which is registered separately.
"""

from typing import Final

from strideweave import CarrierDefinition, KernelProvider, register_carrier_definition

from strideweave_opencl.carrier import OpenCLBuffer
from strideweave_opencl.facets import DeviceInfo, KernelUse, device_info
from strideweave_opencl.interface import OpenCLInterface
from strideweave_opencl.kernels.built_in import built_in_patterns
from strideweave_opencl.storage import storage_provider
from strideweave_opencl.transfers import transfer_routes

__all__ = ["INTERFACE", "DeviceInfo", "KernelUse", "OpenCLBuffer", "OpenCLInterface"]

INTERFACE: Final = OpenCLInterface("1")

register_carrier_definition(
    OpenCLBuffer,
    CarrierDefinition(
        storage_provider(INTERFACE),
        KernelProvider(INTERFACE, built_in_patterns()),
        transfer_routes(INTERFACE),
        facets=(device_info(INTERFACE), KernelUse(INTERFACE)),
    ),
)
