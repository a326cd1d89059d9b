"""What keeps the changes of one hierarchy apart."""

import os
from threading import RLock
from types import TracebackType
from typing import final


@final
class Gate:
    """A reentrant lock that a forked child finds open.

    The thread that held it does not exist in the child; waiting for it would never end.
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._lock = RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self.__init__()
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()
