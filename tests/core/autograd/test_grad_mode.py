"""Switching recording off, per thread."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import is_grad_enabled, no_grad, set_grad_enabled


@pytest.mark.rule("A-9", "Y-21")
def test_new_thread_records_whatever_its_creator_set() -> None:
    seen = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
        seen.append(is_grad_enabled())
    assert seen == [True, False]


@pytest.mark.rule("A-9")
def test_no_grad_restores_what_it_found_level_by_level() -> None:
    @no_grad()
    def decorated() -> bool:
        return is_grad_enabled()

    with pytest.raises(RuntimeError, match="boom"), no_grad():
        with no_grad():
            assert decorated() is False
        assert is_grad_enabled() is False
        raise RuntimeError("boom")
    assert is_grad_enabled() is True
    set_grad_enabled(False)
    with no_grad():
        pass
    assert is_grad_enabled() is False
    set_grad_enabled(True)


@pytest.mark.rule("A-9")
def test_set_grad_enabled_takes_a_bool() -> None:
    wrongly_called: Any = set_grad_enabled
    with pytest.raises(TypeError, match="bool"):
        wrongly_called(1)


@pytest.mark.rule("A-10", "T-44")
def test_tensor_made_without_recording_is_a_leaf(
    f: Callable[..., Any], values: Callable[..., list[float]]
) -> None:
    x = f([1.0, 2.0])
    with no_grad():
        made = sw.mul(x, 3.0)
        view = x[0:1]
    (made * made).backward(f([1.0, 1.0]))
    assert values(made.grad) == [6.0, 12.0]
    (view * 2.0).backward()
    assert values(view.grad) == [2.0]
    assert x.grad is None
