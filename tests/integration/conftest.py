"""Other libraries as peers, and threads that are kept busy."""

import faulthandler
import gc
import os
import random
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest


@pytest.fixture(scope="session")
def torch() -> Any:
    """PyTorch; where ``STRIDEWEAVE_REQUIRE_TORCH`` is set its absence is a failure."""
    try:
        return import_module("torch")
    except ModuleNotFoundError:
        if os.environ.get("STRIDEWEAVE_REQUIRE_TORCH"):
            raise
        pytest.skip("PyTorch is not installed; nox installs a CPU build that the machine offers")


@pytest.fixture
def keep_busy() -> Callable[..., None]:
    """Call something on many threads, each with a generator of its own, for some seconds.

    The first exception ends it and is raised. Should a thread hang, all stacks are dumped.
    """

    def run(action: Callable[[random.Random], object], threads: int, seconds: float) -> None:
        failures: list[BaseException] = []
        end = time.monotonic() + seconds

        def work(seed: int) -> None:
            rng = random.Random(seed)
            while time.monotonic() < end and not failures:
                try:
                    action(rng)
                except BaseException as error:
                    failures.append(error)

        faulthandler.dump_traceback_later(seconds + 60, exit=True)
        try:
            workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
            for worker in workers:
                worker.start()
            while any(worker.is_alive() for worker in workers):
                gc.collect()
                time.sleep(0.05)
        finally:
            faulthandler.cancel_dump_traceback_later()
        if failures:
            raise failures[0]

    return run
