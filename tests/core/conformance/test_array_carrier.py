"""The conformance kit over ArrayCarrier."""

from typing import Any

import pytest

from strideweave import SimpleDType
from strideweave.testing import Ability, ArrayCarrier, CarrierConformance
from strideweave.testing.conformance.plans import advertised_layout_cases


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


@pytest.mark.rule("C-86")
@pytest.mark.parametrize("operation", ["add", "elu", "matmul", "reduce_sum"])
def test_fewer_layouts_still_have_each_family(operation: str) -> None:
    class Few(TestArrayCarrier):
        layouts_per_plan = 6

    every, few = (
        {str(case) for case in advertised_layout_cases(made) if case.operation == operation}
        for made in (TestArrayCarrier(), Few())
    )
    assert few < every
    families = ("transposed", "sliced", "padded", "stride0-first", "stride0-last")
    assert [family for family in families if not any(family in name for name in few)] == []
