"""The running part of a profile: it times what its thread executes."""

from collections.abc import Sequence
from dataclasses import replace
from threading import get_ident
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final, Literal, cast, final

from strideweave.layout import Shape
from strideweave.operation.recording import forget
from strideweave.profiling.events import Extents, InputShapes, ProfilerEvent
from strideweave.tensor.tensor import Tensor

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier
    from strideweave.operation.operation import Operation


@final
class Recorder:
    """Collects the events of one profile, on the thread that made it.

    Only that thread opens and closes intervals. Another one may ``discard`` the recorder, and may
    complete a movement.

    Args:
        carriers: The exact classes to record, or None for all.
        records_shapes: Whether events carry the shapes of their operands.
    """

    __slots__ = ("_carriers", "_events", "_open", "is_ended", "records_shapes", "thread_id")

    def __init__(self, carriers: "tuple[type[Carrier], ...] | None", records_shapes: bool) -> None:
        self._carriers: Final = carriers
        self._events: Final[list[ProfilerEvent | None]] = []  # None while its interval is open
        self._open: Final[list[Interval]] = []
        self.records_shapes: Final = records_shapes
        self.thread_id: Final = get_ident()
        self.is_ended = False

    def execution(self, operation: "Operation", inputs: Sequence[object]) -> "Interval":
        """Make the interval of one execution; enter it where step 4 of ``forward`` begins.

        Args:
            operation: A dispatched operation.
            inputs: Its positional arguments.
        """
        assert operation._operation_name is not None
        assert operation._dispatch_carrier_class is not None
        interval = Interval(
            self, operation._operation_name, operation._dispatch_carrier_class, type(operation)
        )
        if self.records_shapes:
            interval.input_shapes = tuple(map(_extents_of, inputs))
        return interval

    def submission(
        self,
        kind: Literal["move", "copy"],
        carrier_type: "type[Carrier]",
        implementation_type: type,
        shape: Shape,
    ) -> "Interval":
        """Make the interval in which a move or copy is submitted.

        Args:
            kind: The first part of the event's name.
            carrier_type: The exact class of the source.
            implementation_type: The class of the movement's operation.
            shape: The shape of what moves.
        """
        interval = Interval(self, f"{kind}.submit", carrier_type, implementation_type)
        interval.is_movement = True
        if self.records_shapes:
            interval.input_shapes = (_plain(shape.top_level),)
        return interval

    def completion(self, submission: "Interval") -> "Completion | None":
        """Start the event that tells the outcome of a submitted move or copy.

        Args:
            submission: Its closed interval.

        Returns:
            What to close with the outcome, or None when the profile does not record it.
        """
        if submission.event_id is None or self.is_ended:
            return None
        pending = ProfilerEvent(
            id=len(self._events),
            parent_id=submission.event_id,
            name=submission.name.replace(".submit", ".complete"),
            carrier_type=submission.carrier_type,
            implementation_type=submission.implementation_type,
            input_shapes=submission.input_shapes,
            start_time_ns=perf_counter_ns(),
            duration_ns=0,
            self_time_ns=0,
            thread_id=self.thread_id,
            succeeded=False,
            completed=False,
        )
        self._events.append(pending)
        return Completion(self._events, pending)

    def finish(self) -> list[ProfilerEvent]:
        """End the recording on its own thread; what still executes counts as failed.

        Returns:
            All events. Those of pending movements are replaced when they complete.
        """
        while self._open:
            self._open[-1].fail()
        self.is_ended = True
        return cast("list[ProfilerEvent]", self._events)

    def discard(self) -> None:
        """End the recording from any thread, without a result."""
        self.is_ended = True

    def _opened(self, interval: "Interval") -> None:
        enclosing = self._open[-1] if self._open else None
        interval.parent_id = None if enclosing is None else enclosing.nearest_id
        interval.nearest_id = interval.parent_id
        if self._includes(interval.carrier_type):
            interval.event_id = interval.nearest_id = len(self._events)
            self._events.append(None)
        self._open.append(interval)

    def _includes(self, carrier_type: "type[Carrier]") -> bool:
        return self._carriers is None or any(carrier_type is entry for entry in self._carriers)

    def _closed(self, interval: "Interval", duration_ns: int, succeeded: bool) -> None:
        self._open.pop()
        if self._open:
            self._open[-1].children_ns += duration_ns
        if interval.event_id is None:
            return
        self._events[interval.event_id] = ProfilerEvent(
            id=interval.event_id,
            parent_id=interval.parent_id,
            name=interval.name,
            carrier_type=interval.carrier_type,
            implementation_type=interval.implementation_type,
            input_shapes=interval.input_shapes,
            start_time_ns=interval.start_time_ns,
            duration_ns=duration_ns,
            self_time_ns=duration_ns - (0 if interval.is_movement else interval.children_ns),
            thread_id=self.thread_id,
            succeeded=succeeded,
            completed=True,
        )


@final
class Interval:
    """A stretch of time, from entering the context until ``close`` or, failed, until its end.

    Attributes:
        event_id: The id of its event; None before it opens and when nothing is recorded.
    """

    __slots__ = (
        "_is_open",
        "_recorder",
        "carrier_type",
        "children_ns",
        "event_id",
        "implementation_type",
        "input_shapes",
        "is_movement",
        "name",
        "nearest_id",
        "parent_id",
        "start_time_ns",
    )

    def __init__(
        self,
        recorder: Recorder,
        name: str,
        carrier_type: "type[Carrier]",
        implementation_type: type,
    ) -> None:
        self._recorder: Final = recorder
        self._is_open = False
        self.name: Final = name
        self.carrier_type: Final = carrier_type
        self.implementation_type: Final = implementation_type
        self.input_shapes: InputShapes | None = None
        self.is_movement = False
        self.event_id: int | None = None
        self.parent_id: int | None = None
        self.nearest_id: int | None = None  # what an event inside has as parent
        self.children_ns = 0
        self.start_time_ns = 0

    def __enter__(self) -> "Interval":
        if self._recorder.is_ended:  # by another thread
            forget(self._recorder)
            return self
        self._recorder._opened(self)
        self._is_open = True
        self.start_time_ns = perf_counter_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        self.fail()

    def close(self) -> None:
        """End it as succeeded."""
        self._end(succeeded=True)

    def fail(self) -> None:
        """End it as failed, unless it has ended."""
        self._end(succeeded=False)

    def _end(self, succeeded: bool) -> None:
        if self._is_open:
            duration_ns = perf_counter_ns() - self.start_time_ns
            self._is_open = False
            self._recorder._closed(self, duration_ns, succeeded)


@final
class Completion:
    """The second event of a move or copy, until its outcome is known."""

    __slots__ = ("_events", "_pending")

    def __init__(self, events: list[ProfilerEvent | None], pending: ProfilerEvent) -> None:
        self._events: Final = events
        self._pending: Final = pending

    def close(self, succeeded: bool) -> None:
        """Complete the event, on any thread, also after the profile was left.

        Args:
            succeeded: Whether the movement did.
        """
        duration_ns = perf_counter_ns() - self._pending.start_time_ns
        self._events[self._pending.id] = replace(
            self._pending,
            duration_ns=duration_ns,
            self_time_ns=duration_ns,
            succeeded=succeeded,
            completed=True,
        )


def _extents_of(value: object) -> Extents | None:
    return _plain(value.shape.top_level) if isinstance(value, Tensor) else None


def _plain(level: Extents) -> Extents:
    return tuple(entry if isinstance(entry, int) else _plain(entry) for entry in level)
