"""Threads that share one kernel."""

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import strideweave as sw
from strideweave.carriers.cpu.kernels.threads import share_parts

CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((8, 16, 64, 64), (16, 16, 3, 3), {"strides": (1, 1), "padding": ((1, 1), (1, 1))}),
    (
        (24, 12, 65, 61),
        (20, 6, 3, 5),
        {"strides": (2, 3), "padding": ((4, 0), (0, 7)), "feature_groups": 2},
    ),
    (
        (5, 16, 40, 33),
        (24, 16, 3, 3),
        {
            "strides": (1, 1),
            "padding": ((0, 3), (2, 2)),
            "lhs_dilation": (1, 2),
            "kernel_dilation": (3, 2),
        },
    ),
]


@pytest.fixture(params=CASES, ids=["plain", "strides and groups", "dilations"])
def convolution(request: pytest.FixtureRequest) -> Any:
    """A convolution with enough work for seven threads, as a call without arguments."""
    lhs_extents, kernel_extents, parameters = request.param
    random = np.random.default_rng(3)
    lhs = sw.from_numpy(random.standard_normal(lhs_extents, np.float32))
    kernel = sw.from_numpy(random.standard_normal(kernel_extents, np.float32))
    return lambda: sw.conv_general(lhs, kernel, **parameters).numpy()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads that were started; nothing in the environment limits them."""
    for library in ("OPENBLAS", "MKL", "OMP"):
        monkeypatch.delenv(f"{library}_NUM_THREADS", raising=False)
    threads: list[threading.Thread] = []
    start = threading.Thread.start

    def recorded(thread: threading.Thread) -> None:
        threads.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", recorded)
    return threads


def with_processors(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    available = set(range(count))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: available, raising=False)


@pytest.mark.rule("F-39", "G-13", "G-14")
def test_values_do_not_depend_on_the_number_of_threads(
    convolution: Any, started: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 1)
    expected = convolution()
    assert started == []
    for count in (2, 3, 7):
        with_processors(monkeypatch, count)
        found = convolution()
        assert len(started) == count - 1
        assert not any(thread.is_alive() for thread in started)
        assert np.array_equal(found.view(np.int32), expected.view(np.int32))
        started.clear()


@pytest.mark.rule("G-14")
def test_environment_limits_the_threads(
    convolution: Any, started: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 7)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    convolution()
    assert len(started) == 1
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    convolution()
    assert len(started) == 1


@pytest.mark.rule("G-14")
def test_convolution_works_where_no_thread_starts(
    convolution: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = convolution()

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with_processors(monkeypatch, 3)
    assert np.array_equal(convolution(), expected)


@pytest.mark.rule("F-9")
def test_threads_are_as_silent_as_their_caller(
    started: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 2)
    images = np.full((8, 16, 64, 64), 3e38, np.float32)
    images[:, :, ::2] = -np.inf
    weights = np.full((16, 16, 3, 3), 2.0, np.float32)
    found = sw.conv_general(sw.from_numpy(images), sw.from_numpy(weights), (1, 1), ((0, 0), (0, 0)))
    assert len(started) == 1
    assert not np.isfinite(found.numpy()).any()


@pytest.mark.rule("F-38", "G-13", "G-14")
@pytest.mark.parametrize(("batch", "side"), [(250, 64), (36, 128)], ids=["products", "copies"])
def test_batched_products_do_not_depend_on_the_number_of_threads(
    batch: int, side: int, started: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(3)
    lhs, rhs = (
        sw.from_numpy(random.standard_normal((batch, side, side), np.float32)) for _ in range(2)
    )
    found = []
    for count in (1, 2, 3):
        with_processors(monkeypatch, count)
        with threadpool_limits(3, user_api="blas"):
            found.append(sw.einsum(lhs, rhs, "b i k, b j k -> b i j").numpy().view(np.int32))
    assert started != []
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2])


@pytest.mark.rule("F-10", "F-38", "G-3")
@pytest.mark.parametrize("failing", [(0,), (249,), (30, 200)])
def test_a_part_that_fails_fails_the_call(
    failing: tuple[int, ...], started: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 3)
    factors = np.ones((250, 64, 64), np.int32)
    for position in failing:
        factors[position] = 2**30 + position
    tensor = sw.from_numpy(factors)
    # The first part in the order of the batch is reported, whichever failed first.
    expected = 64 * (2**30 + failing[0]) ** 2
    with pytest.raises(OverflowError, match=f"the exact result {expected} is out of int32 range"):
        sw.einsum(tensor, tensor, "b i k, b j k -> b i j")
    assert len(started) == 2
    assert not any(thread.is_alive() for thread in started)


@pytest.mark.rule("G-14")
def test_interrupted_call_ends_after_its_threads(
    convolution: Any, started: list[threading.Thread], monkeypatch: pytest.MonkeyPatch
) -> None:
    with_processors(monkeypatch, 3)
    join, run = threading.Thread.join, threading.Thread.run
    interruptions = [KeyboardInterrupt(), KeyboardInterrupt()]

    def interrupted(thread: threading.Thread) -> None:
        if interruptions:
            raise interruptions.pop()
        join(thread)

    def delayed(thread: threading.Thread) -> None:
        time.sleep(0.1)
        run(thread)

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    monkeypatch.setattr(threading.Thread, "run", delayed)
    with pytest.raises(KeyboardInterrupt):
        convolution()
    assert interruptions == [] and len(started) == 2
    assert not any(thread.is_alive() for thread in started)


WHILE_EXITING = """
import contextlib
import gc
import os
import numpy as np
import strideweave as sw

os.sched_getaffinity = {0: {0, 1}}.get
images, weights = (
    sw.from_numpy(np.ones(extents, np.float32)) for extents in ((8, 16, 64, 64), (16, 16, 3, 3))
)


class Last:
    def __del__(self):
        print(sw.conv_general(images, weights, (1, 1), ((0, 0), (0, 0)))[0, 0, 0, 0], flush=True)


last = Last()
"""


@pytest.mark.rule("G-14")
def test_finalizer_that_runs_at_exit_needs_no_thread() -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")
    }
    child = subprocess.run(
        [sys.executable, "-c", WHILE_EXITING],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert child.stdout == "144.0\n"


@pytest.mark.rule("G-3", "G-14")
@pytest.mark.parametrize("processors", [1, 3])
def test_failed_call_keeps_nothing_alive(processors: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with_processors(monkeypatch, processors)
    tensor = sw.from_numpy(np.full((250, 64, 64), 2**30, np.int32))
    reference = weakref.ref(tensor)
    gc.disable()
    try:
        with contextlib.suppress(OverflowError):
            sw.einsum(tensor, tensor, "b i k, b j k -> b i j")
        del tensor
        assert reference() is None
    finally:
        gc.enable()


@pytest.mark.rule("F-38", "G-13", "G-14")
@pytest.mark.parametrize(
    ("inner", "columns", "rows"),
    [(16384, 256, 8), (8192, 200, 300), (520, 1700, 900), (520, 900, 1700), (2050, 3, 2100)],
    ids=["terms", "terms, square", "columns", "rows", "narrow"],
)
def test_large_products_are_close_to_exact_ones_whatever_the_threads(
    inner: int,
    columns: int,
    rows: int,
    started: list[threading.Thread],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    left, right = (random.standard_normal((side, inner), np.float32) for side in (rows, columns))
    lhs, rhs = sw.from_numpy(left), sw.from_numpy(right)
    found = []
    for count in (1, 2, 3):
        with_processors(monkeypatch, count)
        with threadpool_limits(3, user_api="blas"):
            found.append(sw.matmul(lhs, rhs).numpy())
    assert started != []
    assert_close(found, left, right.T)


@pytest.mark.rule("F-38", "G-13", "G-14")
@pytest.mark.parametrize(
    ("batch", "inner", "columns", "rows"),
    [(70, 90, 130, 100), (3, 300, 1000, 40), (40, 1000, 10, 300), (1, 400, 400, 400)],
    ids=["matrices", "wide", "narrow", "one"],
)
def test_large_batched_products_are_close_to_exact_ones(
    batch: int,
    inner: int,
    columns: int,
    rows: int,
    started: list[threading.Thread],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(3)
    left = random.standard_normal((batch, rows, inner), np.float32)
    right = random.standard_normal((batch, columns, inner), np.float32)
    found = []
    for count in (1, 2, 5):
        with_processors(monkeypatch, count)
        with threadpool_limits(5, user_api="blas"):
            product = sw.einsum(sw.from_numpy(left), sw.from_numpy(right), "b i k, b j k -> b i j")
        found.append(product.numpy())
    assert_close(found, left, right.transpose(0, 2, 1))


def assert_close(found: list[Any], left: Any, right: Any) -> None:
    """Compare equal results with the product in binary64, of whose terms each may be rounded."""
    assert all(np.array_equal(found[0], other) for other in found[1:])
    expected = left.astype(np.float64) @ right.astype(np.float64)
    bound = 2.0**-23 * left.shape[-1] * (np.abs(left) @ np.abs(right))
    assert (np.abs(found[0] - expected) <= bound).all()


def test_parts_are_shared_once_each_and_a_failure_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_processors(monkeypatch, 4)
    for library in ("OPENBLAS", "MKL", "OMP"):
        monkeypatch.delenv(f"{library}_NUM_THREADS", raising=False)
    taken: list[int] = []
    share_parts(taken.append, 100, 4)
    assert sorted(taken) == list(range(100))

    def fail(part: int) -> None:
        if part == 7:
            raise ValueError("seven")

    with pytest.raises(ValueError, match="seven"):
        share_parts(fail, 100, 4)
