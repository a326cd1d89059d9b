"""What a profile consists of: single events, and their aggregates."""

from typing import TYPE_CHECKING, TypeAlias, final

from strideweave._record import record

if TYPE_CHECKING:
    from strideweave.carriers.base import Carrier

Extents: TypeAlias = tuple["int | Extents", ...]
InputShapes: TypeAlias = tuple[Extents | None, ...]


@final
@record
class ProfilerEvent:
    """One execution of an operation, or one of the two events of a move or copy.

    Attributes:
        id: Position in start order, from 0; it never changes.
        parent_id: The nearest recorded event that encloses this one, or None.
        name: The dispatch name: ``lt`` for a call of ``gt``.
        carrier_type: The exact class of the dispatching carrier, or of the source of a move.
        implementation_type: The class of the operation object.
        input_shapes: One entry per positional argument, the nested extents of a Tensor and None
            for anything else; None unless the profile records shapes.
        start_time_ns: When it started, on a monotonic clock.
        duration_ns: Synchronous host wall time.
        self_time_ns: The duration without the executions directly inside it, recorded or not.
        thread_id: The thread's ``threading.get_ident()``.
        succeeded: Whether it ended without an exception.
        completed: False only for the ``.complete`` event of a pending move or copy.
    """

    id: int
    parent_id: int | None
    name: str
    carrier_type: "type[Carrier]"
    implementation_type: type
    input_shapes: InputShapes | None
    start_time_ns: int
    duration_ns: int
    self_time_ns: int
    thread_id: int
    succeeded: bool
    completed: bool


@final
@record
class ProfilerAggregate:
    """All completed events of one name on one carrier class, and of equal shapes if asked for.

    Attributes:
        name: The dispatch name.
        carrier_type: The exact carrier class.
        input_shapes: The shapes they share; None when they were not grouped by shape.
        count: How many events, failed ones included.
        total_time_ns: Sum of the durations.
        self_total_time_ns: Sum of the self times.
        mean_time_ns: ``total_time_ns / count``.
        min_time_ns: The shortest duration.
        max_time_ns: The longest duration.
    """

    name: str
    carrier_type: "type[Carrier]"
    input_shapes: InputShapes | None
    count: int
    total_time_ns: int
    self_total_time_ns: int
    mean_time_ns: float
    min_time_ns: int
    max_time_ns: int
