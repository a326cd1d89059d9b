"""How long exported memory lives: consumers, releases, threads, exceptions and the end."""

import ctypes
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, DType, Layout, Tensor

Managed = Callable[[Any], Any]
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def cpu(*values: float) -> Tensor:
    carrier = CPU(0, dtype=DType.Float32).new_like(values)
    return Tensor(carrier, 0, Layout.parse(f"{len(values)}:1"))


def take_over(capsule: Any, managed: Managed) -> Any:
    """Rename a capsule, as a consumer does, and give its structure."""
    structure = managed(capsule)
    rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_SetName", ctypes.pythonapi)
    )
    assert rename(capsule, _USED) == 0
    return structure


_USED = b"used_dltensor_versioned"


@pytest.mark.rule("M-46", "G-16", "60/E-22")
def test_an_array_outlives_the_tensor() -> None:
    array = np.from_dlpack(cpu(7.0, 8.0))
    gc.collect()
    assert array.tolist() == [7.0, 8.0]


@pytest.mark.rule("M-46")
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_that_nobody_takes_lets_everything_go(version: Any) -> None:
    tensor = cpu(1.0, 2.0)
    carrier, whole = weakref.ref(tensor.carrier), weakref.ref(tensor)
    capsule = tensor.__dlpack__(max_version=version)
    del tensor
    assert whole() is not None and carrier() is not None
    del capsule
    assert whole() is None and carrier() is None


@pytest.mark.rule("M-46")
def test_the_consumers_deleter_lets_everything_go_once(managed: Managed) -> None:
    tensor = cpu(1.0, 2.0)
    whole = weakref.ref(tensor)
    capsule = tensor.__dlpack__(max_version=(1, 0))
    structure = take_over(capsule, managed)
    del tensor, capsule  # a used capsule calls nothing
    assert whole() is not None
    assert structure.header.shape[0] == 2 and structure.header.strides[0] == 1
    _DELETER(structure.deleter)(ctypes.addressof(structure))
    assert whole() is None


@pytest.mark.rule("M-46", "C-55", "G-16")
def test_release_succeeds_and_leaves_the_memory_to_the_consumer() -> None:
    tensor = cpu(1.0, 2.0)
    array, capsule = np.from_dlpack(tensor), tensor.__dlpack__(max_version=(1, 0))
    tensor.carrier.release()
    assert tensor.carrier.is_released() and tensor.carrier.size() == 0
    del tensor
    gc.collect()
    garbage = [np.full(2, 9.0, np.float32) for _ in range(100)]
    assert array.tolist() == [1.0, 2.0] and len(garbage) == 100
    del capsule
    array[0] = 5.0
    assert array.tolist() == [5.0, 2.0]


@pytest.mark.rule("M-46")
def test_external_memory_belongs_to_its_owner() -> None:
    owner = np.arange(3, dtype=np.float32)
    tensor = Tensor(CPU(3, owner.ctypes.data), 0, Layout.parse("3:1"))
    array = np.from_dlpack(tensor)
    tensor.carrier.release()
    array[0] = 4.0
    assert owner[0] == 4.0


@pytest.mark.rule("M-46", "G-14", "G-16")
def test_consumers_on_many_threads() -> None:
    tensor = cpu(*range(8))
    start = threading.Barrier(8)
    sums: list[float] = []

    def consume(tensor: Tensor) -> None:
        start.wait()
        for round_number in range(200):
            version = (1, 0) if round_number % 2 else None
            capsule = tensor.__dlpack__(max_version=version)
            array = np.from_dlpack(tensor)
            back = sw.from_dlpack(array)
            del capsule, array
            sums.append(sum(back[i] for i in range(8)))

    threads = [threading.Thread(target=consume, args=(tensor,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sums == [28.0] * 1600
    whole = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert whole() is None


@pytest.mark.rule("M-46", "G-16")
def test_the_last_reference_may_go_on_another_thread() -> None:
    tensor = cpu(1.0)
    whole = weakref.ref(tensor)
    held = [np.from_dlpack(tensor), tensor.__dlpack__(max_version=(1, 0))]
    del tensor
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join(60)
    assert whole() is None


@pytest.mark.rule("M-46", "G-16")
@pytest.mark.skipif(sys.platform == "win32", reason="starts a thread of the C library")
def test_the_deleter_runs_on_a_thread_that_python_does_not_know(managed: Managed) -> None:
    tensor = cpu(1.0)
    whole = weakref.ref(tensor)
    structure = take_over(tensor.__dlpack__(max_version=(1, 0)), managed)
    del tensor
    library = ctypes.CDLL(None)  # its calls give the interpreter lock up
    thread = ctypes.c_void_p()
    start = ctypes.c_void_p(structure.deleter)
    address = ctypes.c_void_p(ctypes.addressof(structure))
    assert library.pthread_create(ctypes.byref(thread), None, start, address) == 0
    assert library.pthread_join(thread, None) == 0
    assert whole() is None


@pytest.mark.rule("M-46", "M-52", "G-16")
def test_an_exception_on_its_way_survives_what_it_drops(
    run_program: Callable[[str], str],
) -> None:
    # Whatever runs as a capsule or an array goes away must not lose the exception: the interpreter
    # would crash, so this needs a process of its own.
    output = run_program("""
        import gc
        import numpy as np
        import strideweave as sw
        from strideweave import CPU, Layout, Tensor

        tensor = Tensor(CPU(3), 0, Layout.parse("3:1"))
        makers = [
            tensor.__dlpack__,
            lambda: tensor.__dlpack__(max_version=(1, 0)),
            lambda: np.from_dlpack(tensor),
            lambda: sw.from_dlpack(tensor),
            lambda: sw.from_dlpack(np.zeros(3, np.float32)),
        ]

        def never(first, second):
            raise AssertionError

        caught = 0
        for _ in range(100):
            for make in makers:
                try:
                    never(make(), 1 / 0)
                except ZeroDivisionError:
                    caught += 1
        gc.collect()
        print(caught)
    """)
    assert output == "500\n"


@pytest.mark.rule("M-46", "G-14", "G-16")
@pytest.mark.parametrize("kept", ["array", "capsule", "tensor"])
def test_what_is_left_at_the_end_of_a_program(run_program: Callable[[str], str], kept: str) -> None:
    output = run_program(f"""
        import sys
        import numpy as np
        import strideweave as sw
        from strideweave import CPU, Layout, Tensor

        tensor = Tensor(CPU(3), 0, Layout.parse("3:1"))
        kept = {{
            "array": np.from_dlpack(tensor),
            "capsule": [tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0))],
            "tensor": sw.from_dlpack(np.zeros(3, np.float32)),
        }}[{kept!r}]
        del tensor
        sys.kept = kept  # lives longer than every module
        loop = [kept]
        loop.append(loop)  # and so does what the collector finds last
        print("end")
    """)
    assert output == "end\n"


@pytest.mark.rule("M-46", "G-14", "G-16")
def test_a_thread_may_hold_memory_while_the_program_ends(
    run_program: Callable[[str], str],
) -> None:
    output = run_program("""
        import threading
        import numpy as np
        from strideweave import CPU, Layout, Tensor

        def consume():
            ready.set()
            while True:
                np.from_dlpack(Tensor(CPU(64), 0, Layout.parse("64:1"))).sum()

        ready = threading.Event()
        for _ in range(3):
            threading.Thread(target=consume, daemon=True).start()
        ready.wait()
        print("end")
    """)
    assert output == "end\n"


@pytest.mark.rule("M-46", "G-16")
@pytest.mark.skipif(sys.platform != "linux", reason="registers an exit handler of glibc")
def test_the_deleter_runs_after_the_interpreters_end(run_program: Callable[[str], str]) -> None:
    output = run_program("""
        import ctypes
        from strideweave import CPU, Layout, Tensor
        from strideweave.tensor import dlpack_abi

        capsule = Tensor(CPU(3), 0, Layout.parse("3:1")).__dlpack__(max_version=(1, 0))
        managed = dlpack_abi.managed_tensor(capsule)
        dlpack_abi.mark_used(capsule, managed)
        library = ctypes.CDLL(None)
        address = ctypes.c_void_p(ctypes.addressof(managed))
        assert library.__cxa_atexit(ctypes.c_void_p(managed.deleter), address, None) == 0
        print("end")
    """)
    assert output == "end\n"
