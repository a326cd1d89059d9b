"""A profile in the Trace Event Format of Chrome's and Perfetto's viewers."""

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, Final

from strideweave.profiling.aggregation import class_name
from strideweave.profiling.events import ProfilerEvent

# They overlap whatever the thread does next, and complete events of one thread have to nest.
_ASYNCHRONOUS: Final = ("move.complete", "copy.complete")


def trace_text(events: Iterable[ProfilerEvent]) -> str:
    """Give the completed events as a JSON object."""
    entries = [entry for event in events if event.completed for entry in _entries(event)]
    return json.dumps({"traceEvents": entries, "displayTimeUnit": "ns"})


def _entries(event: ProfilerEvent) -> Iterator[dict[str, Any]]:
    common = {"name": event.name, "pid": os.getpid(), "tid": event.thread_id}
    start, duration = event.start_time_ns / 1000, event.duration_ns / 1000
    if event.name in _ASYNCHRONOUS:
        common |= {"cat": "movement", "id": event.id}
        yield {**common, "ph": "b", "ts": start, "args": _arguments(event)}
        yield {**common, "ph": "e", "ts": start + duration}
    else:
        common |= {"cat": "operation"}
        yield {**common, "ph": "X", "ts": start, "dur": duration, "args": _arguments(event)}


def _arguments(event: ProfilerEvent) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "id": event.id,
        "parent_id": event.parent_id,
        "carrier": ".".join(class_name(event.carrier_type)),
        "implementation": event.implementation_type.__qualname__,
        "succeeded": event.succeeded,
        "self_time_us": event.self_time_ns / 1000,
    }
    if event.input_shapes is not None:
        arguments["input_shapes"] = event.input_shapes
    return arguments
