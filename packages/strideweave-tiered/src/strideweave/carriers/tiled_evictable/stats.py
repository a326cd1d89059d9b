"""What residency has cost a carrier so far."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class ResidencyStats:
    """Counters of one TiledEvictable since its construction.

    What backward stores in a gradient's tiles counts there, spilled tiles included. A ``.grad`` is
    a copy, and leaves out what the temporary gradient it was copied from has cost.

    Attributes:
        hits: Required tiles that were primary when a request acquired them.
        misses: Required tiles that were not.
        promotions: Tiles that entered the primary tier, those of zeros included.
        evictions: Tiles that left it for the secondary tier.
        bytes_in: Payload that was transferred to the primary tier.
        bytes_out: Payload that was stored in the secondary tier.
        wait_seconds: Wall time that callers spent waiting for tile transfers.

    Examples:
        >>> from strideweave.carriers.tiled_evictable import ResidencyStats
        >>> ResidencyStats(hits=3, misses=1).misses
        1
    """

    hits: int = 0
    misses: int = 0
    promotions: int = 0
    evictions: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    wait_seconds: float = 0.0
