"""The event that happens once."""

import threading
import time

import pytest

from strideweave.carriers import latch as module
from strideweave.carriers.latch import FirstTaker, Latch

BOUND = 30


def test_every_waiting_thread_goes_on() -> None:
    latch = Latch()
    went_on: list[bool] = []
    threads = [
        threading.Thread(target=lambda: went_on.append(latch.wait(BOUND))) for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    assert not latch.is_set() and went_on == []
    latch.set()
    for thread in threads:
        thread.join(BOUND)
    assert went_on == [True] * 20 and latch.is_set()
    assert latch.wait() and latch.wait(0) and latch._waiting == []
    latch.set()


@pytest.mark.parametrize("timeout", [-1.0, 0, 0.02])
def test_waiting_ends_after_the_timeout(timeout: float) -> None:
    latch = Latch()
    start = time.monotonic()
    assert latch.wait(timeout) is False
    assert time.monotonic() - start >= timeout and latch._waiting == []


@pytest.mark.parametrize("step", ["before", "while"])
def test_an_interrupted_wait_holds_nobody_up(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    latch = Latch()

    class Interrupted:
        def __init__(self) -> None:
            self._lock = threading.Lock()
            self._entries = 0

        def acquire(self, timeout: float = -1) -> bool:
            self._entries += 1
            if self._entries == (1 if step == "before" else 2):
                raise KeyboardInterrupt
            return self._lock.acquire(timeout=timeout)

    with monkeypatch.context() as patch:
        patch.setattr(module, "Lock", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            latch.wait()
    latch.set()
    assert latch.wait(0)


def test_no_wake_up_is_lost() -> None:
    for _ in range(2000):
        latch = Latch()
        thread = threading.Thread(target=latch.set)
        thread.start()
        assert latch.wait(BOUND)
        thread.join(BOUND)


def test_one_thread_takes() -> None:
    for _ in range(50):
        taker, barrier = FirstTaker(), threading.Barrier(4)
        found: list[list[bool]] = []

        def take(taker: FirstTaker, barrier: threading.Barrier, found: list[list[bool]]) -> None:
            barrier.wait(BOUND)
            found.append([taker.is_here(), taker.is_here()])
            barrier.wait(BOUND)  # or the next thread could get the number of one that ended

        arguments = (taker, barrier, found)
        threads = [threading.Thread(target=take, args=arguments) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
        assert sorted(found) == [[False, False]] * 3 + [[True, True]]
