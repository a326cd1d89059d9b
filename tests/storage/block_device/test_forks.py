"""A device belongs to the process that opened it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Program = Callable[..., str]

OPENED = """
    import gc, os, sys, threading
    from array import array
    from strideweave import BlockDevice
    from strideweave.carriers import spans
    from strideweave.carriers.block_device import system
    from strideweave.carriers.block_device.geometry import Geometry
    from strideweave.carriers.block_device.opening import OpenNode

    path = os.environ["DEVICE"]

    def opened():
        node = OpenNode(path, os.open(path, os.O_RDWR), None, Geometry(2**20, 512, 512))
        return BlockDevice._adopt(node)

    def refused(*actions):
        for action in actions:
            try:
                action()
            except RuntimeError as error:
                assert "forked" in str(error) and str(parent) in str(error), error
            else:
                raise AssertionError("not refused")

    def in_child(action):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                action()
                code = 0
            finally:
                sys.stdout.flush()
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0

    parent = os.getpid()
    device = opened()
    carrier = device.allocate(4)
    carrier[1] = 1.5
"""


@pytest.fixture
def device_file(tmp_path: Path) -> str:
    path = tmp_path / "device"
    path.write_bytes(bytes(2**20))
    return str(path)


@pytest.mark.rule("B-20", "G-14")
def test_a_forked_child_is_refused_everything(run_program: Program, device_file: str) -> None:
    run_program(
        OPENED
        + """
    written = []
    def forbidden(*arguments):
        written.append(arguments)
        raise AssertionError("a transfer in the child")

    def child():
        for name in ("_pread_into", "_pwrite_from", "_fsync", "_fdatasync", "_close"):
            setattr(system, name, forbidden)
        refused(
            lambda: carrier[0],
            lambda: carrier.set_value(0, 1.0),
            lambda: carrier.new_like([1.0]),
            lambda: carrier.allocate_like(1),
            lambda: spans.read_span(carrier, 0, array("f", [0])),
            lambda: spans.write_span(carrier, 0, array("f", [0])),
            lambda: device.allocate(0),
            carrier.release,
            device.flush,
            device.close,
            device.__enter__().close,
        )
        assert carrier.size() == 4 and carrier.version == 1 and not carrier.is_released()
        assert not device.is_closed() and not device.is_faulted() and device.path == path
        globals().pop("carrier")
        globals().pop("device")
        gc.collect()
        assert not written

    in_child(child)
    assert carrier[1] == 1.5
    carrier[0] = 2.5
    del carrier
    device.close()
    """,
        DEVICE=device_file,
    )


@pytest.mark.rule("B-20", "G-14")
def test_a_fork_while_another_thread_is_inside(run_program: Program, device_file: str) -> None:
    run_program(
        OPENED
        + """
    inside, leave = threading.Event(), threading.Event()
    pwrite = system._pwrite_from

    def slow(*arguments):
        inside.set()
        leave.wait()
        return pwrite(*arguments)

    system._pwrite_from = slow
    writer = threading.Thread(target=lambda: carrier.set_value(0, 1.0))
    writer.start()
    inside.wait()
    in_child(lambda: refused(lambda: carrier[0], device.close, carrier.release))
    leave.set()
    writer.join()
    assert carrier[0] == 1.0
    """,
        DEVICE=device_file,
    )


@pytest.mark.rule("B-20")
def test_a_child_opens_the_node_again(run_program: Program, device_file: str) -> None:
    run_program(
        OPENED
        + """
    device.flush()

    def child():
        mine = opened()
        found = mine.allocate(4, empty=True)
        assert found[1] == 1.5
        found[2] = 4.5
        del found
        mine.close()

    in_child(child)
    assert carrier[2] == 4.5
    """,
        DEVICE=device_file,
    )


@pytest.mark.rule("B-20", "G-14")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing(method: str, device_file: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import multiprocessing, os, sys
from strideweave import BlockDevice
from strideweave.carriers.block_device.geometry import Geometry
from strideweave.carriers.block_device.opening import OpenNode

path = {device_file!r}

def child(answers):
    node = OpenNode(path, os.open(path, os.O_RDWR), None, Geometry(2**20, 512, 512))
    with BlockDevice._adopt(node) as device:
        answers.put(device.allocate(4, empty=True)[1])

if __name__ == "__main__":
    node = OpenNode(path, os.open(path, os.O_RDWR), None, Geometry(2**20, 512, 512))
    with BlockDevice._adopt(node) as device:
        carrier = device.allocate(4)
        carrier[1] = 1.5
        context = multiprocessing.get_context({method!r})
        answers = context.Queue()
        process = context.Process(target=child, args=(answers,))
        process.start()
        print(answers.get(timeout=30))
        process.join()
        assert process.exitcode == 0
        carrier[0] = 1.0
        del carrier
"""
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", program], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1.5\n", "")


@pytest.mark.rule("B-40", "G-14")
def test_the_interpreter_exits_with_an_open_device(run_program: Program, device_file: str) -> None:
    run_program(OPENED + "\n    carrier.myself = carrier\n", DEVICE=device_file)
    image = Path(device_file).read_bytes()
    assert image[4:8] != bytes(4)
