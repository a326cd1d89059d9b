"""What happens once among threads, and cannot be broken by an interrupt."""

from contextlib import suppress
from threading import Lock, get_ident
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


@final
class FirstTaker:
    """Which of several threads takes something that one of them may take."""

    def __init__(self) -> None:
        self._threads: list[int] = []

    def is_here(self) -> bool:
        """Take it for the calling thread unless another one has; True again for the same thread.

        This is one step, so a thread that was interrupted meanwhile may ask again.
        """
        self._threads.append(get_ident())
        return self._threads[0] == get_ident()
