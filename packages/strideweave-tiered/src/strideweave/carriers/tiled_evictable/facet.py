"""The facet through which residency is controlled."""

from typing import TYPE_CHECKING, final

from strideweave.carriers.extension import CarrierFacet
from strideweave.carriers.tiled_evictable.residency import (
    AwaitResidency,
    start_eviction,
    start_promotion,
    waiting,
)
from strideweave.carriers.tiled_evictable.state import ResidencyState
from strideweave.carriers.tiled_evictable.tiles import TileSelection, TileSet

if TYPE_CHECKING:
    from strideweave.carriers.tiled_evictable.carrier import TiledEvictable


@final
class TiledResidencyFacet(CarrierFacet):
    """Promotion and eviction of the tiles of a TiledEvictable.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> tiers = [ArrayCarrier(n, dtype=sw.DType.Float32) for n in (4, 0)]
        >>> carrier = sw.TiledEvictable(*tiers, grid_shape=(2,), tile_shape=(2,))
        >>> facet = carrier.require_facet(sw.TiledResidencyFacet)
        >>> facet.evict(carrier, sw.TileSet([(1,)]))
        >>> carrier.primary_tiles
        TileSet(coordinates=((0,),))
    """

    __slots__ = ()

    def promote_async(
        self, carrier: "TiledEvictable", tiles: TileSet | TileSelection
    ) -> AwaitResidency:
        """Start what ``TiledEvictable.promote_async`` starts.

        Args:
            carrier: A TiledEvictable.
            tiles: Which tiles.

        Returns:
            The handle.

        Raises:
            TypeError: ``carrier`` is no TiledEvictable.

        All else as for the method of the carrier.
        """
        return start_promotion(_state(carrier), tiles)

    def evict_async(
        self, carrier: "TiledEvictable", tiles: TileSet | TileSelection
    ) -> AwaitResidency:
        """Start what ``TiledEvictable.evict_async`` starts.

        Args:
            carrier: A TiledEvictable.
            tiles: Which tiles.

        Returns:
            The handle.

        Raises:
            TypeError: ``carrier`` is no TiledEvictable.

        All else as for the method of the carrier.
        """
        return start_eviction(_state(carrier), tiles)

    def promote(self, carrier: "TiledEvictable", tiles: TileSet | TileSelection) -> None:
        """Promote tiles and wait for them.

        Args:
            carrier: A TiledEvictable.
            tiles: Which tiles.

        Raises:
            TypeError: ``carrier`` is no TiledEvictable.

        All else as for the method of the carrier.
        """
        with waiting(_state(carrier)):
            start_promotion(_state(carrier), tiles, is_awaited=True).wait()

    def evict(self, carrier: "TiledEvictable", tiles: TileSet | TileSelection) -> None:
        """Evict tiles and wait for them.

        Args:
            carrier: A TiledEvictable.
            tiles: Which tiles.

        Raises:
            TypeError: ``carrier`` is no TiledEvictable.

        All else as for the method of the carrier.
        """
        with waiting(_state(carrier)):
            start_eviction(_state(carrier), tiles, is_awaited=True).wait()


def _state(carrier: object) -> ResidencyState:
    state = getattr(carrier, "_state", None)
    if not isinstance(state, ResidencyState):
        raise TypeError(
            f"carrier must be a TiledEvictable, got {carrier!r} ({type(carrier).__qualname__})"
        )
    return state
