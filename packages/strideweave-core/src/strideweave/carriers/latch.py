"""An event that happens once, and that an interrupt cannot break."""

from contextlib import suppress
from threading import Lock
from typing import final


@final
class Latch:
    """What ``threading.Event`` is, but for good once it is set.

    A KeyboardInterrupt may leave the lock inside an Event taken, and whoever sets it then waits for
    ever. Here every waiting thread has a lock of its own.
    """

    def __init__(self) -> None:
        self._is_set = False
        self._waiting: list[Lock] = []

    def is_set(self) -> bool:
        """Tell whether it has happened."""
        return self._is_set

    def set(self) -> None:
        """Let all waiting threads go on, once and for all."""
        self._is_set = True
        while True:
            try:
                waiter = self._waiting.pop()
            except IndexError:
                return
            waiter.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it has happened.

        Args:
            timeout: How long at most, in seconds; None waits without limit.

        Returns:
            Whether it has.
        """
        if self._is_set:
            return True
        waiter = Lock()
        waiter.acquire()
        self._waiting.append(waiter)
        try:
            if not self._is_set:  # or set() has seen this waiter, or sees nobody
                waiter.acquire(timeout=-1 if timeout is None else max(0, timeout))
        finally:
            with suppress(ValueError):
                self._waiting.remove(waiter)
        return self._is_set
