"""What a hierarchy executes: what its primary does, as far as both tiers store the results."""

from functools import lru_cache

from strideweave.carriers.base import Carrier
from strideweave.carriers.capability_set import CapabilitySet
from strideweave.dtype import SimpleDType


def common_capabilities(primary: Carrier, secondary: Carrier) -> CapabilitySet:
    """Select the primary instance's capabilities whose output dtype both tiers store.

    Args:
        primary: The carrier that executes.
        secondary: The carrier that results are evicted to.

    Returns:
        A set that is shared by all hierarchies with the same answer.
    """
    held = primary._capability_set()
    stored = frozenset(
        dtype
        for dtype in _output_dtypes(held)
        if primary.supports_storage_dtype(dtype) and secondary.supports_storage_dtype(dtype)
    )
    return _with_outputs(held, stored)


# An operation makes a hierarchy per result: nothing is selected twice. The caches hold no carrier.
@lru_cache(maxsize=64)
def _output_dtypes(held: CapabilitySet) -> frozenset[SimpleDType]:
    return frozenset(capability.output for capability in held.entries)


@lru_cache(maxsize=64)
def _with_outputs(held: CapabilitySet, stored: frozenset[SimpleDType]) -> CapabilitySet:
    if stored == _output_dtypes(held):
        return held
    return CapabilitySet(entry for entry in held.entries if entry.output in stored)
