"""Timing the operations that one thread executes."""

from strideweave.profiling.events import ProfilerAggregate, ProfilerEvent
from strideweave.profiling.profiler import Profiler, profile

__all__ = ["Profiler", "ProfilerAggregate", "ProfilerEvent", "profile"]
