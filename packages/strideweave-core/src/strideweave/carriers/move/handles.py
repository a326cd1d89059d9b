"""Handles of pending work: one-shot cells that any number of threads may wait on."""

import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Generic, NoReturn, TypeVar, cast, final

from typing_extensions import TypeVar as TypeVarWithVariance

from strideweave.carriers.latch import Latch

T_co = TypeVarWithVariance("T_co", covariant=True)
HandleT = TypeVar("HandleT", bound="AwaitResult[object]")


class AwaitResult(Generic[T_co]):
    """The outcome of work that may still be running.

    Dropping it neither blocks nor cancels the work. It has no coroutine protocol and takes no
    callbacks: a thread that needs the outcome calls ``wait``.

    Raises:
        TypeError: It is constructed; instances come from the framework.

    Examples:
        >>> from strideweave import AwaitResult
        >>> AwaitResult()
        Traceback (most recent call last):
        TypeError: an AwaitResult is created by the framework; call what returns one
    """

    __slots__ = (
        "__weakref__",
        "_continuations",
        "_error",
        "_finished",
        "_process",
        "_traceback",
        "_value",
        "_waited",
    )

    _continuations: list[Callable[[], object]]
    _error: BaseException | None
    _finished: Latch
    _process: int
    _traceback: TracebackType | None
    _value: object
    _waited: Callable[[float], object] | None

    def __init__(self, *arguments: object, **keywords: object) -> None:
        raise TypeError(
            f"an {type(self).__qualname__} is created by the framework; call what returns one"
        )

    @property
    def done(self) -> bool:
        """Whether the outcome is recorded."""
        return self._finished.is_set()

    def wait(self, timeout: float | None = None) -> T_co:
        """Block until the outcome is recorded, and give it.

        Args:
            timeout: How long to wait at most, in seconds; None waits without limit.

        Returns:
            The result, the identical object for every caller.

        Raises:
            TimeoutError: The time passed; the work goes on.
            RuntimeError: The work was started by the process that this one was forked from.

        A failure of the work is raised as it is, the identical exception for every caller.
        """
        if not self._finished.is_set():
            self._await_outcome(timeout)
        error = self._error
        if error is None:
            return cast(T_co, self._value)
        try:
            raise error.with_traceback(self._traceback)  # or every wait would lengthen it
        finally:
            # This frame is in the traceback: its references would close a cycle.
            del error, self

    def _await_outcome(self, timeout: float | None) -> None:
        # Nothing here may take a lock in a forked child: a thread that is gone may hold it.
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this {type(self).__qualname__} belongs to work of process {self._process}, which "
                "was forked after the work began; the work does not go on in this process: start "
                "it again, or fork only when nothing is pending"
            )
        limit = None if timeout is None else min(timeout, threading.TIMEOUT_MAX)
        start = time.perf_counter()
        is_recorded = self._finished.wait(limit)
        if self._waited is not None:
            self._waited(time.perf_counter() - start)
        if not is_recorded:
            raise TimeoutError(
                f"this {type(self).__qualname__} has no outcome after {timeout} s; the work goes "
                "on, and it can be waited for again"
            )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(
            f"an {type(self).__qualname__} belongs to running work and can be neither copied nor "
            "pickled; wait() for its result"
        )

    def _hold(self, value: object) -> None:
        """Keep the result; nobody sees it before ``_publish``."""
        self._value = value

    def _fail(self, error: BaseException) -> None:
        """Keep a failure instead of a result; nobody sees it before ``_publish``."""
        self._value = None
        self._error = error
        self._traceback = error.__traceback__

    def _publish(self) -> None:
        """Record what is kept as the outcome, once, and wake every waiter."""
        self._finished.set()
        self._continue()

    def _then(self, continuation: Callable[[], object]) -> None:
        """Run something after the outcome is recorded, so that no thread waits for it.

        Args:
            continuation: Raises nothing and waits for no other work. It runs on the thread that
                records the outcome, or here when that is recorded already.
        """
        self._continuations.append(continuation)
        if self._finished.is_set():
            self._continue()

    def _continue(self) -> None:
        # The thread that records and one that adds may both be here; each entry is taken once.
        while True:
            try:
                continuation = self._continuations.pop(0)
            except IndexError:
                return
            continuation()


@final
class AwaitMove(AwaitResult[T_co]):
    """The handle of a move or copy; its result is the Tensor over the destination.

    Examples:
        >>> import strideweave as sw
        >>> from strideweave.testing import ArrayCarrier
        >>> source = ArrayCarrier(2, dtype=sw.DType.Int32).new_like([1, 2])
        >>> tensor = sw.Tensor(source, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
        >>> handle = sw.copy_async(tensor, ArrayCarrier(2, dtype=sw.DType.Int32))
        >>> handle.wait().tolist()
        [1, 2]
        >>> handle.wait() is handle.wait(), handle.done
        (True, True)
    """

    __slots__ = ()


def new_handle(
    handle_class: type[HandleT], waited: Callable[[float], object] | None = None
) -> HandleT:
    """Make a handle without an outcome.

    Args:
        handle_class: AwaitResult or a subclass of it.
        waited: Is told for how many seconds a thread that waited was blocked.

    Returns:
        The handle; the work keeps its outcome in it and publishes it once.
    """
    handle: HandleT = object.__new__(handle_class)
    handle._continuations = []
    handle._error = None
    handle._finished = Latch()
    handle._process = os.getpid()
    handle._traceback = None
    handle._value = None
    handle._waited = waited
    return handle
