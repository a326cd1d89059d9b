"""The owner protocol, and what an owned carrier refuses."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from strideweave import DType

FLOAT32 = DType.Float32


@pytest.fixture
def carrier(workshop: Any) -> Any:
    return workshop.defined()(2, dtype=FLOAT32)


def in_thread(act: Callable[[], Any]) -> Any:
    """Run something on another thread; give its result or its exception."""
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.append(act())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome[0]


@pytest.mark.rule("C-24", "50/E-22")
def test_a_claim_has_one_owner_at_a_time(carrier: Any) -> None:
    token = carrier._claim_ownership()
    assert carrier.is_owned()
    with pytest.raises(RuntimeError, match="Shelf is already owned"):
        carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="does not own"):
        carrier._relinquish_ownership(token + 1)
    carrier._relinquish_ownership(token)
    assert not carrier.is_owned()
    with pytest.raises(RuntimeError, match="it is not owned"):
        carrier._relinquish_ownership(token)
    assert carrier._claim_ownership() != token


@pytest.mark.rule("C-24")
def test_a_released_carrier_cannot_be_claimed(carrier: Any) -> None:
    carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        carrier._claim_ownership()


@pytest.mark.rule("C-24", "C-22")
def test_owner_access_nests_and_belongs_to_one_thread(carrier: Any) -> None:
    token = carrier._claim_ownership()
    assert not carrier.is_mutable() and not carrier._has_owner_access()
    carrier._begin_owner_access(token)
    carrier._begin_owner_access(token)
    assert carrier.is_mutable() and carrier._has_owner_access()
    assert in_thread(carrier.is_mutable) is False
    assert in_thread(carrier._has_owner_access) is False
    assert "another thread is inside" in str(in_thread(lambda: carrier._begin_owner_access(token)))
    assert "not inside owner access" in str(in_thread(lambda: carrier._end_owner_access(token)))
    with pytest.raises(RuntimeError, match="inside owner access; end the access first"):
        carrier._relinquish_ownership(token)
    carrier._end_owner_access(token)
    assert carrier._has_owner_access()
    carrier._end_owner_access(token)
    assert not carrier._has_owner_access() and carrier.is_owned()
    with pytest.raises(RuntimeError, match="not inside owner access"):
        carrier._end_owner_access(token)
    with pytest.raises(RuntimeError, match="does not own"):
        carrier._begin_owner_access(token + 1)


@pytest.mark.rule("C-24", "G-11")
def test_owner_access_of_a_dead_thread_passes_to_no_other(carrier: Any) -> None:
    token = carrier._claim_ownership()
    in_thread(lambda: carrier._begin_owner_access(token))
    # A new thread often gets the number of a dead one.
    assert not any(in_thread(carrier._has_owner_access) for _ in range(20))


@pytest.mark.rule("C-23")
def test_an_owned_carrier_refuses_changes_from_outside(carrier: Any) -> None:
    carrier[0] = 1.0
    token = carrier._claim_ownership()
    with pytest.raises(RuntimeError, match="not mutable"):
        carrier[0] = 2.0
    with pytest.raises(RuntimeError, match="not mutable"):
        carrier.set_value(0, 2.0)
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    with pytest.raises(RuntimeError, match="owned"):
        carrier._increment_version()
    assert (carrier[0], carrier.version, carrier.is_released()) == (1.0, 1, False)
    carrier._begin_owner_access(token)
    carrier[0] = 2.0
    assert in_thread(carrier._increment_version).__class__ is RuntimeError
    carrier.release()
    carrier._end_owner_access(token)
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()
    carrier._relinquish_ownership(token)
    assert carrier.is_released() and carrier.version == 2


@pytest.mark.rule("C-22")
def test_an_immutable_carrier_refuses_even_its_owner(workshop: Any) -> None:
    carrier = workshop.defined()(1, dtype=FLOAT32, mutable=False)
    token = carrier._claim_ownership()
    carrier._begin_owner_access(token)
    assert not carrier.is_mutable()
    with pytest.raises(RuntimeError, match="is not mutable"):
        carrier[0] = 1.0


@pytest.mark.rule("C-22")
def test_release_does_not_change_mutability(carrier: Any) -> None:
    carrier.release()
    assert carrier.is_mutable()


@pytest.mark.rule("C-24", "G-12")
def test_of_many_claiming_threads_exactly_one_wins(workshop: Any) -> None:
    carrier_class = workshop.defined()
    rounds, threads = 300, 4
    carriers = [carrier_class(0, dtype=FLOAT32) for _ in range(rounds)]
    wins: list[list[int]] = [[] for _ in range(rounds)]
    barrier = threading.Barrier(threads)

    def race() -> None:
        for carrier, won in zip(carriers, wins, strict=True):
            barrier.wait()
            try:
                won.append(carrier._claim_ownership())
            except RuntimeError:
                pass

    workers = [threading.Thread(target=race) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [len(won) for won in wins] == [1] * rounds
    assert len({token for won in wins for token in won}) == rounds


@pytest.mark.rule("C-26", "G-4")
def test_no_version_step_is_lost_between_threads(carrier: Any) -> None:
    steps, threads = 2000, 4

    def write() -> None:
        for _ in range(steps):
            carrier[0] = 1.0

    workers = [threading.Thread(target=write) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert carrier.version == steps * threads
