"""Value types of tiled residency: which tiles a request names, and what a policy answers."""

from strideweave.carriers.tiled_evictable.plan import ResidencyPlan
from strideweave.carriers.tiled_evictable.tiles import TileSelection, TileSet

__all__ = ["ResidencyPlan", "TileSelection", "TileSet"]
