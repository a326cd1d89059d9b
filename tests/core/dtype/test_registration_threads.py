"""Registration races: exactly one thread wins a name or a block-scaled structure."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import strideweave as sw

D = sw.DType
THREADS = 4
ROUNDS = 60


def race(attempt: Callable[[int], sw.DType]) -> list[sw.DType | ValueError]:
    """Run ``attempt(thread)`` on all threads at once and return results or ``ValueError``."""
    barrier = threading.Barrier(THREADS)

    def run(thread: int) -> sw.DType | ValueError:
        barrier.wait()
        try:
            return attempt(thread)
        except ValueError as error:
            return error

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


def only_winner(outcomes: list[sw.DType | ValueError]) -> sw.DType:
    winners = [outcome for outcome in outcomes if isinstance(outcome, sw.DType)]
    assert len(winners) == 1, outcomes
    return winners[0]


@pytest.mark.rule("D-12", "D-15")
def test_one_thread_wins_a_name(fresh_name: Callable[[], str]) -> None:
    for _ in range(ROUNDS):
        name = fresh_name()

        def attempt(thread: int, name: str = name) -> sw.DType:
            return sw.SimpleDType(name, bits=thread + 1, supertype=D.Integer)

        winner = only_winner(race(attempt))
        assert D.from_name(name) is winner
        assert winner.structure()[-2] == f"int:{winner.bits}"  # type: ignore[attr-defined]  # simple


@pytest.mark.rule("D-12", "D-37")
def test_one_thread_wins_a_structure_under_different_names(fresh_name: Callable[[], str]) -> None:
    for round_number in range(ROUNDS):
        names = [fresh_name() for _ in range(THREADS)]

        def attempt(thread: int, names: list[str] = names, block: int = round_number) -> sw.DType:
            levels = [sw.Level(D.E5M2, 1000 + block)]
            return sw.BlockScaledDType(names[thread], element=D.E2M3, levels=levels)

        winner = only_winner(race(attempt))
        registered = {entry.name for entry in D.registered()}
        assert registered.intersection(names) == {winner.name}
