"""Sharing a kernel's independent parts among threads.

Threads live for one call: there is no pool that a fork could lose or an exit would have to wait
for. What a part computes must not depend on how many parts there are.
"""

import os
import sys
from collections.abc import Callable
from contextvars import copy_context
from itertools import pairwise
from threading import Thread

SMALL_PRODUCT = 2**19
"""Multiplications from which OpenBLAS shares a product among its threads, caller after caller."""
_LIMITS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
"""Environment variables by which NumPy's BLAS is told how many threads to use."""


def share(work: Callable[[int, int], None], count: int, most: int) -> None:
    """Call ``work(start, stop)`` over consecutive parts of ``range(count)``.

    Args:
        work: Computes one part, mostly in calls that release the interpreter lock.
        count: Length of the range.
        most: Threads beyond which sharing does not pay.

    Raises:
        BaseException: What the first part that failed raised; the others have ended.
    """
    parts = max(1, min(count, most, _available_threads() if most > 1 else 1))
    if parts == 1:
        work(0, count)
        return
    bounds = [count * part // parts for part in range(parts + 1)]
    failures: dict[int, BaseException] = {}

    def attempt(start: int, stop: int) -> None:
        try:
            work(start, stop)
        except BaseException as failure:  # raised again by the calling thread
            failures[start] = failure

    started: list[Thread] = []
    try:
        for start, stop in pairwise(bounds[1:]):
            # In a copy of this context, which keeps NumPy's floating-point errors silent.
            thread = Thread(target=copy_context().run, args=(attempt, start, stop), daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads, or the interpreter is ending
                attempt(start, stop)
            else:
                started.append(thread)
        attempt(0, bounds[1])
    finally:
        _await(started)
    if failures:
        try:
            raise failures[min(failures)]
        finally:
            failures.clear()  # or this frame and the failure would keep each other alive


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


def _await(threads: list[Thread]) -> None:
    """Wait for all threads, also when interrupted, because they use what the caller frees."""
    interruption: BaseException | None = None
    for thread in threads:
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as signal:
                interruption = signal
    if interruption is not None:
        raise interruption


def _available_threads() -> int:
    if sys.is_finalizing():  # where Python before 3.12 waits forever for a thread to start
        return 1
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    limits = [int(value) for name in _LIMITS if (value := os.environ.get(name, "")).isdecimal()]
    return min([processors, *(limit for limit in limits if limit > 0)])
