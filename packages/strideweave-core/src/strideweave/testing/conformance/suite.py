"""CarrierConformance: the test class that an author derives."""

from typing import TypeVar

import pytest

from strideweave.carriers.base import Carrier
from strideweave.testing.conformance.adapter import CarrierAdapter
from strideweave.testing.conformance.check import Check
from strideweave.testing.conformance.selection import applicable_checks, omissions
from strideweave.testing.conformance.version import CONFORMANCE_VERSION

C = TypeVar("C", bound=Carrier)


class CarrierConformance(CarrierAdapter[C]):
    """One test per check that applies to the author's carrier.

    Derive a class whose name starts with ``Test``, name the carrier class and its abilities, and
    say how to make a carrier and how to reach its memory::

        class TestAcmeRam(CarrierConformance[AcmeRam]):
            carrier_class = AcmeRam
            abilities = frozenset({Ability.COMPUTES})

            def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> AcmeRam:
                return AcmeRam(size, dtype=dtype, mutable=mutable)

            def raw_read(self, carrier: AcmeRam, slot: int) -> object:
                return carrier.memory[slot]

            def raw_write(self, carrier: AcmeRam, slot: int, value: Any) -> None:
                carrier.memory[slot] = value
    """

    @classmethod
    def conformance_summary(cls) -> str:
        """Say which kit checked which carrier, and what it was not asked to check."""
        heading = f"{cls.__qualname__}: {cls.carrier_class.__qualname__}, kit {CONFORMANCE_VERSION}"
        return "\n  ".join((heading, *omissions(cls)))

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Make one test per applicable check; pytest calls this."""
        if "conformance_check" in metafunc.fixturenames:
            metafunc.parametrize("conformance_check", applicable_checks(self), ids=str)

    def test_conforms(self, conformance_check: Check) -> None:
        """Run one check."""
        __tracebackhide__ = True
        conformance_check.examine(self)
