"""The profiler that users enter, leave and ask."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, final

from strideweave.carriers.base import Carrier
from strideweave.operation.recording import forget, hear, recording
from strideweave.profiling.aggregation import aggregate
from strideweave.profiling.events import ProfilerAggregate, ProfilerEvent
from strideweave.profiling.recorder import Recorder
from strideweave.profiling.table import TableOptions, render
from strideweave.profiling.trace import trace_text


@final
class Profiler:
    """A single-use context manager that records what the entering thread executes inside it.

    An event is one execution of a dispatched operation: from its argument checks to its validated
    result, in synchronous host wall time. An operation that a carrier runs on another carrier is a
    nested event. A move or copy is two events: its submission, and from there to its outcome, which
    may come after the profile was left. Of a backward traversal only the moves are recorded;
    element reads and writes are not, nor is what a hierarchy moves between its tiers.

    Dropping an unfinished profiler, or exiting it on another thread, ends the recording without a
    result.

    Args:
        carriers: The exact carrier classes to record, subclasses not included; None for all.
        record_shapes: Whether events carry the shapes of their operands.

    Raises:
        TypeError: ``carriers`` is no iterable of Carrier classes, or ``record_shapes`` no bool.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> x = sw.friendly.tensor([1.0, 2.0], carrier=ArrayCarrier)
        >>> with sw.Profiler(record_shapes=True) as profiler:
        ...     y = sw.exp(x) * 2.0
        >>> [(event.name, event.input_shapes) for event in profiler.events()]
        [('exp', ((2,),)), ('mul', ((2,), None))]
        >>> [(row.name, row.count) for row in profiler.key_averages()]
        [('exp', 1), ('mul', 1)]
    """

    _recorder: Recorder | None = None  # until the recording ends
    _events: list[ProfilerEvent] | None = None  # once it ended with a result

    def __init__(
        self, *, carriers: Iterable[type[Carrier]] | None = None, record_shapes: bool = False
    ) -> None:
        self._carriers = _carrier_classes(carriers)
        self._record_shapes = _flag(record_shapes, "record_shapes")
        self._entries = [None]  # taken, atomically, by the one entry

    def __enter__(self) -> "Profiler":
        try:
            self._entries.pop()
        except IndexError:
            raise RuntimeError(
                "a Profiler is single-use, and this one was entered before; make a new one"
            ) from None
        if recording.active is not None and not recording.active.is_ended:
            raise RuntimeError("a profiler is already active on this thread; exit it first")
        self._recorder = Recorder(self._carriers, self._record_shapes)
        hear(self._recorder)
        return self

    def __exit__(self, *exception: object) -> Literal[False]:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            raise RuntimeError("the profiler is not active; enter it before it is exited")
        if recorder is not recording.active:
            recorder.discard()
            raise RuntimeError(
                "the profiler is exited on another thread than it was entered on; "
                "its events are discarded"
            )
        forget(recorder)
        self._events = recorder.finish()
        return False

    def __del__(self) -> None:
        if self._recorder is not None:
            self._recorder.discard()

    def __repr__(self) -> str:
        if self._events is not None:
            return f"<Profiler of {len(self._events)} events>"
        if self._recorder is not None:
            return "<Profiler, recording>"
        return "<Profiler, not entered>" if self._entries else "<Profiler, discarded>"

    def events(self) -> tuple[ProfilerEvent, ...]:
        """Give all events in start order.

        Returns:
            A tuple whose positions are the events' ids. Only the completion of a move or copy that
            was pending may differ in a later call.

        Raises:
            RuntimeError: The context was not exited yet.
        """
        if self._events is None:
            raise RuntimeError("results of a profiler exist only after context exit")
        return tuple(self._events)

    def key_averages(self, *, group_by_input_shape: bool = False) -> tuple[ProfilerAggregate, ...]:
        """Sum up the completed events by name and exact carrier class.

        Args:
            group_by_input_shape: Also keep different shapes apart.

        Returns:
            Aggregates in the order of name, carrier class and shapes.

        Raises:
            TypeError: ``group_by_input_shape`` is not a bool.
            RuntimeError: The context was not exited yet.
        """
        by_shape = _flag(group_by_input_shape, "group_by_input_shape")
        return aggregate(self.events(), by_shape)

    def table(
        self,
        *,
        sort_by: str = "self_total_time_ns",
        descending: bool = True,
        group_by_input_shape: bool = False,
        row_limit: int | None = None,
    ) -> str:
        """Give the aggregates as aligned text.

        Args:
            sort_by: A field of ProfilerAggregate.
            descending: Whether large values come first; ties keep the order of ``key_averages``.
            group_by_input_shape: Keep different shapes apart, with a column that shows them.
            row_limit: How many rows to show, or None for all.

        Returns:
            A header, a line of dashes and one line per aggregate.

        Raises:
            TypeError: ``sort_by`` is unhashable, or a flag is not a bool.
            ValueError: ``sort_by`` is no field, or ``row_limit`` no int of at least 0.
            RuntimeError: The context was not exited yet.

        Examples:
            >>> import strideweave as sw
            >>> with sw.profile() as profiler:
            ...     pass
            >>> print(profiler.table().splitlines()[0])
            Name  Carrier  Calls  Total (ns)  Self total (ns)  Mean (ns)  Min (ns)  Max (ns)
        """
        options = TableOptions(
            sort_by=sort_by,
            descending=_flag(descending, "descending"),
            by_shape=_flag(group_by_input_shape, "group_by_input_shape"),
            row_limit=row_limit,
        )
        return render(aggregate(self.events(), options.by_shape), options)

    def chrome_trace(self) -> str:
        """Give the completed events as JSON in the Trace Event Format.

        Trace viewers such as Perfetto and ``chrome://tracing`` show it.

        Returns:
            An object with a list ``traceEvents``. Operations and submissions are complete events
            (``"ph": "X"``), the rest of a move or copy a pair of asynchronous ones (``"b"`` and
            ``"e"``). Times are microseconds; ``args`` has the id, parent, carrier, implementation,
            outcome, self time and recorded shapes of the event.

        Raises:
            RuntimeError: The context was not exited yet.

        Examples:
            >>> import json
            >>> import strideweave as sw
            >>> from strideweave.testing import ArrayCarrier
            >>> x = sw.friendly.tensor([1.0, 2.0], carrier=ArrayCarrier)
            >>> with sw.profile(record_shapes=True) as profiler:
            ...     y = sw.exp(x)
            >>> (event,) = json.loads(profiler.chrome_trace())["traceEvents"]
            >>> event["name"], event["ph"], event["args"]["input_shapes"]
            ('exp', 'X', [[2]])
        """
        return trace_text(self.events())

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write ``chrome_trace()`` to a file, replacing what was there.

        Args:
            path: The file to write.

        Raises:
            RuntimeError: The context was not exited yet.
            OSError: The file cannot be written.
        """
        text = self.chrome_trace()
        Path(path).write_text(text, encoding="utf-8")


def profile(
    *, carriers: Iterable[type[Carrier]] | None = None, record_shapes: bool = False
) -> Profiler:
    """Make a profiler to enter with ``with``.

    Args:
        carriers: The exact carrier classes to record, subclasses not included; None for all.
        record_shapes: Whether events carry the shapes of their operands.

    Returns:
        A Profiler that was not entered.

    Raises:
        TypeError: ``carriers`` is no iterable of Carrier classes, or ``record_shapes`` no bool.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> x = sw.friendly.tensor([1.0, -2.0], carrier=ArrayCarrier)
        >>> with sw.profile(carriers=[ArrayCarrier]) as profiler:
        ...     y = sw.relu(x)
        >>> [(event.name, event.succeeded) for event in profiler.events()]
        [('relu', True)]
    """
    return Profiler(carriers=carriers, record_shapes=record_shapes)


def _carrier_classes(carriers: object) -> tuple[type[Carrier], ...] | None:
    if carriers is None:
        return None
    if not isinstance(carriers, Iterable):
        raise TypeError(
            f"profile: carriers must be None or an iterable of Carrier classes, "
            f"got {type(carriers).__qualname__}"
        )
    return tuple(_carrier_class(entry, position) for position, entry in enumerate(carriers))


def _carrier_class(entry: object, position: int) -> type[Carrier]:
    subject = f"profile: carriers[{position}] must be a Carrier class"
    if not isinstance(entry, type):
        raise TypeError(f"{subject}, got an object of {type(entry).__qualname__}; name its class")
    if not issubclass(entry, Carrier):
        raise TypeError(f"{subject}, got the class {entry.__qualname__}")
    try:
        hash(entry)
    except TypeError as error:
        raise TypeError(f"{subject} that is hashable: {error}") from None
    return entry


def _flag(value: object, name: str) -> bool:
    if type(value) is not bool:
        raise TypeError(
            f"{name} must be a bool, got {type(value).__qualname__}; pass True or False"
        )
    return value
