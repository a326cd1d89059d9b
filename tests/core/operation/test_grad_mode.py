"""Grad mode: per-thread state, context manager and decorator."""

import threading

import pytest

import strideweave as sw

pytestmark = pytest.mark.rule("A-9")


def test_no_grad_restores_what_it_found_also_when_the_block_raises() -> None:
    with pytest.raises(KeyError), sw.no_grad():
        assert not sw.is_grad_enabled()
        raise KeyError
    assert sw.is_grad_enabled()


def test_nesting_restores_level_by_level() -> None:
    with sw.no_grad():
        sw.set_grad_enabled(True)
        with sw.no_grad():
            assert not sw.is_grad_enabled()
        assert sw.is_grad_enabled()
    assert sw.is_grad_enabled()


def test_one_object_can_be_entered_again() -> None:
    off = sw.no_grad()
    with off, off:
        assert not sw.is_grad_enabled()
    assert sw.is_grad_enabled()


def test_as_decorator_it_covers_recursion() -> None:
    seen: list[bool] = []

    @sw.no_grad()
    def descend(levels: int) -> None:
        seen.append(sw.is_grad_enabled())
        if levels:
            descend(levels - 1)
            seen.append(sw.is_grad_enabled())

    descend(2)
    assert seen == [False] * 5
    assert sw.is_grad_enabled()


@pytest.mark.rule("Y-21")
def test_a_new_thread_starts_enabled() -> None:
    seen: list[bool] = []
    with sw.no_grad():
        thread = threading.Thread(target=lambda: seen.append(sw.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not sw.is_grad_enabled()
    assert seen == [True]


@pytest.mark.parametrize("value", [1, 0, None, "True"])
def test_set_grad_enabled_refuses_anything_but_a_bool(value: object) -> None:
    with pytest.raises(TypeError, match="enabled must be a bool"):
        sw.set_grad_enabled(value)  # type: ignore[arg-type]  # the refusal is the point
    assert sw.is_grad_enabled()
