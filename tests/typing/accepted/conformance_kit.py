"""An author's test class: callbacks get the author's own carrier class."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from strideweave import Carrier, DType, SimpleDType
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance, Peer


class AcmeRam(Carrier):
    cells: list[Any]


class TestAcmeRam(CarrierConformance[AcmeRam]):
    carrier_class = AcmeRam
    abilities = frozenset({Ability.TRANSFERS_OUT})
    dtypes = (DType.Float32,)
    peers = (Peer(ArrayCarrier, lambda size, dtype: ArrayCarrier(size, dtype=dtype)),)

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> AcmeRam:
        return AcmeRam(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: AcmeRam, slot: int) -> object:
        return carrier.cells[slot]

    def raw_write(self, carrier: AcmeRam, slot: int, value: Any) -> None:
        carrier.cells[slot] = value

    @contextmanager
    def slow_transfer(self) -> Iterator[None]:
        yield
