"""Releasing a carrier: once, and what still works afterwards."""

import threading
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType

FLOAT32, INT32 = DType.Float32, DType.Int32


@pytest.mark.rule("C-29", "R-17")
def test_the_provider_releases_once(workshop: Any) -> None:
    calls: list[Any] = []
    storage = workshop.storage(release=lambda carrier: calls.append(carrier))
    carrier = workshop.defined(storage=storage)(1, dtype=FLOAT32)
    carrier.release()
    carrier.release()
    assert calls == [carrier] and carrier.is_released()


@pytest.mark.rule("C-29")
def test_a_failing_release_leaves_the_carrier_live(workshop: Any) -> None:
    answers: list[Any] = [OSError("busy"), 3, None]

    def release(carrier: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    carrier = workshop.defined(storage=workshop.storage(release=release))(1, dtype=FLOAT32)
    carrier[0] = 2.0
    with pytest.raises(OSError, match="busy"):
        carrier.release()
    assert not carrier.is_released() and carrier[0] == 2.0
    with pytest.raises(TypeError, match=r"release of Shelf must return None, got 3 \(int\)"):
        carrier.release()
    assert not carrier.is_released() and carrier.version == 1
    carrier.release()
    assert carrier.is_released()


@pytest.mark.rule("C-29")
def test_ownership_is_checked_before_release_is_idempotent(workshop: Any) -> None:
    carrier = workshop.defined()(1, dtype=FLOAT32)
    token = carrier._claim_ownership()
    carrier._begin_owner_access(token)
    carrier.release()
    carrier._end_owner_access(token)
    with pytest.raises(RuntimeError, match="owned"):
        carrier.release()


@pytest.mark.rule("C-30", "R-21", "C-46")
def test_a_released_carrier_still_answers(workshop: Any) -> None:
    def refuse(*arguments: Any) -> Any:
        raise AssertionError("released storage was touched")

    live = True
    carrier_class = workshop.defined(
        storage=workshop.storage(
            read=lambda carrier, index: carrier.cells[index] if live else refuse(),
            physical_size=lambda carrier: len(carrier.cells) if live else refuse(),
        )
    )
    carrier = carrier_class(2, dtype=FLOAT32)
    carrier[0] = 3.0
    carrier.release()
    live = False
    assert (carrier.size(), carrier.dtype(), carrier.version) == (0, FLOAT32, 1)
    assert carrier.supports_storage_dtype(INT32) and not carrier.supports_storage_dtype(DType.Any)
    assert carrier.operation_capabilities() == ()
    assert carrier.facet(type("Naming", (sw.CarrierFacet,), {})) is None
    live = True
    assert carrier.new_like([5], dtype=INT32)[0] == 5 and carrier.allocate_like(4).size() == 4


@pytest.mark.rule("C-29")
def test_a_definition_free_release_hook_runs_once(workshop: Any) -> None:
    calls: list[str] = []
    carrier = workshop.subclass(_release=lambda self: calls.append("released"))()
    carrier.release()
    carrier.release()
    assert calls == ["released"]


@pytest.mark.rule("C-29", "G-14")
def test_concurrent_releases_wait_for_the_one_that_runs(workshop: Any) -> None:
    inside, proceed = threading.Event(), threading.Event()
    calls: list[Any] = []

    def release(carrier: Any) -> None:
        calls.append(carrier)
        carrier.release()  # from inside it does nothing
        inside.set()
        assert proceed.wait(10)

    carrier = workshop.defined(storage=workshop.storage(release=release))(1, dtype=FLOAT32)
    first = threading.Thread(target=carrier.release)
    first.start()
    assert inside.wait(10)
    with pytest.raises(RuntimeError, match="released"):
        carrier._claim_ownership()
    seen_by_second: list[bool] = []

    def second() -> None:
        carrier.release()
        seen_by_second.append(carrier.is_released())

    other = threading.Thread(target=second)
    other.start()
    proceed.set()
    first.join()
    other.join()
    assert calls == [carrier] and seen_by_second == [True]
