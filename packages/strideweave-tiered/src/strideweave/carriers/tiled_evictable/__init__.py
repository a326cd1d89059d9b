"""TiledEvictable: full tensors larger than fast memory, tile by tile in one of two tiers."""

from strideweave.carriers.tiled_evictable.carrier import TiledEvictable
from strideweave.carriers.tiled_evictable.facet import TiledResidencyFacet
from strideweave.carriers.tiled_evictable.plan import ResidencyPlan
from strideweave.carriers.tiled_evictable.policy import (
    LRUResidency as LRUResidency,
)
from strideweave.carriers.tiled_evictable.policy import (
    PinnedResidency as PinnedResidency,
)
from strideweave.carriers.tiled_evictable.policy import ResidencyPolicy
from strideweave.carriers.tiled_evictable.projection import AwaitProjection
from strideweave.carriers.tiled_evictable.residency import AwaitResidency
from strideweave.carriers.tiled_evictable.stats import ResidencyStats as ResidencyStats
from strideweave.carriers.tiled_evictable.tiles import TileSelection, TileSet

__all__ = [
    "AwaitProjection",
    "AwaitResidency",
    "ResidencyPlan",
    "ResidencyPolicy",
    "TileSelection",
    "TileSet",
    "TiledEvictable",
    "TiledResidencyFacet",
]
