"""All checks of the kit, in the order in which they run."""

from typing import Final

from strideweave.testing.conformance import storage
from strideweave.testing.conformance.check import Check

CHECKS: Final[tuple[Check, ...]] = (
    storage.extent,
    storage.read,
    storage.write,
    storage.neighbours,
    storage.values,
)
