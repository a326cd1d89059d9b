"""The conformance kit over promoted Evictables, whose memory is their primary's."""

from typing import Any

from strideweave import Evictable, FileBacked, Generic, SimpleDType
from strideweave.testing import Ability, CarrierConformance


class TestEvictable(CarrierConformance[Evictable]):
    carrier_class = Evictable
    abilities = frozenset(
        {Ability.COMPUTES, Ability.SPANS, Ability.TRANSFERS_OUT, Ability.TRANSFERS_IN}
    )
    allows_empty = False

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Evictable:
        primary = Generic([], dtype=dtype).allocate_like(size, mutable=mutable)
        return Evictable(primary, FileBacked(dtype=dtype))

    def raw_read(self, carrier: Evictable, slot: int) -> object:
        assert isinstance(carrier.primary, Generic)
        return carrier.primary._values[slot]

    def raw_write(self, carrier: Evictable, slot: int, value: Any) -> None:
        assert isinstance(carrier.primary, Generic)
        carrier.primary._values[slot] = value
