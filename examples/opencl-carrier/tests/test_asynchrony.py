"""Public calls return while the device still has to run what they enqueued."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeAlias

import pyopencl as cl
import pytest
import strideweave as sw
from strideweave import CPU, DType, Shape, Stride
from strideweave.carriers.extension import PreparedKernel, ProviderCompletion, ProviderResult
from strideweave.operation import ResolvedInvocation

from strideweave_opencl import INTERFACE, OpenCLBuffer
from strideweave_opencl.completion import EventCompletion
from strideweave_opencl.kernels.indexing import indexing_patterns

OnDevice: TypeAlias = Callable[..., sw.Tensor]
Gate: TypeAlias = Callable[[cl.CommandQueue], AbstractContextManager[cl.UserEvent]]
COMPLETE = cl.command_execution_status.COMPLETE


def is_done(work: ProviderCompletion[object] | sw.AwaitResult[sw.Tensor]) -> bool:
    """Ask anew; a checker takes two looks at a property for one."""
    answer: object = work.done
    assert type(answer) is bool
    return answer


def finish(event: cl.UserEvent) -> None:
    event.set_status(COMPLETE)


def test_a_move_is_incomplete_when_move_async_returns(on_device: OnDevice, gate: Gate) -> None:
    tensor, destination = on_device([1.0, 2.0, 3.0]), CPU(3)
    with gate(INTERFACE.transfers) as event:
        handle = sw.move_async(tensor, destination)
        assert not is_done(handle)
        assert tensor.carrier.is_owned() and destination.is_owned()
        assert tensor.carrier[1] == 2.0
        with pytest.raises(TimeoutError):
            handle.wait(timeout=0.05)
        assert not is_done(handle)
        finish(event)
        moved = handle.wait(timeout=60)
    assert is_done(handle) and moved is handle.wait()
    assert moved.carrier is destination and moved.tolist() == [1.0, 2.0, 3.0]
    assert tensor.carrier.is_released() and not destination.is_owned()


def test_a_copy_on_the_device_is_incomplete_when_copy_async_returns(
    on_device: OnDevice, gate: Gate
) -> None:
    tensor, destination = on_device([1.0, 2.0]), OpenCLBuffer(2, dtype=DType.Float32)
    with gate(INTERFACE.transfers) as event:
        handle = sw.copy_async(tensor, destination)
        assert not is_done(handle) and not destination.is_ready()
        finish(event)
        copied = handle.wait(timeout=60)
    assert destination.is_ready() and copied.tolist() == [1.0, 2.0] == tensor.tolist()


def test_a_transfer_waits_for_the_kernel_that_computes_its_source(
    on_device: OnDevice, gate: Gate
) -> None:
    tensor = on_device([1.0, 2.0, 3.0, 4.0])
    with gate(INTERFACE.queue) as event:
        doubled = sw.add(tensor, tensor)
        handle = sw.copy_async(doubled, CPU(4))
        assert not is_done(handle)
        finish(event)
        assert handle.wait(timeout=60).tolist() == [2.0, 4.0, 6.0, 8.0]


def test_an_operation_returns_before_its_kernel_has_run(on_device: OnDevice, gate: Gate) -> None:
    tensor = on_device([1.0, 2.0, 3.0, 4.0])
    with gate(INTERFACE.queue) as event:
        carrier = sw.mul(sw.add(tensor, tensor), 10.0).carrier
        assert isinstance(carrier, OpenCLBuffer) and not carrier.is_ready()
        assert carrier.event is not None
        assert carrier.event.command_execution_status > COMPLETE
        tensor.carrier.release()  # the device keeps the memory until the kernels have run
        finish(event)
        assert [carrier[slot] for slot in range(4)] == [20.0, 40.0, 60.0, 80.0]
    assert carrier.is_ready()


def test_a_checked_kernel_is_incomplete_when_submit_returns(
    on_device: OnDevice, gate: Gate, seen: list[ResolvedInvocation]
) -> None:
    sw.gather(on_device([1.0, 2.0]), on_device([1, 1, 0], dtype=DType.Int32), 0)
    pattern, _ = indexing_patterns()
    prepared = pattern.prepare(seen[-1], INTERFACE)
    assert isinstance(prepared, PreparedKernel)
    with gate(INTERFACE.queue) as event:
        completion = prepared.submit()
        assert not isinstance(completion, ProviderResult)
        assert isinstance(completion, ProviderCompletion) and not is_done(completion)
        with ThreadPoolExecutor(3) as pool:
            waits = [pool.submit(completion.wait) for _ in range(3)]
            assert not any(wait.done() for wait in waits)
            finish(event)
            results = {id(wait.result(timeout=60)) for wait in waits}
    assert is_done(completion) and results == {id(completion.wait())}
    assert completion.wait().outputs[0].tolist() == [2.0, 2.0, 1.0]


def test_a_checked_operation_waits_and_raises_what_its_kernel_found(
    on_device: OnDevice, gate: Gate
) -> None:
    numbers = on_device([2**31 - 1], dtype=DType.Int32)
    with gate(INTERFACE.queue) as event, ThreadPoolExecutor(1) as pool:
        sums = pool.submit(sw.add, numbers, numbers)
        with pytest.raises(TimeoutError):
            sums.result(timeout=0.05)
        finish(event)
        with pytest.raises(OverflowError, match="out of int32 range"):
            sums.result(timeout=60)
    assert numbers.tolist() == [2**31 - 1]


def test_every_wait_gets_the_same_exception() -> None:
    event = cl.UserEvent(INTERFACE.context)

    def outcome() -> None:
        raise ValueError("the outcome is bad")

    completion = EventCompletion(event, outcome)
    assert not is_done(completion)
    finish(event)
    assert is_done(completion)
    with pytest.raises(ValueError) as first:
        completion.wait()
    with pytest.raises(ValueError) as second:
        completion.wait()
    assert first.value is second.value


def test_a_failed_command_is_done_and_fails_every_wait() -> None:
    event = cl.UserEvent(INTERFACE.context)
    completion = EventCompletion(event, lambda: None)
    event.set_status(-5)
    assert is_done(completion)
    with pytest.raises(cl.Error) as first:
        completion.wait()
    with pytest.raises(cl.Error) as second:
        completion.wait()
    assert first.value is second.value


def test_threads_compute_side_by_side(on_device: OnDevice) -> None:
    layout = sw.Layout(Shape(2, 2), Stride(1, 2))
    tensors = [on_device([float(n), 1.0, 2.0, float(-n)], layout) for n in range(16)]

    def compute(tensor: sw.Tensor) -> list[list[float]]:
        for _ in range(5):
            result = sw.matmul(sw.add(tensor, tensor), tensor)
        return result.tolist()  # type: ignore[no-any-return]  # a nested list of floats

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(compute, tensors))
    # 2*A*A^T for A = ((n, 2), (1, -n))
    assert found == [[[2 * (n * n + 4), -2 * n], [-2 * n, 2 * (1 + n * n)]] for n in range(16)]
