"""What a residency policy answers: which tiles to promote, to keep and to evict."""

from dataclasses import dataclass
from typing import final

from strideweave.carriers.tiled_evictable.tiles import TileSet


@final
@dataclass(frozen=True, init=False)
class ResidencyPlan:
    """Three disjoint sets of tiles. Plans compare and hash by value.

    Args:
        promote: Tiles to bring into the primary tier; ``None`` means no tile.
        retain: Tiles to keep in the primary tier; ``None`` means no tile.
        evict: Tiles to move out of the primary tier; ``None`` means no tile.

    Raises:
        TypeError: If an argument is neither a ``TileSet`` nor ``None``.
        ValueError: If a tile is in two of the sets.

    Examples:
        >>> plan = ResidencyPlan(promote=TileSet([(1, 0)]))
        >>> plan.promote
        TileSet(coordinates=((1, 0),))
        >>> plan.evict
        TileSet(coordinates=())
    """

    promote: TileSet
    """Tiles to bring into the primary tier."""
    retain: TileSet
    """Tiles to keep in the primary tier."""
    evict: TileSet
    """Tiles to move out of the primary tier."""

    def __init__(
        self,
        promote: TileSet | None = None,
        retain: TileSet | None = None,
        evict: TileSet | None = None,
    ) -> None:
        fields: dict[str, object] = {"promote": promote, "retain": retain, "evict": evict}
        owners: dict[tuple[int, ...], str] = {}
        for name, value in fields.items():
            tiles = TileSet() if value is None else value
            if type(tiles) is not TileSet:
                kind = type(tiles).__qualname__
                raise TypeError(f"{name} must be a TileSet or None, got {tiles!r} ({kind})")
            for tile in tiles.coordinates:
                if tile in owners:
                    raise ValueError(f"tile {tile} is in both {owners[tile]} and {name}")
                owners[tile] = name
            object.__setattr__(self, name, tiles)
