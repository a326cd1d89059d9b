"""How Metal works with MLX: devices, streams, threads, waiting, and what an inexact GPU changes."""

import ast
import importlib
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import Layout, Metal, Tensor

MakeTensor = Callable[..., Tensor]
PACKAGE = "strideweave.carriers.metal"
primitives: Any = importlib.import_module(f"{PACKAGE}.primitives")
probe: Any = importlib.import_module(f"{PACKAGE}.probe")
runtime: Any = importlib.import_module(f"{PACKAGE}.runtime")
storage: Any = importlib.import_module(f"{PACKAGE}.storage")
views: Any = importlib.import_module(f"{PACKAGE}.views")

FLAT = Layout.parse("4:1")


def stored(tensor: Tensor) -> Any:
    """Give the array in which MLX keeps a Tensor's carrier."""
    carrier: Any = tensor.carrier
    return carrier._slots


def sources() -> Iterator[tuple[str, ast.Module]]:
    (folder,) = importlib.import_module(PACKAGE).__path__
    for path in sorted(Path(folder).rglob("*.py")):
        yield path.relative_to(folder).as_posix(), ast.parse(path.read_text())


def attributes_of(module: ast.Module, name: str) -> set[str]:
    """Give what a module uses of another one that it knows under a name."""
    return {
        node.attr
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
    }


@pytest.mark.rule("MT-3", "MT-17")
def test_every_function_of_mlx_is_bound_to_a_device() -> None:
    """Only ``primitives`` calls functions of MLX, and names the device of each."""
    core = runtime.load().core
    bound = {name: made for name, made in vars(primitives).items() if isinstance(made, partial)}
    assert len(bound) > 50
    for name, function in bound.items():
        assert function.func is getattr(core, name)
        assert function.keywords["stream"] in (core.cpu, runtime.load().device)
    data = {"Device", "Dtype", "array", "bool_", "cpu", "float32", "int32", "int64"}
    for name, module in sources():
        if name not in ("primitives.py", "runtime.py", "probe.py"):
            assert attributes_of(module, "mx") <= data, name
        assert "compile" not in attributes_of(module, "mx") | attributes_of(module, "core"), name
    assert os.environ["MLX_ENABLE_TF32"] == "0"


@pytest.mark.rule("MT-3")
def test_the_default_device_and_stream_are_never_changed(make_tensor: MakeTensor) -> None:
    core = runtime.load().core
    before = core.default_device(), core.default_stream(core.cpu)
    indices = make_tensor([1, 1], dtype=sw.DType.Int32)
    sw.scatter_add(make_tensor([1.0, 2.0]), indices, make_tensor([3.0, 4.0]), 0)
    assert (core.default_device(), core.default_stream(core.cpu)) == before


@pytest.mark.rule("MT-11", "MT-52")
def test_one_function_waits() -> None:
    waiting = {"eval", "synchronize", "item", "tolist"}
    for name, module in sources():
        found = waiting & attributes_of(module, "core")
        calls = [
            node.func.attr
            for node in ast.walk(module)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in waiting
        ]
        # A slot is read by ``item`` of a NumPy view, which exists once its array is complete.
        allowed = {"runtime.py": ["eval"], "carrier.py": ["item"]}
        assert calls == allowed.get(name, []) and not found, name


@pytest.mark.rule("MT-10", "MT-13", "MT-20")
def test_storage_is_one_contiguous_dimension(make_tensor: MakeTensor) -> None:
    strided = make_tensor([float(slot) for slot in range(24)], "(2,3,2):(12,2,1)")
    results = [
        *(sw.neg(strided), sw.cast(strided, sw.DType.Float32), sw.flip(strided, 1)),
        *(sw.reduce_sum(strided, "a b c -> c"), sw.permute(sw.neg(strided), 2, 0, 1)),
        *(sw.sort(strided, 0).values, sw.pad(strided, ((1, 0), (0, 0), (0, 2)))),
    ]
    for result in results:
        slots = stored(result)
        host = storage.to_host(slots)
        assert slots.ndim == 1 and host.strides == (4,) and host.shape == (result.carrier.size(),)


@pytest.mark.rule("MT-21")
def test_a_view_of_a_layout_shares_the_memory_of_the_storage(make_tensor: MakeTensor) -> None:
    tensor = make_tensor([float(slot) for slot in range(13)], "(2,(2,3)):(1,(6,2))", offset=1)
    array = views.strided(tensor)
    runtime._complete(array)
    view = np.asarray(array)
    assert (view.shape, view.strides) == ((3, 2, 2), (8, 24, 4))
    assert np.shares_memory(view, storage.to_host(stored(tensor)))


@pytest.mark.rule("MT-10", "MT-11", "MT-51")
def test_work_submitted_in_one_thread_is_read_and_continued_in_others() -> None:
    results: list[Tensor] = []

    def work() -> None:
        tensor = Tensor(Metal(0).new_like([1.0, 2.0, 3.0, 4.0]), 0, FLAT)
        for _ in range(10):
            tensor = sw.add(tensor, tensor)
        results.append(tensor)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        assert result.tolist() == [1024.0, 2048.0, 3072.0, 4096.0]
    total = sw.add(results[0], results[3])
    assert total.tolist() == [2048.0, 4096.0, 6144.0, 8192.0]


@pytest.mark.rule("MT-10", "MT-51", "G-14")
def test_any_thread_may_be_the_first_to_use_an_operation(run_program: Callable[..., str]) -> None:
    """In a fresh process, because here others have used them all."""
    run_program(
        """
    import threading
    from strideweave import Metal, UnsupportedOperationPlan
    from strideweave.carriers.operation_capability import capabilities_for_carrier_class
    from strideweave.testing.cases import operation_cases, run_case

    empty = Metal(0)
    empty.dispatch_op("add")  # loads the kernels in this thread
    failures = {}

    def use(case):
        try:
            run_case(case, lambda values, dtype: empty.new_like(values, dtype=dtype)).tolist()
            used.add(case.operation)
        except UnsupportedOperationPlan:
            pass
        except RuntimeError as error:
            failures[case.operation] = error

    used = set()
    for case in operation_cases():
        if case.operation not in used and case.operation not in failures:
            thread = threading.Thread(target=use, args=(case,))
            thread.start()
            thread.join()
    assert failures == {}, failures
    assert used == {plan.operation for plan in capabilities_for_carrier_class(Metal)}
    """
    )


@pytest.mark.rule("MT-10")
def test_what_is_built_is_submitted_before_anyone_sees_it(
    monkeypatch: pytest.MonkeyPatch, make_tensor: MakeTensor
) -> None:
    submitted: list[Any] = []
    submit = runtime.submit

    def noting(*arrays: Any) -> None:
        submitted.extend(arrays)
        submit(*arrays)

    monkeypatch.setattr(runtime, "submit", noting)
    tensor, row = make_tensor([1.0, 2.0, 3.0]), make_tensor([4.0, 5.0], "(1,2):(0,1)")
    results = [tensor, sw.exp(tensor), sw.matmul(row, row), sw.copy(row, Metal(2))]
    tensor.carrier[0] = 5.0
    for result in (*results, Tensor(Metal(4), 0, FLAT)):
        assert any(stored(result) is array for array in submitted)


@pytest.mark.rule("MT-51", "G-4")
def test_writes_of_many_threads_all_arrive() -> None:
    carrier = Metal(8 * 25)

    def write(thread: int) -> None:
        for number in range(25):
            carrier[25 * thread + number] = float(thread)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [carrier[slot] for slot in range(200)] == [float(slot // 25) for slot in range(200)]


@pytest.mark.rule("MT-51")
def test_kernels_run_while_another_thread_holds_a_carrier(make_tensor: MakeTensor) -> None:
    tensor = make_tensor([1.0, 2.0])
    carrier: Any = tensor.carrier
    with carrier._lock:
        assert sw.add(tensor, tensor).tolist() == [2.0, 4.0]


@pytest.mark.rule("MT-50", "MT-11")
def test_a_profile_waits_for_nothing(completions: Any, make_tensor: MakeTensor) -> None:
    tensor = make_tensor([0.5] * 1000)
    before = completions.count
    with sw.profile() as profiler:
        result = sw.exp(sw.mul(sw.add(tensor, tensor), 0.5))
    events = [event.name for event in profiler.events()]
    assert [name for name in events if name in ("add", "mul", "exp")] == ["add", "mul", "exp"]
    assert completions.count == before
    assert result[0] == pytest.approx(np.exp(0.5)) and completions.count == before + 1


@pytest.mark.rule("MT-11", "MT-52", "G-3")
def test_a_failure_of_the_device_shows_where_values_are_read(
    completions: Any, make_tensor: MakeTensor
) -> None:
    result = sw.add(make_tensor([1.0, 2.0]), make_tensor([3.0, 4.0]))
    completions.failures.append(RuntimeError("device lost"))
    with pytest.raises(RuntimeError, match="device lost"):
        result[0]
    assert result.tolist() == [4.0, 6.0]


@pytest.mark.rule("MT-18")
def test_the_probe_finds_nothing_on_the_cpu_device() -> None:
    core = runtime.load().core
    assert probe.inexact_primitives(core, core.cpu) == frozenset()


@pytest.mark.rule("MT-18")
def test_the_probe_finds_primitives_that_are_not_exact() -> None:
    """A device that flushes subnormals, divides by a reciprocal and takes the last of ties."""
    core = runtime.load().core

    def flushed(array: Any) -> Any:
        tiny = core.array(np.float32(1.1754944e-38).item(), core.float32)
        zero = core.array(0.0, core.float32)
        return core.where(core.less(core.abs(array), tiny), zero, array)

    def through(name: str) -> Callable[..., Any]:
        function = getattr(core, name)
        return lambda *arrays, stream: flushed(function(*arrays, stream=stream))

    def divide(lhs: Any, rhs: Any, stream: Any) -> Any:
        one = core.array(1.0, core.float32)
        return core.multiply(lhs, core.divide(one, rhs, stream=stream), stream=stream)

    def argmax(pairs: Any, axis: int, stream: Any) -> Any:
        swapped = core.flip(pairs, axis, stream=stream)
        one = core.array(1, core.uint32)
        return core.subtract(one, core.argmax(swapped, axis, stream=stream), stream=stream)

    changed = {"multiply": through("multiply"), "sqrt": through("sqrt")}
    changed.update(divide=divide, argmax=argmax)
    pretended = SimpleNamespace(**{**vars(core), **changed})
    assert probe.inexact_primitives(pretended, core.cpu) == {*changed}


@pytest.mark.rule("MT-18")
def test_inexact_primitives_run_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primitives, "_ON_HOST", frozenset({"divide"}))
    monkeypatch.setattr(primitives, "_DEVICE", "the GPU")
    core = runtime.load().core
    assert (primitives._device_of("divide"), primitives._device_of("add")) == (core.cpu, "the GPU")
    (source,) = (module for name, module in sources() if name == "primitives.py")
    routed = {
        ast.literal_eval(node.args[0])
        for node in ast.walk(source)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "_device_of"
    }
    assert routed == {name for name, _, _ in probe._checks()}
    assert primitives.cumsum.keywords["stream"] == primitives.cumprod.keywords["stream"] == core.cpu


@pytest.mark.rule("MT-51", "MT-10")
def test_threads_share_an_operand_whose_work_is_pending() -> None:
    size = 400
    layout = Layout.parse(f"({size},{size}):({size},1)")
    numbers = np.random.default_rng(5).normal(size=size * size).astype(np.float32)
    shared = Tensor(Metal(0).new_like(numbers), 0, layout)
    expected = np.asarray(sw.matmul(shared, shared))
    for _ in range(5):
        pending = sw.matmul(shared, shared)
        results: list[Tensor] = []

        def work(operand: Tensor, found: list[Tensor]) -> None:
            found.extend(sw.neg(sw.neg(operand)) for _ in range(5))

        threads = [threading.Thread(target=work, args=(pending, results)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 20
        assert all(np.array_equal(np.asarray(result), expected) for result in results)


FORK = """
    import os, signal
    import strideweave as sw

    def in_child(act):
        process = os.fork()
        if process == 0:
            signal.alarm(20)
            act()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0

    def assert_refused(attempt):
        try:
            attempt()
        except RuntimeError as error:
            assert "forked" in str(error) and "spawn" in str(error), error
        else:
            raise AssertionError("no error")
"""


@pytest.mark.rule("MT-51", "G-14")
def test_a_forked_child_fails_with_a_clear_error_instead_of_hanging(
    run_program: Callable[..., str],
) -> None:
    run_program(
        FORK
        + """
    carrier = sw.Metal(3)
    carrier[0] = 1.0
    tensor = sw.Tensor(carrier, 0, sw.Layout.parse("3:1"))

    def act():
        def write():
            carrier[1] = 2.0
        attempts = (
            lambda: carrier[0], write, lambda: sw.Metal(3), lambda: sw.add(tensor, tensor),
            lambda: sw.copy(tensor, sw.CPU(3)), lambda: carrier.new_like([1.0]),
            lambda: sw.copy(sw.friendly.ones(3), carrier), lambda: carrier.allocate_like(1),
        )
        for attempt in attempts:
            assert_refused(attempt)
        assert (carrier.size(), carrier.dtype(), carrier.version) == (3, sw.DType.Float32, 1)
        carrier._lock.acquire()  # as another thread of the parent may have done
        carrier.release()
        assert sw.add(sw.friendly.ones(2), sw.friendly.ones(2)).tolist() == [2.0, 2.0]

    in_child(act)
    assert tensor.tolist() == [1.0, 0.0, 0.0]
    """
    )


@pytest.mark.rule("MT-2", "MT-51", "G-14")
def test_a_child_that_was_forked_before_uses_metal(run_program: Callable[..., str]) -> None:
    run_program(
        FORK
        + """
    def act():
        tensor = sw.Tensor(sw.Metal(0).new_like([1.0, 2.0]), 0, sw.Layout.parse("2:1"))
        assert sw.add(tensor, tensor).tolist() == [2.0, 4.0]

    assert sw.Metal.__name__ == "Metal"
    in_child(act)
    """
    )


@pytest.mark.rule("MT-51", "G-14")
def test_a_fork_of_a_process_that_used_mlx_without_metal_fails_too(
    run_program: Callable[..., str],
) -> None:
    run_program(
        FORK
        + """
    import mlx.core as mx

    mx.eval(mx.add(mx.ones(3), mx.ones(3)))  # starts its threads

    in_child(lambda: assert_refused(lambda: sw.Metal(3)))
    assert sw.Metal(3).size() == 3
    """
    )
