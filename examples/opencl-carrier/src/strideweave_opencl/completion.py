"""EventCompletion: an OpenCL event as work that ends in one outcome."""

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar, final

import pyopencl as cl

T = TypeVar("T")


@final
class EventCompletion(Generic[T]):
    """Work that is over when an event is, and whose value is taken from then on, once.

    Any number of threads may wait: they get the same object or the same exception.

    Args:
        event: The last command of the work.
        outcome: Gives the value after that command; what it raises is the work's failure.

    Examples:
        >>> import pyopencl as cl
        >>> from strideweave_opencl import INTERFACE
        >>> from strideweave_opencl.completion import EventCompletion
        >>> event = cl.UserEvent(INTERFACE.context)
        >>> completion = EventCompletion(event, lambda: "result")
        >>> completion.done
        False
        >>> event.set_status(cl.command_execution_status.COMPLETE)
        >>> completion.wait(), completion.done
        ('result', True)
    """

    def __init__(self, event: cl.Event, outcome: Callable[[], T]) -> None:
        self._event = event
        self._outcome = outcome
        self._lock = Lock()
        self._values: list[T] = []
        self._error: Exception | None = None

    @property
    def done(self) -> bool:
        """Whether the device has finished, or failed; a failure has a negative status."""
        complete: int = cl.command_execution_status.COMPLETE
        return self._event.command_execution_status <= complete

    def wait(self) -> T:
        """Sleep until the device has finished.

        Returns:
            The value.

        Raises:
            pyopencl.Error: A command failed.
            Exception: What the outcome raised.
        """
        with self._lock:
            if not self._values and self._error is None:
                self._settle()
            if self._error is not None:
                raise self._error
            return self._values[0]

    def _settle(self) -> None:
        try:
            self._event.wait()
            self._values.append(self._outcome())
        except Exception as error:
            self._error = error
