"""The free byte ranges of a device, and those that carriers hold."""

from bisect import bisect_left
from typing import final


@final
class FreeRanges:
    """Disjoint free ranges in ascending order; neighbours are one range.

    Args:
        length: The bytes that are free at first, from position 0.
    """

    __slots__ = ("_ranges",)

    def __init__(self, length: int) -> None:
        self._ranges: list[tuple[int, int]] = [(0, length)] if length else []

    def take(self, length: int) -> int | None:
        """Take bytes from the lowest range that has enough of them.

        Args:
            length: At least 1.

        Returns:
            Their start, or None when no range is long enough.
        """
        for place, (start, end) in enumerate(self._ranges):
            taken_end = start + length
            if taken_end <= end:
                self._ranges[place : place + 1] = [(taken_end, end)] if taken_end < end else []
                return start
        return None

    def give_back(self, start: int, length: int) -> None:
        """Free bytes that were taken.

        Args:
            start: Their start.
            length: At least 1.
        """
        end = start + length
        place = first = last = bisect_left(self._ranges, (start, end))
        if place and self._ranges[place - 1][1] == start:
            first = place - 1
            start = self._ranges[first][0]
        if place < len(self._ranges) and self._ranges[place][0] == end:
            last = place + 1
            end = self._ranges[place][1]
        self._ranges[first:last] = [(start, end)]


@final
class Lease:
    """What one carrier holds of the device: at first nothing.

    Attributes:
        start: The first byte of its extent.
        extent_bytes: The length, a multiple of the alignment; 0 without an extent.
        has_carrier: Whether the carrier object exists, released or not.
        is_live: Whether the carrier may use the extent.
        is_reserved: Whether the extent is taken.
    """

    __slots__ = ("extent_bytes", "has_carrier", "is_live", "is_reserved", "start")

    def __init__(self) -> None:
        self.start = 0
        self.extent_bytes = 0
        self.has_carrier = True
        self.is_live = True
        self.is_reserved = False

    def hold(self, start: int, extent_bytes: int) -> None:
        """Record the extent that was taken."""
        self.start = start
        self.extent_bytes = extent_bytes
        self.is_reserved = True
