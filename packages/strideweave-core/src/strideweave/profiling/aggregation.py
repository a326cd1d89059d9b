"""Summing up events."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from strideweave.profiling.events import InputShapes, ProfilerAggregate, ProfilerEvent

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier


def aggregate(events: Iterable[ProfilerEvent], by_shape: bool) -> tuple[ProfilerAggregate, ...]:
    """Sum up the completed events of each name and exact carrier class.

    Args:
        events: The events of one profile.
        by_shape: Also keep different shapes apart.

    Returns:
        Aggregates ordered by name, carrier class and shapes.
    """
    groups: dict[tuple[str, int, InputShapes | None], list[ProfilerEvent]] = {}
    for event in events:
        if event.completed:
            shapes = event.input_shapes if by_shape else None
            groups.setdefault((event.name, id(event.carrier_type), shapes), []).append(event)
    sums = [_sum(group, shapes) for (_, _, shapes), group in groups.items()]
    return tuple(sorted(sums, key=_order))


def class_name(carrier_type: "type[Carrier]") -> tuple[str, str]:
    """Give module and qualified name, which order and show classes."""
    return carrier_type.__module__, carrier_type.__qualname__


def _sum(events: Sequence[ProfilerEvent], shapes: InputShapes | None) -> ProfilerAggregate:
    durations = [event.duration_ns for event in events]
    return ProfilerAggregate(
        name=events[0].name,
        carrier_type=events[0].carrier_type,
        input_shapes=shapes,
        count=len(events),
        total_time_ns=sum(durations),
        self_total_time_ns=sum(event.self_time_ns for event in events),
        mean_time_ns=sum(durations) / len(events),
        min_time_ns=min(durations),
        max_time_ns=max(durations),
    )


def _order(row: ProfilerAggregate) -> tuple[str, tuple[str, str], str]:
    return row.name, class_name(row.carrier_type), repr(row.input_shapes)
