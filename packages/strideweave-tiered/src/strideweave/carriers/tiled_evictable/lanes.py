"""Steps of one operation in two lanes: while one reads a tile, the other computes with another.

The calling thread is one lane, a shared thread the other. A thread that reads what it computes with
finds it in its cache, and with as many threads as processors none of them waits for its turn.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import copy_context
from itertools import groupby
from threading import Lock
from typing import Final, TypeAlias, final

from strideweave.carriers.latch import FirstTaker, Latch
from strideweave.carriers.move.pool import completion_pool
from strideweave.carriers.tiled_evictable.blocks import Box, Step, StreamedOperand
from strideweave.carriers.tiled_evictable.transition import quiet
from strideweave.tensor import Tensor

Visit: TypeAlias = Callable[[Step, list[Tensor]], None]
"""Computes with the blocks of a step, and stores the result."""
Bring: TypeAlias = Callable[[Sequence[StreamedOperand], Step], "list[Tensor] | None"]
Run: TypeAlias = tuple[int, deque[Step]]
"""The steps of one box of the result, and its place among the boxes."""

_INTERRUPTED: Final = -1
"""A failure that comes before that of every run."""


def runs_of(steps: Sequence[Step]) -> list[Run]:
    """Divide the steps of a product into those that write to the same box of the result."""
    return [(place, deque(run)) for place, (_, run) in enumerate(groupby(steps, _written))]


def _written(step: Step) -> Box:
    return step.writes


@final
class Lanes:
    """The runs of one operation, which two threads take in their order.

    Args:
        runs: What to do.
        new_operands: Makes the operands of one lane.
        visit: Does one step. Steps of different runs are done at the same time.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        new_operands: Callable[[], list[StreamedOperand]],
        visit: Visit,
    ) -> None:
        self._remaining = deque(runs)
        self._new_operands = new_operands
        self._visit = visit
        self._bringing = Lock()
        self._failures: dict[int, BaseException] = {}
        self._helper = _Helper()

    def finish(self) -> bool:
        """Do all steps.

        What fails in the run that comes first is raised, after both lanes have ended.

        Returns:
            False where no other thread is to spare, and nothing was done.
        """
        try:
            if not self._helper.begin(self._help):
                return False
            self._work(self._bring_anyway)
        except BaseException as interruption:
            self._failures[_INTERRUPTED] = interruption
        # Here, since an interrupt on the way into a function would leave the helper behind.
        is_helped = True
        while is_helped:
            try:
                self._helper.end()
                is_helped = False
            except BaseException as interruption:  # the helper uses what the caller lets go
                self._failures[_INTERRUPTED] = interruption
        self._work(self._bring_anyway)  # what the helper has given back
        if self._failures:
            try:
                raise self._failures[min(self._failures)]
            finally:
                self._failures.clear()  # or this frame and the failure would keep each other alive
        return True

    def _help(self) -> None:
        try:
            with quiet():
                self._work(self._bring_if_possible)
        except BaseException as failure:
            self._failures[_INTERRUPTED] = failure

    def _work(self, bring: Bring) -> None:
        """Take one run after the other."""
        operands = self._new_operands()
        try:
            while not self._failures and (run := self._take()) is not None:
                if not self._finish_run(run, operands, bring):
                    self._remaining.appendleft(run)
                    return
        finally:
            with self._bringing:
                for operand in operands:
                    operand.finish()

    def _take(self) -> Run | None:
        try:
            return self._remaining.popleft()
        except IndexError:
            return None

    def _finish_run(self, run: Run, operands: Sequence[StreamedOperand], bring: Bring) -> bool:
        """Do the steps of a run unless an earlier one has failed.

        Returns:
            False where the tiles of a step could not be brought, and nothing failed.
        """
        place, steps = run
        try:
            while steps and place < min(self._failures, default=place + 1):
                blocks = bring(operands, steps[0])
                if blocks is None:
                    return False
                self._visit(steps[0], blocks)
                steps.popleft()
        except Exception as failure:
            self._failures[place] = failure
        except BaseException as interruption:
            self._failures[_INTERRUPTED] = interruption
        return True

    def _bring(self, operands: Sequence[StreamedOperand], step: Step) -> list[Tensor]:
        with self._bringing:
            for operand, box in zip(operands, step.reads, strict=True):
                operand.leave(operand.number(box))
            return [operand.read(box) for operand, box in zip(operands, step.reads, strict=True)]

    def _bring_if_possible(
        self, operands: Sequence[StreamedOperand], step: Step
    ) -> list[Tensor] | None:
        if self._helper.is_unwanted:
            return None
        try:
            return self._bring(operands, step)
        except Exception:  # the calling thread tries again, and reports it
            return None

    def _bring_anyway(self, operands: Sequence[StreamedOperand], step: Step) -> list[Tensor]:
        try:
            return self._bring(operands, step)
        except (MemoryError, RuntimeError):  # perhaps because of the tiles that the helper holds
            self._helper.is_unwanted = True
            self._helper.end()
            return self._bring(operands, step)


@final
class _Helper:
    """Work for a shared thread, unless it is no longer wanted when one is free.

    Attributes:
        is_unwanted: Whether it should end soon.
    """

    def __init__(self) -> None:
        self.is_unwanted = False
        self._work: Callable[[], None] | None = None
        self._taker: Final = FirstTaker()
        self._ended: Final = Latch()

    def begin(self, work: Callable[[], None]) -> bool:
        """Look for a thread; False where none is to spare."""
        self._work = work
        context = copy_context()
        return completion_pool().lend(lambda: context.run(self._run))

    def _run(self) -> None:
        if self._taker.is_here() and self._work is not None:
            self._work()
            self._ended.set()

    def end(self) -> None:
        """Wait until it has ended; one that has not begun will not begin any more."""
        if not self._taker.is_here():
            self._ended.wait()
        self._work = None  # which would keep the operands alive until a thread is free
