"""Block devices are no tiers of an Evictable."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from strideweave import BlockDevice, Evictable, Generic

Attach = Callable[..., tuple[str, Path]]


def refuse_as_either_tier(device: BlockDevice) -> None:
    carrier, fast = device.allocate(4), Generic([1.0])
    with pytest.raises(TypeError, match="secondary cannot be a BlockDeviceCarrier"):
        Evictable(fast, carrier)
    with pytest.raises(TypeError, match="primary cannot be a BlockDeviceCarrier"):
        Evictable(carrier, fast)
    assert not fast.is_owned() and not carrier.is_owned()


@pytest.mark.rule("C-66")
def test_either_tier_is_refused(attach_block_device: Attach) -> None:
    node, _ = attach_block_device()
    with BlockDevice(node) as device:
        refuse_as_either_tier(device)
        gc.collect()  # an open device outlives its carriers
