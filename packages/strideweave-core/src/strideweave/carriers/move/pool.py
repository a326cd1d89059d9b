"""The threads that finish movement in the background, and the end of the process.

A few daemon threads share all work that runs to its end by itself. Waiting for a provider's
completion blocks, so it gets a daemon thread of its own: no number of stuck completions keeps
other work from finishing. No thread starts before it is needed. A forked child starts afresh: it
knows nothing of its parent's requests, and has threads of its own.
"""

import atexit
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias, final

from strideweave._fork import run_in_child

Task: TypeAlias = Callable[[], object]

MOST_WORKERS: Final = 4
EXIT_SECONDS: Final = 5.0
"""How long running requests may hold up the end of the process."""


class _Here(threading.local):
    is_worker: bool = False


_here: Final = _Here()


@final
class CompletionPool:
    """The shared threads of one process, and its unfinished requests."""

    def __init__(self) -> None:
        # Always entered by itself: an interrupt inside a Condition would leave it taken.
        self._lock: Final = threading.Lock()
        self._is_quiet: Final = threading.Condition(self._lock)
        self._tasks: Final[SimpleQueue[Task]] = SimpleQueue()
        self._workers = 0
        self._spare = 0  # idle workers, less the tasks that wait for one
        self._lent: set[object] = set()
        self._requests: set[object] = set()
        self._is_closed = False

    @property
    def lent(self) -> int:
        """How many of the threads are lent to long work."""
        return len(self._lent)

    def admit(self, request: object) -> None:
        """Keep a request until ``dismiss``.

        Args:
            request: Any object that compares by identity.

        Raises:
            RuntimeError: The process is exiting.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError(
                    "the interpreter is exiting and takes no further move or copy; move before "
                    "the program ends"
                )
            self._requests.add(request)

    def dismiss(self, request: object) -> None:
        """Forget a request that is finished, or was refused after it was admitted."""
        with self._lock:
            self._requests.discard(request)
            self._is_quiet.notify_all()

    def run(self, task: Task) -> None:
        """Run a task, which ends by itself and raises nothing, on a shared thread.

        A task that comes from a shared thread runs there and then: that thread may be about to
        wait for it, and with it all others.
        """
        if _here.is_worker:
            task()
            return
        with self._lock:
            self._spare -= 1
            needs_worker = self._spare < 0 and self._workers < MOST_WORKERS
            self._workers += needs_worker
            self._spare += needs_worker
        self._tasks.put(task)
        if needs_worker and not start_daemon(self._work, "strideweave-worker"):
            with self._lock:
                self._workers -= 1
                self._spare -= 1
            self._work_off()

    def lend(self, task: Task) -> bool:
        """Run a long task on a shared thread, beside which one remains for everything else.

        Args:
            task: Raises nothing. It may wait for other tasks of the pool.

        Returns:
            False where no thread is to spare, or the caller is one of them; nothing runs then.
        """
        loan = object()
        try:
            with self._lock:
                if _here.is_worker or len(self._lent) >= MOST_WORKERS - 1:
                    return False
                self._lent.add(loan)
            self.run(lambda: self._run_lent(task, loan))
        except BaseException:  # an interrupt
            self._lent.discard(loan)
            raise
        return True

    def _run_lent(self, task: Task, loan: object) -> None:
        try:
            task()
        finally:
            self._lent.discard(loan)

    def drain(self) -> None:
        """Take no more requests, and give those that run a limited time to finish."""
        with self._lock:
            self._is_closed = True
            self._is_quiet.wait_for(lambda: not self._requests, EXIT_SECONDS)

    def _work(self) -> None:
        _here.is_worker = True
        while True:
            self._tasks.get()()  # no name keeps a finished task, and what it holds, alive
            with self._lock:
                self._spare += 1

    def _work_off(self) -> None:
        while True:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            with self._lock:
                self._spare += 1
            task()


def start_daemon(task: Task, name: str) -> bool:
    """Run a task on a daemon thread of its own.

    Returns:
        False where the system gives no further thread; the caller then runs the task itself.
    """
    try:
        threading.Thread(target=task, name=name, daemon=True).start()
    except RuntimeError:
        return False
    return True


_pool = CompletionPool()


def completion_pool() -> CompletionPool:
    """Give the pool of this process."""
    return _pool


def _start_afresh() -> None:
    global _pool
    _pool = CompletionPool()


atexit.register(lambda: _pool.drain())
run_in_child(_start_afresh)
