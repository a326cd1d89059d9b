"""The conformance kit on Metal, with every shipped class that it exchanges values with."""

from typing import Any

import numpy as np
import pytest

from strideweave import CPU, FileBacked, Generic, Metal
from strideweave.carriers.dtype import SimpleDType, storage_zero
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance, Peer


def file_backed(size: int, dtype: SimpleDType) -> FileBacked:
    return FileBacked(dtype=dtype).new_like([storage_zero(dtype)] * size)


def generic(size: int, dtype: SimpleDType) -> Generic:
    return Generic([storage_zero(dtype)] * size, dtype=dtype)


@pytest.mark.rule("MT-5", "MT-8", "MT-32", "MT-41", "MT-53", "G-13", "R-120")
class TestMetal(CarrierConformance[Metal]):
    carrier_class = Metal
    abilities = frozenset(
        {Ability.COMPUTES, Ability.SPANS, Ability.TRANSFERS_IN, Ability.TRANSFERS_OUT}
    )
    peers = (
        Peer(Metal, lambda size, dtype: Metal(size, dtype=dtype)),
        Peer(CPU, lambda size, dtype: CPU(size, dtype=dtype)),
        Peer(FileBacked, file_backed),
        Peer(Generic, generic),
        Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype)),
    )

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Metal:
        return Metal(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: Metal, slot: int) -> object:
        return self.memory(carrier)[slot].item()

    def raw_write(self, carrier: Metal, slot: int, value: Any) -> None:
        self.memory(carrier)[slot] = value

    def memory(self, carrier: Metal) -> Any:
        """View MLX's own memory, around everything that Metal does."""
        assert carrier._slots is not None
        return np.asarray(carrier._slots)
