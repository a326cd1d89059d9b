"""While a move is pending: who owns what, who waits, and what nobody can disturb."""

import gc
import threading
import time
import weakref
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType
from strideweave.carriers.latch import Latch

FLOAT32 = DType.Float32
BOUND = 20.0


class Started:
    """A move whose completion is under control."""

    def __init__(self, yard: Any, keeps_source: bool = False) -> None:
        self.completion = yard.Pending()
        source, destination = yard.pair(self.completion.submit)
        self.tensor = yard.tensor(source, 1.0, 2.0)
        self.source, self.target = self.tensor.carrier, destination(2, dtype=FLOAT32)
        act = sw.copy_async if keeps_source else sw.move_async
        self.handle: Any = act(self.tensor, self.target)


@pytest.fixture
def started(yard: Any) -> Started:
    return Started(yard)


@pytest.mark.rule("M-26", "60/E-24", "G-6", "M-22")
def test_both_carriers_belong_to_the_request(started: Started, yard: Any) -> None:
    handle, tensor, source, target = (
        started.handle,
        started.tensor,
        started.source,
        started.target,
    )
    assert isinstance(handle, sw.AwaitMove) and not handle.done
    assert source.is_owned() and target.is_owned()
    for carrier in (source, target):
        with pytest.raises(RuntimeError, match="not mutable"):
            carrier[0] = 3.0
        with pytest.raises(RuntimeError, match="owned"):
            carrier.release()
        with pytest.raises(RuntimeError, match="owned"):
            carrier._increment_version()
    spare = type(target)(2, dtype=FLOAT32)
    for given in (tensor, yard.over(source, yard.flat(1), 1), yard.over(target)):
        for act in (sw.move, sw.move_async, sw.copy):
            with pytest.raises(RuntimeError, match=r"owned .* cannot be moved directly"):
                act(given, spare)
    with pytest.raises(RuntimeError, match="owned, so it is not mutable"):
        sw.move(yard.tensor(type(source), 1.0, 2.0), target)
    assert tensor.tolist() == [1.0, 2.0]  # reads go on
    started.completion.finish()
    moved = handle.wait(BOUND)
    assert handle.wait() is moved and started.handle.done and moved.tolist() == [1.0, 2.0]
    assert source.is_released() and not source.is_owned() and not target.is_owned()


@pytest.mark.rule("M-55", "M-26")
def test_a_pending_copy_claims_its_source_too(yard: Any) -> None:
    started = Started(yard, keeps_source=True)
    assert started.source.is_owned()
    with pytest.raises(RuntimeError, match="owned"):
        sw.copy(started.tensor, type(started.target)(2, dtype=FLOAT32))
    started.completion.finish()
    assert started.handle.wait(BOUND).tolist() == started.tensor.tolist() == [1.0, 2.0]
    assert not started.source.is_owned() and not started.source.is_released()


@pytest.mark.rule("M-20", "R-32")
def test_all_waiters_get_the_identical_result(started: Started) -> None:
    results: list[Any] = []
    waiting = threading.Barrier(33)

    def wait() -> None:
        waiting.wait(BOUND)
        results.append(started.handle.wait(BOUND))

    threads = [threading.Thread(target=wait) for _ in range(32)]
    for thread in threads:
        thread.start()
    waiting.wait(BOUND)
    assert not started.handle.done and not results
    started.completion.finish()
    for thread in threads:
        thread.join(BOUND)
    assert len(results) == 32 and all(result is results[0] for result in results)
    assert started.completion.waits == ["strideweave-completion"]


@pytest.mark.rule("M-20", "R-32")
def test_all_waiters_get_the_identical_failure(started: Started) -> None:
    failures: list[BaseException] = []
    error = OSError("device lost")

    def wait() -> None:
        try:
            started.handle.wait(BOUND)
        except OSError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=wait) for _ in range(16)]
    for thread in threads:
        thread.start()
    started.completion.fail(error)
    for thread in threads:
        thread.join(BOUND)
    assert len(failures) == 16 and all(failure is error for failure in failures)
    for _ in range(50):
        with pytest.raises(OSError, match="device lost") as raised:
            started.handle.wait()
        assert raised.value is error
    depth, traceback = 0, error.__traceback__
    while traceback is not None:
        depth, traceback = depth + 1, traceback.tb_next
    assert depth < 15  # repeated waits do not lengthen it


@pytest.mark.rule("M-20")
def test_a_timeout_leaves_the_request_running(started: Started) -> None:
    for timeout in (0, -1.0, 0.01):
        with pytest.raises(TimeoutError, match=f"no outcome after {timeout} s; the work goes on"):
            started.handle.wait(timeout)
    assert not started.handle.done and started.source.is_owned()
    started.completion.finish()
    assert started.handle.wait(float("inf")) is started.handle.wait(0)


@pytest.mark.rule("M-20")
def test_an_interrupt_in_wait_leaves_the_request_running(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: Any, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Latch, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            started.handle.wait()
    assert not started.handle.done and started.source.is_owned()
    started.completion.finish()
    assert started.handle.wait(BOUND).tolist() == [1.0, 2.0]


@pytest.mark.rule("M-27", "G-6")
@pytest.mark.parametrize("fails", [False, True])
def test_a_request_whose_every_reference_is_dropped_reaches_its_outcome(
    fails: bool, yard: Any
) -> None:
    started = Started(yard)
    completion, source, target = started.completion, started.source, weakref.ref(started.target)
    handle = weakref.ref(started.handle)
    del started
    gc.collect()
    assert target() is not None and source.is_owned() and not source.is_released()
    if fails:
        completion.fail(OSError("late"))
    else:
        completion.finish()
    deadline = time.monotonic() + BOUND
    while (target() or handle()) and time.monotonic() < deadline:
        time.sleep(0.001)
        gc.collect()
    assert target() is None and handle() is None
    assert not source.is_owned() and source.is_released() is not fails


@pytest.mark.rule("S-9", "M-28")
@pytest.mark.parametrize("way", ["route", "copy"])
def test_nothing_of_the_request_is_left_once_wait_has_returned(way: str, yard: Any) -> None:
    for _ in range(50):
        if way == "route":
            started = Started(yard)
            tensor, target = started.tensor.detach(), started.target
            completion, handle = started.completion, started.handle
            completion.finish()
            del started
        else:
            first, second = yard.elementwise(), yard.elementwise()
            tensor, target = yard.tensor(first, 1.0, 2.0), second(2, dtype=FLOAT32)
            with sw.no_grad():
                handle = sw.move_async(tensor, target)
        moved = handle.wait(BOUND)
        if way == "route":
            moved._autograd_ctx = None
        alive = [weakref.ref(carrier) for carrier in (tensor.carrier, target)]
        del tensor, target, moved, handle
        assert [carrier() for carrier in alive] == [None, None]


@pytest.mark.rule("M-25")
def test_stuck_completions_keep_nobody_from_finishing(yard: Any) -> None:
    stuck = [Started(yard) for _ in range(40)]
    first, second = yard.elementwise(), yard.elementwise()
    copies = [sw.move_async(yard.tensor(first, 1.0), second(1, dtype=FLOAT32)) for _ in range(20)]
    assert all(handle.wait(BOUND).tolist() == [1.0] for handle in copies)
    quick = Started(yard)
    quick.completion.finish()
    assert quick.handle.wait(BOUND).tolist() == [1.0, 2.0]
    assert not any(started.handle.done for started in stuck)
    for started in stuck:
        started.completion.finish()
    for started in stuck:
        assert started.handle.wait(BOUND).tolist() == [1.0, 2.0]


@pytest.mark.rule("M-28")
def test_nobody_sees_the_result_before_the_commit_has_ended(yard: Any) -> None:
    seen: list[Any] = []
    begun: list[Any] = []

    def release(carrier: Any) -> None:
        handle, target = begun
        seen.append((handle.done, carrier.is_owned(), target.is_owned()))
        carrier.cells = []

    completion = yard.Pending()
    source, destination = yard.pair(completion.submit, source_storage={"release": release})
    tensor, target = yard.tensor(source, 1.0), destination(1, dtype=FLOAT32)
    handle = sw.move_async(tensor, target)
    begun += (handle, target)
    completion.finish()
    assert handle.wait(BOUND).tolist() == [1.0]
    assert seen == [(False, True, True)]


@pytest.mark.rule("M-31")
def test_a_pending_move_records_by_the_state_of_its_beginning(yard: Any) -> None:
    with sw.no_grad():
        unrecorded = Started(yard)
    recorded = Started(yard)
    with sw.no_grad():
        recorded.completion.finish()
        moved = recorded.handle.wait(BOUND)
    unrecorded.completion.finish()
    assert moved.autograd_ctx is not None and moved.autograd_ctx.inputs() == (recorded.tensor,)
    assert unrecorded.handle.wait(BOUND).autograd_ctx is None
