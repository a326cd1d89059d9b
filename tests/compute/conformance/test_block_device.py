"""The conformance kit over BlockDeviceCarrier, which exchanges Tensors with CPU only."""

import gc
import os
import struct
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

from strideweave import CPU, BlockDevice, BlockDeviceCarrier, DType, SimpleDType
from strideweave.testing import Ability, CarrierConformance, Peer


class TestBlockDevice(CarrierConformance[BlockDeviceCarrier]):
    carrier_class = BlockDeviceCarrier
    abilities = frozenset({Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN})
    dtypes = (DType.Float32,)
    peers = (Peer(CPU, lambda size, dtype: CPU(size, dtype=dtype)),)
    not_applicable: ClassVar = {
        "release.memory": "release gives the range back, its bytes stay on the device"
    }
    device: BlockDevice

    @pytest.fixture(autouse=True)
    def with_device(self, open_device: Callable[..., BlockDevice]) -> Iterator[None]:
        self.device = open_device(2**24)
        yield
        gc.collect()  # a device closes only when nothing keeps a carrier of it
        self.device.close()

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> BlockDeviceCarrier:
        return self.device.allocate(size, mutable=mutable)

    def raw_read(self, carrier: BlockDeviceCarrier, slot: int) -> object:
        with open(self.device.path, "rb") as file:
            file.seek(carrier.device_offset_bytes + 4 * slot)
            return struct.unpack("f", file.read(4))[0]

    def raw_write(self, carrier: BlockDeviceCarrier, slot: int, value: Any) -> None:
        descriptor = os.open(self.device.path, os.O_WRONLY)
        os.pwrite(descriptor, struct.pack("f", value), carrier.device_offset_bytes + 4 * slot)
        os.close(descriptor)
