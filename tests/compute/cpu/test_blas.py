"""NumPy's BLAS keeps to one thread only while a kernel's own threads share its work."""

import os
import threading

import numpy as np
import pytest
from threadpoolctl import LibController, ThreadpoolController

import strideweave as sw
from strideweave.carriers.cpu.kernels import threads
from strideweave.carriers.cpu.kernels.blas import one_thread


@pytest.fixture
def libraries() -> list[LibController]:
    """The BLAS libraries of this process."""
    controllers = ThreadpoolController().select(user_api="blas").lib_controllers
    assert controllers
    return controllers


def counts(libraries: list[LibController]) -> list[int | None]:
    return [library.num_threads for library in libraries]


@pytest.mark.rule("G-14")
def test_holders_nest_and_the_last_one_restores(libraries: list[LibController]) -> None:
    before = counts(libraries)
    with one_thread() as outer, one_thread() as inner:
        assert outer == inner == max(count or 1 for count in before)
        assert set(counts(libraries)) == {1}
    assert counts(libraries) == before


@pytest.mark.rule("G-14")
def test_a_failure_restores(libraries: list[LibController]) -> None:
    before = counts(libraries)
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert counts(libraries) == before


@pytest.mark.rule("G-14")
def test_holders_in_several_threads_restore(libraries: list[LibController]) -> None:
    before = counts(libraries)
    barrier = threading.Barrier(4)

    def hold() -> None:
        for _ in range(200):
            barrier.wait()
            with one_thread():
                assert set(counts(libraries)) == {1}

    threads = [threading.Thread(target=hold) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts(libraries) == before


@pytest.mark.rule("G-14")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_meanwhile_restores(libraries: list[LibController]) -> None:
    before = counts(libraries)
    entered, ended = threading.Event(), threading.Event()

    def hold() -> None:
        with one_thread():
            entered.set()
            ended.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if counts(libraries) == before else 1)
    _, status = os.waitpid(child, 0)
    ended.set()
    holder.join()
    assert os.waitstatus_to_exitcode(status) == 0
    assert counts(libraries) == before


@pytest.mark.rule("G-14")
def test_a_limit_of_the_caller_holds(
    libraries: list[LibController], monkeypatch: pytest.MonkeyPatch
) -> None:
    operand = sw.from_numpy(np.ones((512, 8192), np.float32))

    def refused(team: threads._Team, parts: list[threads._Part]) -> None:
        raise AssertionError("parts were offered to helpers")

    monkeypatch.setattr(threads._Team, "offer", refused)
    before = counts(libraries)
    try:
        for library in libraries:
            library.set_num_threads(1)
        product = sw.matmul(operand, operand).numpy()
    finally:
        for library, count in zip(libraries, before, strict=True):
            library.set_num_threads(count or 1)
    assert (product == 8192).all()
