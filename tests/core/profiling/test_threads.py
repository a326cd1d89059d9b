"""Profiles belong to the thread that entered them."""

import gc
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import strideweave as sw
from strideweave import Profiler, Tensor, profile

Make = Callable[..., Tensor]


def on_another_thread(work: Callable[[], Any]) -> Any:
    """The result of ``work()``, run on a fresh thread."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return outcome.result(timeout=10)


@pytest.mark.rule("A-42", "A-48")
def test_other_threads_are_not_seen_and_have_their_own_profiler(f: Make) -> None:
    def elsewhere() -> Profiler:
        sw.exp(f(2))
        with profile() as own:
            sw.neg(f(2))
        return own

    with profile() as profiler:
        own = on_another_thread(elsewhere)
        sw.relu(f(2))
    assert [event.name for event in profiler.events()] == ["relu"]
    (event,) = own.events()
    assert event.name == "neg"
    assert event.thread_id != profiler.events()[0].thread_id == threading.get_ident()


@pytest.mark.rule("A-42", "G-14")
def test_one_of_many_threads_enters_a_profiler() -> None:
    barrier = threading.Barrier(8)

    def enter(profiler: Profiler) -> bool:
        barrier.wait(timeout=10)
        try:
            with profiler:
                return True
        except RuntimeError as error:
            assert "single-use" in str(error)
            return False

    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            profiler = profile()
            entered = list(pool.map(enter, [profiler] * 8))
            assert sorted(entered) == [False] * 7 + [True] and profiler.events() == ()


@pytest.mark.rule("A-48")
def test_a_kernel_that_uses_a_thread_hides_what_runs_there(shelves: Any, f: Make) -> None:
    def kernel(invocation: Any) -> Any:
        return shelves.put(shelf, on_another_thread(lambda: sw.exp(f(2))).detach())

    shelf = shelves.with_kernel(kernel)
    with profile() as profiler:
        sw.relu(shelves.put(shelf, f(2)))
    assert [event.name for event in profiler.events()] == ["relu"]


@pytest.mark.rule("A-48")
def test_exit_on_another_thread_discards_the_recording(f: Make) -> None:
    profiler = profile().__enter__()
    sw.relu(f(2))
    with pytest.raises(RuntimeError, match="another thread"):
        on_another_thread(lambda: profiler.__exit__(None, None, None))
    with pytest.raises(RuntimeError, match="only after context exit"):
        profiler.events()
    sw.relu(f(2))
    with profile() as following:
        sw.exp(f(2))
    assert [event.name for event in following.events()] == ["exp"]
    with pytest.raises(RuntimeError, match="not active"):
        profiler.__exit__(None, None, None)


@pytest.mark.rule("A-48")
def test_exit_on_another_thread_during_an_execution(shelves: Any, f: Make) -> None:
    profiler = profile()

    def kernel(invocation: Any) -> Any:
        with pytest.raises(RuntimeError, match="another thread"):
            on_another_thread(lambda: profiler.__exit__(None, None, None))
        return shelves.put(shelf, sw.exp(f(2)).detach())

    shelf = shelves.with_kernel(kernel)
    profiler.__enter__()
    sw.relu(shelves.put(shelf, f(2)))
    with profile() as following:
        sw.neg(f(2))
    assert [event.name for event in following.events()] == ["neg"]


@pytest.mark.rule("A-48")
@pytest.mark.parametrize("executes_first", [True, False])
def test_a_dropped_profiler_ends_its_recording(f: Make, executes_first: bool) -> None:
    profile().__enter__()
    gc.collect()
    if executes_first:
        sw.relu(f(2))
    with profile() as profiler:
        sw.exp(f(2))
    assert [event.name for event in profiler.events()] == ["exp"]


@pytest.mark.rule("A-48")
def test_a_thread_may_end_without_leaving_its_profiler(f: Make) -> None:
    left: list[Profiler] = []

    def work() -> None:
        left.append(profile().__enter__())
        sw.relu(f(2))

    on_another_thread(work)
    with profile() as profiler:
        sw.exp(f(2))
    assert [event.name for event in profiler.events()] == ["exp"]
    with pytest.raises(RuntimeError, match="another thread"):
        left[0].__exit__(None, None, None)


@pytest.mark.rule("A-41", "A-48")
def test_a_refused_profiler_is_dropped_in_silence() -> None:
    with pytest.raises(TypeError, match="carriers"):
        profile(carriers=3)  # type: ignore[arg-type]  # the refusal is the point
    gc.collect()
