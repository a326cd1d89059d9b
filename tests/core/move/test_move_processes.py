"""Threads, forked children and the end of the interpreter, each in a process of its own."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from strideweave.carriers.move import pool

PRELUDE = """
import atexit, os, sys, threading, time
LATE = []
atexit.register(lambda: [act() for act in LATE])  # runs after everything registered later
import strideweave as sw
from strideweave import DType, Layout, Shape, Stride, Tensor
from strideweave.carriers.extension import PreparedTransfer, TransferProvider
from strideweave.testing import ArrayCarrier

FLOAT32 = DType.Float32

def held(*values):
    return Tensor(
        ArrayCarrier(0, dtype=FLOAT32).new_like(values), 0, Layout(Shape(len(values)), Stride(1))
    )

def empty():
    return ArrayCarrier(0, dtype=FLOAT32)

class Slab(sw.Carrier):
    pass

class Later:
    def __init__(self, seconds):
        self.ended = threading.Event()
        if seconds is not None:
            timer = threading.Timer(seconds, self.ended.set)
            timer.daemon = True
            timer.start()
    @property
    def done(self):
        return self.ended.is_set()
    def wait(self):
        self.ended.wait()

SECONDS = []
def prepare(request):
    return PreparedTransfer(lambda: Later(SECONDS[-1]))

def release(carrier):
    print("released", flush=True)

storage = sw.StorageProvider(
    supports_dtype=lambda carrier, dtype: True,
    physical_size=lambda carrier: len(carrier.cells),
    allocate=lambda carrier, slots: setattr(carrier, "cells", [1.0] * slots),
    release=release,
    read=lambda carrier, index: carrier.cells[index],
    write=lambda carrier, index, value: None,
)
route = sw.TransferRoute(Slab, Slab, "slab", TransferProvider(prepare))
sw.register_carrier_definition(Slab, sw.CarrierDefinition(storage, transfers=[route]))

def pending(seconds):
    SECONDS.append(seconds)
    tensor = Tensor(Slab(2, dtype=FLOAT32), 0, Layout(Shape(2), Stride(1)))
    return tensor, sw.move_async(tensor, Slab(2, dtype=FLOAT32))

def child_exit_code(act):
    process = os.fork()
    if process == 0:
        try:
            act()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(process, 9)
    os.waitpid(process, 0)
    return "hangs"
"""


def run(program: str) -> str:
    """Run a program after the prelude; give what it printed."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PRELUDE + program],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")


@pytest.mark.rule("M-25", "G-15")
def test_no_thread_starts_before_it_is_needed() -> None:
    printed = run(
        """
print(threading.active_count())
assert sw.move(held(1.0, 2.0), empty()).tolist() == [1.0, 2.0]
assert sw.copy(held(1.0, 2.0), empty()).tolist() == [1.0, 2.0]
print(threading.active_count())
handles = [sw.move_async(held(1.0), empty()) for _ in range(200)]
assert all(handle.wait(20).tolist() == [1.0] for handle in handles)
names = [thread.name for thread in threading.enumerate() if thread.daemon]
print(set(names), len(names) <= 4)
"""
    )
    assert printed.splitlines() == ["1", "1", "{'strideweave-worker'} True"]


@forking
@pytest.mark.rule("S-7", "M-25", "G-14")
def test_a_forked_child_cannot_wait_for_its_parents_move_and_starts_afresh() -> None:
    printed = run(
        """
tensor, handle = pending(None)
done = sw.move_async(held(7.0), empty())
assert done.wait(20).tolist() == [7.0]

def act():
    assert not handle.done
    for timeout in (None, 0.0):
        try:
            handle.wait(timeout)
        except RuntimeError as error:
            assert "forked" in str(error), error
        else:
            raise AssertionError("waited")
    assert tensor.tolist() == [1.0, 1.0] and tensor.carrier.is_owned()
    assert done.wait().tolist() == [7.0]
    assert sw.move(held(1.0), empty()).tolist() == [1.0]
    assert sw.move_async(held(2.0), empty()).wait(20).tolist() == [2.0]
    _, mine = pending(0.05)
    assert mine.wait(20).tolist() == [1.0, 1.0]

print(child_exit_code(act))
SECONDS.clear()
print(handle.done, tensor.carrier.is_owned())
os._exit(0)
"""
    )
    assert printed.splitlines()[-2:] == ["0", "False True"]


@forking
@pytest.mark.rule("G-14", "M-25")
def test_forking_at_any_moment_leaves_a_child_that_works() -> None:
    printed = run(
        """
sys.setswitchinterval(1e-6)
ending = threading.Event()

def busy():
    while not ending.is_set():
        sw.move_async(held(1.0), empty())
        sw.move(held(1.0), empty())

threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads:
    thread.start()

def act():
    assert sw.move(held(1.0), empty()).tolist() == [1.0]
    assert sw.move_async(held(2.0), empty()).wait(20).tolist() == [2.0]

print({child_exit_code(act) for _ in range(60)})
ending.set()
for thread in threads:
    thread.join()
"""
    )
    assert printed == "{0}\n"


@forking
@pytest.mark.rule("G-14", "M-25")
def test_a_transfer_that_forks_ends_in_both_processes() -> None:
    printed = run(
        """
def fork(request):
    def submit():
        codes.append(os.fork())
    return PreparedTransfer(submit)

codes = []
Forking = type("Forking", (sw.Carrier,), {})
route = sw.TransferRoute(Forking, Slab, "fork", TransferProvider(fork))
sw.register_carrier_definition(Forking, sw.CarrierDefinition(storage, transfers=[route]))
tensor = Tensor(Forking(1, dtype=FLOAT32), 0, Layout(Shape(1), Stride(1)))
with sw.no_grad():
    handle = sw.move_async(tensor, Slab(1, dtype=FLOAT32))
assert handle.wait().tolist() == [1.0]
if codes[0] == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(codes[0], 0)[1]))
"""
    )
    assert printed.splitlines()[-1] == "3"


@pytest.mark.rule("M-25", "G-14")
def test_a_running_request_finishes_before_the_interpreter_exits() -> None:
    assert run("pending(0.3)\nprint('ending')\n") == "ending\nreleased\n"


@pytest.mark.rule("M-25", "G-14")
def test_a_stuck_request_holds_the_exit_up_for_a_bounded_time() -> None:
    assert pool.EXIT_SECONDS == 5.0
    started = time.monotonic()
    printed = run(
        "from strideweave.carriers.move import pool\n"
        "pool.EXIT_SECONDS = 0.5\n"
        "pending(None), pending(None)\n"
        "print('ending')\n"
    )
    assert printed == "ending\n" and time.monotonic() - started >= 0.5


@pytest.mark.rule("M-25")
def test_at_exit_new_requests_are_refused() -> None:
    printed = run(
        """
def late(act, *arguments):
    tensor, target = held(1.0), empty()
    try:
        act(tensor, target)
    except RuntimeError as error:
        print("exiting" in str(error), tensor.carrier.is_owned(), target.is_owned())

for act in (sw.move, sw.move_async, sw.copy, sw.copy_async):
    LATE.append(lambda act=act: late(act))
early = lambda: print(sw.move(held(1.0), empty()).tolist())
atexit.register(early)  # registered after the import, so it runs before the end
"""
    )
    assert printed.splitlines() == ["[1.0]"] + ["True False False"] * 4


@pytest.mark.rule("M-25")
def test_without_a_thread_to_start_the_caller_does_the_work() -> None:
    printed = run(
        """
class NoThreads(threading.Thread):
    def start(self):
        raise RuntimeError("can't start new thread")

SECONDS.append(0.05)
completion = Later(0.05)
threading.Thread = NoThreads
assert sw.move_async(held(1.0), empty()).wait(0).tolist() == [1.0]
globals()["Later"] = lambda seconds: completion
tensor = Tensor(Slab(2, dtype=FLOAT32), 0, Layout(Shape(2), Stride(1)))
handle = sw.move_async(tensor, Slab(2, dtype=FLOAT32))
print(handle.done)
"""
    )
    assert printed.splitlines() == ["released", "True"]


@pytest.mark.rule("G-14")
def test_processes_of_every_start_method_move(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            """
            import multiprocessing
            import strideweave as sw
            from strideweave import DType, Layout, Shape, Stride, Tensor
            from strideweave.testing import ArrayCarrier

            def moved(value):
                source = ArrayCarrier(0, dtype=DType.Float32).new_like([value])
                tensor = Tensor(source, 0, Layout(Shape(1), Stride(1)))
                return sw.move_async(tensor, ArrayCarrier(0, dtype=DType.Float32)).wait(20).item()

            if __name__ == "__main__":
                moved(1.0)
                for method in multiprocessing.get_all_start_methods():
                    with multiprocessing.get_context(method).Pool(1) as workers:
                        print(workers.map_async(moved, [2.0, 3.0]).get(30))
            """
        )
    )
    ended = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(program)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0 and set(ended.stdout.splitlines()) == {"[2.0, 3.0]"}, ended.stderr
