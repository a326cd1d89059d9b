"""Moves inside a composite that owns both carriers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType

FLOAT32 = DType.Float32
BOUND = 20.0


@contextmanager
def owning(*carriers: Any) -> Iterator[None]:
    """Claim carriers and act for their owner, as a composite does between its tiers."""
    tokens = [carrier._claim_ownership() for carrier in carriers]
    for carrier, token in zip(carriers, tokens, strict=True):
        carrier._begin_owner_access(token)
    yield
    for carrier, token in zip(carriers, tokens, strict=True):
        carrier._end_owner_access(token)
        carrier._relinquish_ownership(token)


@pytest.mark.rule("M-18", "C-24")
@pytest.mark.parametrize("way", ["route", "copy"])
@pytest.mark.parametrize("function", [sw.move, sw.move_async, sw.copy_async])
def test_the_composites_claims_serve_and_stay(function: Any, way: str, yard: Any) -> None:
    pair = yard.pair() if way == "route" else (yard.elementwise(), yard.elementwise())
    tensor, target = yard.tensor(pair[0], 1.0, 2.0), pair[1](2, dtype=FLOAT32)
    source = tensor.carrier
    with owning(source, target):
        answer = function(tensor, target)
        moved = answer if function is sw.move else answer.wait(0)
        assert source.is_owned() and target.is_owned() and target.is_mutable()
        assert moved.tolist() == [1.0, 2.0] and target.version == 1
    assert source.is_released() is (function is not sw.copy_async)
    assert not source.is_owned() and not target.is_owned()


@pytest.mark.rule("M-18")
def test_the_request_runs_on_the_calling_thread(yard: Any) -> None:
    completion = yard.Pending()
    source, destination = yard.pair(completion.submit)
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    timer = threading.Timer(0.05, completion.finish)
    timer.start()
    with owning(tensor.carrier, target):
        handle = sw.move_async(tensor, target)
        assert handle.done and completion.waits == ["MainThread"]
    timer.join(BOUND)
    shelf = yard.subclass("Shelf", yard.Listed)
    threads: list[str] = []

    class Naming(sw.ElementwiseMoveOperation):
        def _copy(self, *arguments: Any) -> None:
            threads.append(threading.current_thread().name)
            super()._copy(*arguments)

    sw.carriers.move.register_move_operation(shelf, shelf, Naming)
    tensor, target = yard.over(shelf([1.0])), shelf([0.0])
    with owning(tensor.carrier, target):
        assert sw.move_async(tensor, target).done
    assert threads == ["MainThread"]


@pytest.mark.rule("M-18")
def test_a_failure_leaves_the_composites_claims(yard: Any) -> None:
    def submit(request: Any) -> None:
        raise OSError("lost")

    source, destination = yard.pair(submit)
    tensor, target = yard.tensor(source, 1.0), destination(0, dtype=FLOAT32)
    with owning(tensor.carrier, target):
        with pytest.raises(OSError, match="lost"):
            sw.move(tensor, target)
        assert tensor.carrier.is_owned() and target.is_owned()
        assert tensor.tolist() == [1.0] and target.size() == 0


@pytest.mark.rule("M-18", "M-26")
def test_another_thread_is_refused_meanwhile(yard: Any) -> None:
    source, destination = yard.pair()
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    outcomes: list[str] = []

    def move() -> None:
        try:
            sw.move(tensor, target)
        except RuntimeError as refusal:
            outcomes.append(str(refusal))

    with owning(tensor.carrier, target):
        thread = threading.Thread(target=move)
        thread.start()
        thread.join(BOUND)
    assert len(outcomes) == 1 and "cannot be moved directly" in outcomes[0]


@pytest.mark.rule("M-18")
def test_access_to_one_carrier_lends_that_claim_only(yard: Any) -> None:
    source, destination = yard.pair()
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    with owning(tensor.carrier):
        moved = sw.move(tensor, target)
        assert tensor.carrier.is_owned() and not target.is_owned()
    assert moved.tolist() == [1.0]
