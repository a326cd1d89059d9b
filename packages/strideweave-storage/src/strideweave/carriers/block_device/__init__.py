"""Storage on a raw block device: the open device, and the carrier of one of its extents."""

from strideweave.carriers.block_device.carrier import BlockDeviceCarrier
from strideweave.carriers.block_device.device import BlockDevice

__all__ = ["BlockDevice", "BlockDeviceCarrier"]
