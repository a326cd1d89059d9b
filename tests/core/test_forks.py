"""Forks at a moment when other threads hold the locks of process-wide tables."""

import os
import subprocess
import sys

import pytest

PRELUDE = """
import os, signal, threading, time
import strideweave as sw
from strideweave._fork import hold_across_fork
from strideweave.operation import operation_definition

def exit_code_of_child(act):
    signal.alarm(30)
    process = os.fork()
    if process == 0:
        signal.alarm(10)
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

def hold(lock, then=lambda: None):
    held = threading.Event()
    def run():
        with lock:
            held.set()
            time.sleep(0.2)
            then()
    thread = threading.Thread(target=run)
    thread.start()
    held.wait()
    return thread
"""

TABLES = {
    "dtypes": """
from strideweave.dtype.registry import registry
lock = registry._lock
def use():
    sw.SimpleDType("Half", bits=16, supertype=sw.DType.Floating)
    assert sw.DType.registered()[-1].name == "Half"
""",
    "definitions": """
from strideweave.operation.definition import _registry
lock = _registry._lock
exp = operation_definition("exp")
def use():
    sw.define_operation("acme.twin", exp.schema, exp.resolve, vjp=sw.NON_DIFFERENTIABLE)
    assert operation_definition("acme.twin").name == "acme.twin"
""",
    "commands": """
from strideweave.commands.rearrange import _compiled
lock = _compiled._lock
def use():
    assert _compiled("a b -> b a") is _compiled("a b -> b a")
""",
    "classes": """
from strideweave.carriers.class_record import registry_lock as lock
from strideweave.testing import ArrayCarrier
def use():
    class Listed(sw.Carrier):
        pass
    Listed()
""",
    "ownership": """
from strideweave.carriers.ownership import lock
from strideweave.testing import ArrayCarrier
carrier = ArrayCarrier(1, dtype=sw.DType.Float32)
def use():
    carrier._relinquish_ownership(carrier._claim_ownership())
    carrier.release()
""",
}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork")


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


@pytest.mark.rule("G-14", "G-12")
@pytest.mark.parametrize("table", TABLES)
def test_a_child_uses_what_another_thread_held(table: str) -> None:
    program = TABLES[table] + "hold(lock); print(exit_code_of_child(use)); use()"
    assert run(program) == "0\n"


@pytest.mark.rule("G-14")
def test_a_child_knows_what_was_imported_before_it_was_forked() -> None:
    printed = run(
        """
import wave
from strideweave._fork import was_imported_before_fork
def use():
    import tabnanny
    assert was_imported_before_fork("wave") and not was_imported_before_fork("tabnanny")
print(exit_code_of_child(use), was_imported_before_fork("wave"))
"""
    )
    assert printed == "0 False\n"


@pytest.mark.rule("G-14")
@pytest.mark.parametrize("order", ["first, second", "second, first"])
def test_a_fork_waits_for_no_lock_while_it_holds_another(order: str) -> None:
    # A finalizer may run under a lock, and want another one.
    printed = run(
        f"""
first, second = threading.RLock(), threading.RLock()
for lock in ({order}):
    hold_across_fork(lock)
def want_second():
    with second:
        pass
thread = hold(first, then=want_second)
def use():
    with first, second:
        pass
print(exit_code_of_child(use))
thread.join()
use()
"""
    )
    assert printed == "0\n"
