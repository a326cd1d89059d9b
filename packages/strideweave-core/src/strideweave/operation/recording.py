"""Which profiler hears what the current thread executes."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, final

if TYPE_CHECKING:
    from strideweave.profiling.recorder import Recorder


@final
class _Recording(threading.local):
    # The profile that was entered on this thread and not left.
    active: "Recorder | None" = None
    # The same, or None while operations or movements are kept out of it.
    operations: "Recorder | None" = None
    movements: "Recorder | None" = None


recording = _Recording()


def hear(recorder: "Recorder") -> None:
    """Let a profile hear this thread."""
    recording.active = recording.operations = recording.movements = recorder


def forget(recorder: "Recorder") -> None:
    """Let a profile that ended no longer hear this thread."""
    if recording.active is recorder:
        recording.active = None
    if recording.operations is recorder:
        recording.operations = None
    if recording.movements is recorder:
        recording.movements = None


@contextmanager
def unrecorded(*, movements_too: bool) -> Iterator[None]:
    """Keep what this thread executes out of its profile.

    Args:
        movements_too: Whether moves and copies stay out of it as well as operations.
    """
    operations, movements = recording.operations, recording.movements
    recording.operations = None
    if movements_too:
        recording.movements = None
    try:
        yield
    finally:
        recording.operations, recording.movements = operations, movements
