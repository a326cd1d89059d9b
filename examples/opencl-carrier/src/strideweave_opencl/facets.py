"""What an OpenCLBuffer tells about its device and its kernels, beyond the common surface."""

from dataclasses import dataclass
from typing import final

from strideweave import CarrierFacet

from strideweave_opencl.interface import OpenCLInterface


@final
@dataclass(frozen=True)
class DeviceInfo(CarrierFacet):
    """The device behind every OpenCLBuffer of this process.

    Attributes:
        name: The device's name.
        platform: The name of the driver.
        version: The OpenCL version it implements.
        compute_units: How many work groups it runs at a time.
        memory_bytes: Its global memory.
    """

    name: str
    platform: str
    version: str
    compute_units: int
    memory_bytes: int


@final
@dataclass(frozen=True)
class KernelUse(CarrierFacet):
    """Which patterns have served so far."""

    interface: OpenCLInterface

    def launches(self) -> dict[str, int]:
        """Count the launches of each kernel pattern by its ``kernel_id``."""
        return self.interface.launches()

    def compiled_programs(self) -> int:
        """Count the programs that were compiled for the layouts of calls."""
        return self.interface.program_count()


def device_info(interface: OpenCLInterface) -> DeviceInfo:
    """Describe the interface's device."""
    device = interface.device
    return DeviceInfo(
        device.name.strip(),
        device.platform.name.strip(),
        device.version.strip(),
        device.max_compute_units,
        device.global_mem_size,
    )
