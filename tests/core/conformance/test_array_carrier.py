"""The conformance kit over ArrayCarrier."""

from typing import Any

from strideweave import SimpleDType
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance


class TestArrayCarrier(CarrierConformance[ArrayCarrier]):
    carrier_class = ArrayCarrier
    abilities = frozenset(
        {Ability.COMPUTES, Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN}
    )

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> ArrayCarrier:
        return ArrayCarrier(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: ArrayCarrier, slot: int) -> object:
        value = carrier.slots[slot]
        return bool(value) if carrier.slots.typecode == "b" else value

    def raw_write(self, carrier: ArrayCarrier, slot: int, value: Any) -> None:
        carrier.slots[slot] = value
