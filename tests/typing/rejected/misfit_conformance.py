"""A test class that mixes two carrier classes, and one that forgets how to reach the memory."""

from strideweave import Carrier
from strideweave.testing import CarrierConformance


class AcmeRam(Carrier):
    pass


class Other(Carrier):
    pass


class TestAcmeRam(CarrierConformance[AcmeRam]):
    carrier_class = Other  # error: assignment

    def raw_read(self, carrier: Other, slot: int) -> object:  # error: override
        return carrier.get_value(slot)


TestAcmeRam()  # error: abstract
