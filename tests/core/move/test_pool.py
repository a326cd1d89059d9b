"""Threads of the shared pool that long work borrows."""

import threading
from collections.abc import Iterator

import pytest

from strideweave.carriers.move.pool import MOST_WORKERS, CompletionPool

BOUND = 30


class Borrowed:
    """Long work that ends when the test says so, or after a bound."""

    def __init__(self, pool: CompletionPool) -> None:
        self._may_end = threading.Event()
        self.begun, self.ended = threading.Event(), threading.Event()
        self.is_lent = pool.lend(self._run)

    def _run(self) -> None:
        self.begun.set()
        self._may_end.wait(BOUND)
        self.ended.set()

    def end(self) -> None:
        self._may_end.set()


@pytest.fixture
def borrowed() -> Iterator[tuple[CompletionPool, list[Borrowed]]]:
    """A pool, and everything that was lent of it."""
    everything: list[Borrowed] = []
    yield CompletionPool(), everything
    for one in everything:
        one.end()


@pytest.mark.rule("M-25", "TE-56")
def test_one_thread_is_never_lent(borrowed: tuple[CompletionPool, list[Borrowed]]) -> None:
    pool, everything = borrowed
    everything += [Borrowed(pool) for _ in range(MOST_WORKERS + 3)]
    lent = [one for one in everything if one.is_lent]
    assert len(lent) == MOST_WORKERS - 1
    assert all(one.begun.wait(BOUND) for one in lent)
    done = [threading.Event() for _ in range(20)]
    for event in done:
        pool.run(event.set)
    assert all(event.wait(BOUND) for event in done)
    assert not any(one.begun.is_set() for one in everything if not one.is_lent)


@pytest.mark.rule("M-25", "TE-56")
def test_a_thread_is_lent_again_when_it_is_back(
    borrowed: tuple[CompletionPool, list[Borrowed]],
) -> None:
    pool, everything = borrowed
    everything += [Borrowed(pool) for _ in range(MOST_WORKERS - 1)]
    assert not Borrowed(pool).is_lent
    everything[0].end()
    assert everything[0].ended.wait(BOUND)
    back = threading.Event()
    pool.run(back.set)
    assert back.wait(BOUND)
    for _ in range(1000):  # it is back when it looks for its next task, a moment after that
        again = Borrowed(pool)
        if again.is_lent:
            break
        threading.Event().wait(0.001)
    everything.append(again)
    assert again.begun.wait(BOUND)


@pytest.mark.rule("M-25", "TE-56")
def test_a_thread_of_the_pool_borrows_no_other(
    borrowed: tuple[CompletionPool, list[Borrowed]],
) -> None:
    pool, everything = borrowed
    asked = threading.Event()

    def ask() -> None:
        everything.append(Borrowed(pool))
        asked.set()

    pool.run(ask)
    assert asked.wait(BOUND)
    assert not everything[0].is_lent and not everything[0].begun.is_set()
