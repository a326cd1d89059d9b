"""Tools for testing carriers: a small complete carrier, and the conformance kit."""

from importlib import import_module
from typing import TYPE_CHECKING

from strideweave.testing.array_carrier import ArrayCarrier

if TYPE_CHECKING:
    from strideweave.testing.conformance import CONFORMANCE_VERSION as CONFORMANCE_VERSION
    from strideweave.testing.conformance import Ability as Ability
    from strideweave.testing.conformance import CarrierConformance as CarrierConformance
    from strideweave.testing.conformance import ConformanceFailure as ConformanceFailure
    from strideweave.testing.conformance import Peer as Peer

__all__ = ["ArrayCarrier"]  # what needs no test tools

_KIT = ("CONFORMANCE_VERSION", "Ability", "CarrierConformance", "ConformanceFailure", "Peer")
_TOOLS = ("_pytest", "hypothesis", "pytest")


def __getattr__(name: str) -> object:
    if name not in _KIT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module("strideweave.testing.conformance"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _TOOLS:
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} needs pytest and hypothesis, and {error.name} is not installed: "
            "python -m pip install 'strideweave-core[testing]'",
            name=error.name,
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *_KIT})
