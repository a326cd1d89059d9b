"""Sharing a kernel's independent parts among threads.

The first kernel that is worth more than one thread starts helpers, which live on for the next one:
a thread that has just started often shares its caller's processor for a while. They are daemons,
which the end of the interpreter does not wait for, and a forked child has helpers of its own. What
a part computes must not depend on how many parts there are.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from threading import RLock, Thread, local
from typing import Final, TypeAlias, final

from strideweave._fork import run_in_child
from strideweave.carriers.latch import FirstTaker, Latch
from strideweave.carriers.move.pool import completion_pool

Task: TypeAlias = Callable[[], object]
Work: TypeAlias = Callable[[int, int], None]

SMALL_PRODUCT = 2**19
"""Multiplications from which OpenBLAS shares a product among its threads, caller after caller."""
_LIMITS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables by which NumPy's BLAS is told how many threads to use."""


def share(work: Work, count: int, most: int) -> None:
    """Call ``work(start, stop)`` over consecutive parts of ``range(count)``.

    Callers that compute at the same time share the processors too, so each may get one part only.

    Args:
        work: Computes one part, mostly in calls that release the interpreter lock.
        count: Length of the range.
        most: Threads beyond which sharing does not pay.

    Raises:
        BaseException: What the first part that failed raised; the others have ended.
    """
    if most <= 1:
        work(0, count)
        return
    with _team.busy_threads(min(count, most)) as threads:
        if threads == 1:
            work(0, count)
        else:
            _compute(work, cuts(count, threads))


def share_parts(work: Callable[[int], object], count: int, most: int) -> None:
    """Call ``work(part)`` for every part of ``range(count)``; a thread that is free takes the next.

    A thread that falls behind, because its processor does other work too, gets fewer of them.

    Args:
        work: Computes one part, mostly in calls that release the interpreter lock.
        count: How many parts.
        most: Threads beyond which sharing does not pay.

    Raises:
        BaseException: What a part raised; the others have ended.
    """
    remaining = iter(range(count))

    def take(_start: int, _stop: int) -> None:
        for part in remaining:
            work(part)

    share(take, count, most)


def cuts(length: int, parts: int) -> list[int]:
    """Give where consecutive parts of a range begin, and where the last one ends."""
    return [length * part // parts for part in range(parts + 1)]


@final
class _Part:
    """A part that a helper computes, or its caller where no helper was free in time.

    Attributes:
        ended: Set when it has.
        failure: What it raised.
    """

    def __init__(self, work: Work, start: int, stop: int) -> None:
        self.ended: Final = Latch()
        self.failure: BaseException | None = None
        self._work: Work | None = work
        self._range = (start, stop)
        self._taker: Final = FirstTaker()

    def attempt(self) -> None:
        """Compute the part, unless another thread has begun to."""
        if not self._taker.is_here() or self._work is None or self.ended.is_set():
            return
        try:
            self._work(*self._range)
        except BaseException as failure:  # raised again by the calling thread
            self.failure = failure
        self.ended.set()

    def forget(self) -> None:
        """Let go of everything: a helper may get to see the part when the call is over.

        The failure and the frames that it passed would keep each other alive, too.
        """
        self._work = self.failure = None


def _compute(work: Work, bounds: list[int]) -> None:
    parts = [_Part(work, start, stop) for start, stop in pairwise(bounds)]
    try:
        try:
            _team.offer(parts[1:])
        finally:
            _end(parts)
        for part in parts:
            if part.failure is not None:
                raise part.failure
    finally:
        for part in parts:
            part.forget()


def _end(parts: list[_Part]) -> None:
    """Compute what no helper has begun and wait for the rest, which uses what the caller frees.

    An interruption does not keep it from doing so.
    """
    interruptions: list[BaseException] = []
    is_waiting = True
    while is_waiting:
        try:
            for part in parts:
                part.attempt()
                part.ended.wait()
            is_waiting = False
        except BaseException as interruption:
            interruptions.append(interruption)
    if interruptions:
        try:
            raise interruptions[-1]
        finally:
            interruptions.clear()  # or this frame and the interruption would keep each other alive


class _Here(local):
    may_offer: bool = True
    """Not in a helper, nor while offering: finalizers run anywhere, also while a thread starts."""


_here: Final = _Here()


@final
class _Team:
    """The helpers of one process, and the threads that compute parts or all of a shared kernel."""

    def __init__(self) -> None:
        self.lock: Final = RLock()  # finalizers run under it too
        self._computing: dict[object, int] = {}
        self._helpers = 0
        self._offered: SimpleQueue[Task] = SimpleQueue()

    @contextmanager
    def busy_threads(self, wanted: int) -> Iterator[int]:
        """Count threads as busy.

        Args:
            wanted: How many could be used.

        Yields:
            How many are: the calling thread and those for which there are idle processors.
        """
        available = _available_threads() if _here.may_offer else 1
        caller = object()
        try:
            with self.lock:
                threads = max(1, min(wanted, available - self.busy))
                self._computing[caller] = threads
            yield threads
        finally:
            self._computing.pop(caller, None)  # in one step, before an interrupt is noticed

    @property
    def busy(self) -> int:
        """How many threads compute."""
        return sum(tuple(self._computing.values()))

    def offer(self, parts: list[_Part]) -> None:
        """Hand parts to helpers, as far as there can be any."""
        try:
            _here.may_offer = False
            self._start_helpers()
            for part in parts[: self._helpers]:
                # In a copy of this context, which keeps NumPy's floating-point errors silent.
                self._offered.put(partial(copy_context().run, part.attempt))
        finally:
            _here.may_offer = True

    def _start_helpers(self) -> None:
        """Start those that are missing for as many threads as are busy, one of which calls."""
        with self.lock, suppress(RuntimeError):  # no more threads, or the interpreter is ending
            while self._helpers < self.busy - 1:
                name = "strideweave-kernel"
                Thread(target=_help, args=(self._offered,), name=name, daemon=True).start()
                self._helpers += 1


def _help(offered: "SimpleQueue[Task]") -> None:
    _here.may_offer = False
    while True:
        offered.get()()  # no name keeps a finished part alive


_team = _Team()


def _start_afresh() -> None:
    global _team
    _team = _Team()


run_in_child(_start_afresh)  # the helpers, and the threads that were busy, stayed in the parent


def _available_threads() -> int:
    if sys.is_finalizing():  # where Python before 3.12 waits forever for a thread to start
        return 1
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    limits = [int(value) for name in _LIMITS if (value := os.environ.get(name, "")).isdecimal()]
    allowed = min([processors, *(limit for limit in limits if limit > 0)])
    # Threads that work through tiles compute kernels of their own, or read what comes next.
    return allowed - completion_pool().lent
