"""The conformance kit: tests that a carrier's author derives in a few lines.

It needs pytest and Hypothesis, which ``strideweave-core[testing]`` brings.
"""

from strideweave.testing.conformance.abilities import Ability
from strideweave.testing.conformance.adapter import CarrierAdapter, Peer
from strideweave.testing.conformance.catalogue import CHECKS
from strideweave.testing.conformance.check import Check, ConformanceFailure
from strideweave.testing.conformance.selection import applicable_checks
from strideweave.testing.conformance.suite import CarrierConformance
from strideweave.testing.conformance.version import CONFORMANCE_VERSION

__all__ = [
    "CHECKS",
    "CONFORMANCE_VERSION",
    "Ability",
    "CarrierAdapter",
    "CarrierConformance",
    "Check",
    "ConformanceFailure",
    "Peer",
    "applicable_checks",
]
