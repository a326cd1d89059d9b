"""The conformance kit over Generic."""

from typing import Any

from strideweave import Generic, SimpleDType
from strideweave.testing import Ability, CarrierConformance


class TestGeneric(CarrierConformance[Generic]):
    carrier_class = Generic
    abilities = frozenset(
        {Ability.COMPUTES, Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN}
    )

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Generic:
        return Generic([], dtype=dtype).allocate_like(size, mutable=mutable)

    def raw_read(self, carrier: Generic, slot: int) -> object:
        return carrier._values[slot]

    def raw_write(self, carrier: Generic, slot: int, value: Any) -> None:
        carrier._values[slot] = value
