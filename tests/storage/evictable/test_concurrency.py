"""Threads and processes that share a hierarchy."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

import strideweave as sw
from strideweave import Evictable, FileBacked, Generic, Layout, Tensor
from strideweave.carriers.move import MoveOperation, registered_move_operation

Program = Callable[..., str]


def together(*bodies: Callable[[], None]) -> None:
    """Run each body on a thread of its own, started at once; failures propagate."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(bodies))

    def run(body: Callable[[], None]) -> None:
        start.wait()
        try:
            body()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(body,)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if failures:
        raise failures[0]


@pytest.mark.rule("C-69", "G-4", "G-14")
def test_writers_of_different_slots_wait_for_each_other() -> None:
    hierarchy = Evictable(Generic([0.0] * 4), FileBacked())

    def writer(slot: int) -> Callable[[], None]:
        def write() -> None:
            for value in range(1, 201):
                hierarchy[slot] = float(value)

        return write

    together(*map(writer, range(4)))
    assert [hierarchy[slot] for slot in range(4)] == [200.0] * 4
    assert hierarchy.version == 800 == hierarchy.primary.version


@pytest.mark.rule("C-70", "C-72", "C-73", "G-14")
def test_no_write_is_lost_in_a_transition() -> None:
    hierarchy = Evictable(Generic([0.0] * 4), FileBacked())
    written = [0.0] * 4

    def writer(slot: int) -> Callable[[], None]:
        def write() -> None:
            for value in range(1, 301):
                with suppress(RuntimeError):  # evicted
                    hierarchy[slot] = float(value)
                    written[slot] = float(value)

        return write

    def transitions() -> None:
        for _ in range(60):
            hierarchy.evict()
            hierarchy.promote()

    together(*map(writer, range(4)), transitions)
    assert [hierarchy[slot] for slot in range(4)] == written


@pytest.mark.rule("C-70", "M-26", "G-14")
def test_moves_and_transitions_of_one_hierarchy_exclude_each_other() -> None:
    """Whoever comes second is refused or waits; the values arrive whole."""
    for _ in range(30):
        hierarchy = Evictable(Generic([1.0, 2.0, 3.0]), FileBacked())
        tensor = Tensor(hierarchy, 0, Layout.parse("3:1"))
        arrived: list[Tensor] = []

        def move(tensor: Tensor = tensor, arrived: list[Tensor] = arrived) -> None:
            with suppress(RuntimeError):
                arrived.append(sw.move(tensor, Generic([0.0] * 3)))

        def evict(hierarchy: Evictable = hierarchy) -> None:
            with suppress(RuntimeError):
                hierarchy.evict()

        together(move, evict)
        if arrived:
            assert arrived[0].tolist() == [1.0, 2.0, 3.0] and hierarchy.is_released()
        else:
            hierarchy.promote()
            assert tensor.tolist() == [1.0, 2.0, 3.0]
        assert not hierarchy.is_owned()


@pytest.mark.rule("C-25", "C-72", "M-26")
def test_an_owner_waits_for_the_end_of_a_transition() -> None:
    entered, proceed = threading.Event(), threading.Event()

    class Slow(MoveOperation):
        def _copy(self, tensor: Any, destination: Any, output: Any, count: int) -> None:
            entered.set()
            assert proceed.wait(30)
            self._copy_values(tensor, destination)

    hierarchy = Evictable(Generic([1.0]), FileBacked())
    claimed: list[bool] = []

    def claim() -> None:
        assert entered.wait(30)
        token = hierarchy._claim_ownership()
        claimed.append(hierarchy.is_evicted())
        hierarchy._relinquish_ownership(token)

    def read() -> None:
        assert entered.wait(30)
        assert hierarchy[0] == 1.0 and not claimed  # reads go on
        proceed.set()

    with registered_move_operation(Generic, FileBacked, Slow):
        together(hierarchy.evict, claim, read)
    assert claimed == [True]


@pytest.mark.rule("C-72", "C-58", "G-14")
def test_a_forked_child_has_the_values_and_leaves_the_parent_alone(run_program: Program) -> None:
    run_program(
        """
        import os
        from strideweave import Evictable, FileBacked, Generic

        promoted = Evictable(Generic([1.0, 2.0]), FileBacked())
        evicted = Evictable(Generic([3.0, 4.0]), FileBacked())
        evicted.evict()
        child = os.fork()
        if child == 0:
            promoted.evict()
            promoted.promote()
            evicted.promote()
            assert [promoted[0], promoted[1], evicted[0], evicted[1]] == [1.0, 2.0, 3.0, 4.0]
            evicted[0] = 9.0
            evicted.evict()
            promoted.release()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        assert status == 0
        evicted.promote()
        assert [promoted[0], promoted[1], evicted[0], evicted[1]] == [1.0, 2.0, 3.0, 4.0]
        """
    )


@pytest.mark.rule("G-14")
def test_a_fork_in_the_middle_of_a_transition_ends_in_an_error_in_the_child(
    run_program: Program,
) -> None:
    run_program(
        """
        import os, threading
        from strideweave import Evictable, FileBacked, Generic
        from strideweave.carriers.move import MoveOperation, register_move_operation

        entered, proceed = threading.Event(), threading.Event()

        class Slow(MoveOperation):
            def _copy(self, tensor, destination, output, count):
                entered.set()
                assert proceed.wait(30)
                self._copy_values(tensor, destination)

        register_move_operation(Generic, FileBacked, Slow)
        hierarchy = Evictable(Generic([1.0]), FileBacked())
        thread = threading.Thread(target=hierarchy.evict)
        thread.start()
        assert entered.wait(30)
        child = os.fork()
        if child == 0:
            assert hierarchy[0] == 1.0
            for change in (hierarchy.evict, lambda: hierarchy.set_value(0, 2.0)):
                try:
                    change()
                except RuntimeError as error:
                    assert "another thread is inside owner access" in str(error), error
                else:
                    raise AssertionError("no error")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        proceed.set()
        thread.join()
        assert status == 0 and hierarchy.is_evicted()
        hierarchy.promote()
        assert hierarchy[0] == 1.0
        """
    )


@pytest.mark.rule("C-79", "G-14")
def test_hierarchies_that_are_left_at_exit_make_no_noise(run_program: Program) -> None:
    run_program(
        """
        from strideweave import Evictable, FileBacked, Generic

        promoted = Evictable(Generic([1.0]), FileBacked())
        evicted = Evictable(Generic([2.0]), FileBacked())
        evicted.evict()
        promoted.itself = promoted
        nested = Evictable(Evictable(Generic([1.0]), FileBacked()), FileBacked())
        """
    )
