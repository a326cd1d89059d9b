"""Many threads over distinct and shared carriers: no wrong value, no hang."""

import random
from collections.abc import Callable

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, Evictable, FileBacked, Generic, Layout, Tensor

SLOTS = 257
LAYOUT = Layout.leaf(SLOTS, 1)
THREADS = 16


def filled(number: int) -> Tensor:
    """Make a hierarchy whose slots all hold one number."""
    primary = CPU(0).new_like(np.full(SLOTS, number, np.float32))
    choices: list[Callable[[], Carrier]] = [FileBacked, lambda: CPU(0), lambda: Generic([])]
    secondary = random.choice(choices)()
    return Tensor(Evictable(primary, secondary), 0, LAYOUT)


def destination() -> Carrier:
    choices: list[Callable[[], Carrier]]
    choices = [FileBacked, lambda: CPU(SLOTS), lambda: Generic([0.0] * SLOTS)]
    return random.choice(choices)()


@pytest.mark.slow
@pytest.mark.rule("G-4", "G-6", "G-14", "C-70", "M-26")
@pytest.mark.parametrize("seconds", [60])
def test_sixteen_threads(keep_busy: Callable[..., None], seconds: float) -> None:
    shared = [(number, filled(number)) for number in range(8)]
    counts = dict.fromkeys(("done", "refused"), 0)

    def act_on_shared(rng: random.Random) -> None:
        position = rng.randrange(len(shared))
        number, tensor = shared[position]
        hierarchy = tensor.carrier
        assert isinstance(hierarchy, Evictable)
        action = rng.randrange(8)
        if action == 0:
            hierarchy.evict()
        elif action in (1, 2):
            hierarchy.promote()
        elif action == 3:
            assert hierarchy[rng.randrange(SLOTS)] == number
        elif action == 4:
            assert set(tensor.tolist()) == {number}
        elif action == 5:
            assert set(sw.copy(tensor, destination()).tolist()) == {number}
        elif action == 6:
            assert set((tensor + tensor).tolist()) == {2 * number}
        elif rng.random() < 0.1:
            shared[position] = (number, filled(number))
            if rng.random() < 0.5:
                hierarchy.release()
            else:
                assert set(sw.move_async(tensor, destination()).wait(30).tolist()) == {number}

    def act_alone(rng: random.Random) -> None:
        number = rng.randrange(1000)
        tensor = filled(0)
        hierarchy = tensor.carrier
        assert isinstance(hierarchy, Evictable)
        tensor[...] = float(number)
        for _ in range(rng.randrange(3)):
            hierarchy.evict()
            hierarchy.promote()
        hierarchy[5] = number + 0.5
        hierarchy.evict()
        hierarchy.promote()
        moved = sw.move(sw.move(tensor, destination()), destination())
        assert moved[5] == number + 0.5 and set(moved.tolist()) == {number, number + 0.5}

    def act(rng: random.Random) -> None:
        chosen = act_alone if rng.random() < 0.2 else act_on_shared
        try:
            chosen(rng)
            counts["done"] += 1
        except RuntimeError:
            assert chosen is act_on_shared
            counts["refused"] += 1

    keep_busy(act, threads=THREADS, seconds=seconds)
    assert counts["done"] > counts["refused"] > 0
