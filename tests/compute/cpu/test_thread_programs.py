"""Programs whose kernels share work among threads: how they end, and what interrupts leave."""

import os
import signal
import subprocess
import sys

import pytest

needs_timers = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no timers that interrupt"
)


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

IDLE = """
import os
os.sched_getaffinity = {0: {0, 1}}.get
import threading
from strideweave.carriers.cpu.kernels.threads import share

meeting = threading.Barrier(2)
share(lambda start, stop: meeting.wait(), 2, 2)
"""

COMPUTING = (
    IDLE
    + """
import time

begun = threading.Event()

def compute(start, stop):
    begun.set()
    time.sleep(0.1)

def keep_computing():
    while True:
        share(compute, 2, 2)

threading.Thread(target=keep_computing, daemon=True).start()
begun.wait()
"""
)

FIRST_AT_EXIT = """
import atexit
import os
os.sched_getaffinity = {0: {0, 1}}.get
from strideweave.carriers.cpu.kernels.threads import share

def late():
    parts = []
    share(lambda start, stop: parts.append((start, stop)), 4, 2)
    print(sorted(parts))

atexit.register(late)
"""

SMALL = """
import os
os.sched_getaffinity = {0: {0, 1}}.get
import threading
import numpy as np
import strideweave as sw

ones = sw.from_numpy(np.ones((64, 64), np.float32))
print(sw.matmul(ones, ones)[0, 0])
print([thread.name for thread in threading.enumerate()])
"""


INTERRUPTED = """
import os
os.sched_getaffinity = {0: {0, 1}}.get
import random
import signal
import time
import numpy as np
import strideweave as sw
from strideweave.carriers.cpu.kernels import blas, threads, workspace
from threadpoolctl import threadpool_info

random.seed(7)
values = np.random.default_rng(7).standard_normal((256, 16384), np.float32)
left, right = sw.from_numpy(values), sw.from_numpy(values[:32])
matrices = sw.from_numpy(values.reshape(64, 256, 256)[:, :128])
OPERATIONS = [
    lambda: sw.matmul(left, right),
    lambda: sw.einsum(matrices, matrices, "b i k, b j k -> b i j"),
]
expected = [operation().numpy() for operation in OPERATIONS]
before = [library["num_threads"] for library in threadpool_info()]
signal.signal(signal.SIGALRM, signal.default_int_handler)
interruptions = 0
end = time.monotonic() + 4
while time.monotonic() < end:
    for operation, values in zip(OPERATIONS, expected):
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + random.random() * 2e-3)
                found = operation().numpy()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            interruptions += 1
        else:
            assert np.array_equal(found, values)
        assert threads._team.busy == 0 and not blas._hold.holders
        assert before == [library["num_threads"] for library in threadpool_info()]
for operation, values in zip(OPERATIONS, expected):
    assert np.array_equal(operation().numpy(), values)
assert interruptions > 20, interruptions
print("calm")
"""


@pytest.mark.rule("G-14")
@pytest.mark.parametrize(
    ("program", "output"),
    [
        (WHILE_EXITING, "144.0\n"),
        (IDLE, ""),
        (COMPUTING, ""),
        (FIRST_AT_EXIT, "[(0, 2), (2, 4)]\n"),
        pytest.param(INTERRUPTED, "calm\n", marks=needs_timers),
        (SMALL, "64.0\n['MainThread']\n"),
    ],
    ids=["finalizer", "idle helpers", "computing daemon", "first at exit", "interrupts", "small"],
)
def test_programs_end_whatever_their_helpers_do(program: str, output: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")
    }
    child = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (child.returncode, child.stderr) == (0, "")
    assert child.stdout == output
