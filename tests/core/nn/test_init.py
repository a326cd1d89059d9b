"""Initial values of parameters."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from strideweave import DType, Parameter, nn

init: Any = nn.init  # called with wrong arguments too


@pytest.mark.rule("N-31", "Z-23")
def test_kaiming_uniform_draws_in_logical_order(make: Callable[..., Any]) -> None:
    weight = Parameter(make([0.0] * 4, "(2,2):(2,1)"))
    init.kaiming_uniform_(weight, 2, rng=random.Random(0))
    assert weight[0, 0] == pytest.approx(0.4870860536043755, abs=1e-7)
    assert weight[1, 0] == pytest.approx(0.3648026151120298, abs=1e-7)
    assert weight.version == 1


@pytest.mark.rule("N-31")
def test_kaiming_uniform_refuses_what_it_cannot_fill(make: Callable[..., Any]) -> None:
    rng = random.Random(0)
    weight = Parameter(make([0.0, 0.0]))
    for fan_in in (0, -1):
        with pytest.raises(ValueError, match="fan_in must be positive"):
            init.kaiming_uniform_(weight, fan_in, rng=rng)
    with pytest.raises(ValueError, match="injective"):
        init.kaiming_uniform_(Parameter(make([0.0], "(2):(0)")), 1, rng=rng)
    with pytest.raises(TypeError, match="Int32"):
        init.kaiming_uniform_(Parameter(make([1], dtype=DType.Int32)), 1, rng=rng)
    with pytest.raises(RuntimeError, match="not mutable"):
        init.kaiming_uniform_(Parameter(make([1.0], mutable=False)), 1, rng=rng)
    assert weight.version == 0


@pytest.mark.rule("N-31", "G-5")
def test_fill_writes_each_slot_in_one_step_and_leaves_holes(make: Callable[..., Any]) -> None:
    holes = Parameter(make([1.0] * 5, "(2,2):(1,3)"))
    init.fill_(holes, 2.0)
    assert [holes.carrier[slot] for slot in range(5)] == [2.0, 2.0, 1.0, 2.0, 2.0]
    assert holes.version == 1
    broadcast = Parameter(make([1.0, 2.0], "(3,2):(0,1)"))
    init.fill_(broadcast, 4)
    assert broadcast.tolist() == [[4.0, 4.0]] * 3 and broadcast.version == 1
    with pytest.raises(ValueError, match="injective"):
        init.fill_(Parameter(make([1.0] * 5, "(4,2):(1,1)")), 1.0)
    with pytest.raises(TypeError):
        init.fill_(holes, "x")
