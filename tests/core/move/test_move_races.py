"""Moves against moves, writes and releases on real threads."""

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.testing import ArrayCarrier

FLOAT32 = DType.Float32
ROUNDS = 1500
BOUND = 60.0


@pytest.fixture(autouse=True)
def frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def held(*values: float) -> Tensor:
    carrier = ArrayCarrier(0, dtype=FLOAT32).new_like(values)
    return Tensor(carrier, 0, Layout(Shape(len(values)), Stride(1)))


def race(rounds: list[list[Callable[[], Any]]]) -> list[list[Any]]:
    """Run the actions of each round at once; give each action's result or exception."""
    width = len(rounds[0])
    outcomes: list[list[Any]] = [[None] * width for _ in rounds]
    barrier = threading.Barrier(width)

    def run(position: int) -> None:
        for number, actions in enumerate(rounds):
            barrier.wait(BOUND)
            try:
                outcomes[number][position] = actions[position]()
            except Exception as error:
                outcomes[number][position] = error

    threads = [threading.Thread(target=run, args=(position,)) for position in range(width)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def waited(act: Any, *arguments: Any) -> Callable[[], Any]:
    def run() -> Any:
        answer = act(*arguments)
        return answer.wait(BOUND) if isinstance(answer, sw.AwaitMove) else answer

    return run


@pytest.mark.rule("M-26", "G-6", "G-14")
@pytest.mark.parametrize("act", [sw.move, sw.move_async])
def test_one_of_two_moves_of_a_source_wins(act: Any) -> None:
    sources = [held(1.0, 2.0) for _ in range(ROUNDS)]
    targets = [[ArrayCarrier(2, dtype=FLOAT32) for _ in range(2)] for _ in range(ROUNDS)]
    outcomes = race(
        [
            [waited(act, source, target) for target in pair]
            for source, pair in zip(sources, targets, strict=True)
        ]
    )
    for source, pair, results in zip(sources, targets, outcomes, strict=True):
        (won,) = [result for result in results if isinstance(result, Tensor)]
        (lost,) = [result for result in results if result is not won]
        assert type(lost) is RuntimeError and ("owned" in str(lost) or "released" in str(lost))
        assert won.tolist() == [1.0, 2.0] and source.carrier.is_released()
        loser = pair[1 - results.index(won)]
        assert (loser.version, loser.is_owned(), loser.is_mutable()) == (0, False, True)


@pytest.mark.rule("M-26", "M-55", "G-14")
def test_copies_of_one_source_never_corrupt_each_other() -> None:
    sources = [held(1.0, 2.0) for _ in range(ROUNDS)]
    outcomes = race(
        [
            [waited(sw.copy, source, ArrayCarrier(0, dtype=FLOAT32)) for _ in range(3)]
            for source in sources
        ]
    )
    for source, results in zip(sources, outcomes, strict=True):
        copies = [result for result in results if isinstance(result, Tensor)]
        assert copies and all(copy.tolist() == [1.0, 2.0] for copy in copies)
        refusals = [result for result in results if not isinstance(result, Tensor)]
        assert all(type(entry) is RuntimeError and "owned" in str(entry) for entry in refusals)
        assert not source.carrier.is_owned() and source.tolist() == [1.0, 2.0]


@pytest.mark.rule("M-26", "G-14")
def test_moves_into_one_destination_come_one_after_the_other() -> None:
    targets = [ArrayCarrier(2, dtype=FLOAT32) for _ in range(ROUNDS)]
    pairs = [(held(1.0, 2.0), held(3.0, 4.0)) for _ in range(ROUNDS)]
    outcomes = race(
        [
            [waited(sw.move, source, target) for source in pair]
            for pair, target in zip(pairs, targets, strict=True)
        ]
    )
    for pair, target, results in zip(pairs, targets, outcomes, strict=True):
        moved = [isinstance(result, Tensor) for result in results]
        assert any(moved) and [source.carrier.is_released() for source in pair] == moved
        assert target.version == sum(moved) and not target.is_owned()
        assert [target[0], target[1]] in ([1.0, 2.0], [3.0, 4.0])


@pytest.mark.rule("M-26", "M-28", "G-14")
def test_a_write_that_races_with_a_move_leaves_one_of_both_values() -> None:
    sources = [held(1.0, 2.0) for _ in range(ROUNDS)]

    def write(source: Tensor) -> Callable[[], Any]:
        return lambda: source.__setitem__(0, 9.0)

    outcomes = race(
        [
            [waited(sw.move, source, ArrayCarrier(0, dtype=FLOAT32)), write(source)]
            for source in sources
        ]
    )
    for source, (moved, written) in zip(sources, outcomes, strict=True):
        # A write that had passed its checks may find the storage given up.
        assert written is None or isinstance(written, (RuntimeError, IndexError))
        if isinstance(moved, Tensor):
            assert moved.tolist() in ([1.0, 2.0], [9.0, 2.0]) and source.carrier.is_released()
        else:  # the write had begun before the claim
            assert "written to while it moved" in str(moved)
            assert source.tolist() == [9.0, 2.0] and source.is_mutable()


@pytest.mark.rule("M-26", "G-14")
def test_a_release_comes_before_the_move_or_is_refused() -> None:
    sources = [held(1.0, 2.0) for _ in range(ROUNDS)]
    outcomes = race(
        [
            [waited(sw.move, source, ArrayCarrier(0, dtype=FLOAT32)), source.carrier.release]
            for source in sources
        ]
    )
    for source, (moved, released) in zip(sources, outcomes, strict=True):
        assert source.carrier.is_released()
        if isinstance(moved, Tensor):
            assert moved.tolist() == [1.0, 2.0]
        else:
            assert type(moved) is RuntimeError and released is None


@pytest.mark.rule("M-20", "M-25", "G-6")
def test_many_threads_move_through_the_pool_at_once() -> None:
    def work() -> list[float]:
        tensor = held(float(threading.get_ident() % 97))
        expected = tensor.item()
        for _ in range(150):
            tensor = sw.move_async(tensor, ArrayCarrier(0, dtype=FLOAT32)).wait(BOUND)
        return [expected, tensor.item()]

    for result in race([[work] * 8])[0]:
        assert result[0] == result[1]
