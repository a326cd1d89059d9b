"""Patterns, providers and packs that carry the author's interface class."""

import threading
from typing import assert_type

from strideweave import (
    Carrier,
    KernelExecutionInterface,
    KernelPack,
    KernelPattern,
    KernelProvider,
    OperationCapability,
    Unsupported,
    register_kernel_pack,
)
from strideweave.carriers.extension import PreparedKernel, ProviderResult, reference_pattern
from strideweave.operation import ResolvedInvocation, operation_definition


class Queue(KernelExecutionInterface):
    def __init__(self, version: str, device: str) -> None:
        super().__init__(version)
        self.device = device

    def launch(self, invocation: ResolvedInvocation) -> "Launch":
        return Launch()


class Launch:
    """A completion by structure."""

    def __init__(self) -> None:
        self._finished = threading.Event()
        self._result: ProviderResult | None = None

    @property
    def done(self) -> bool:
        return self._finished.is_set()

    def wait(self) -> ProviderResult:
        self._finished.wait()
        assert self._result is not None
        return self._result


class Accelerator(Carrier):
    pass


def prepare(invocation: ResolvedInvocation, queue: Queue) -> PreparedKernel | Unsupported:
    if queue.device != "gpu0":
        return Unsupported("only gpu0 launches")
    return PreparedKernel(queue, lambda: queue.launch(invocation))


def prepare_anywhere(
    invocation: ResolvedInvocation, interface: KernelExecutionInterface
) -> Unsupported:
    return Unsupported(interface.version)


def build(plans: list[OperationCapability]) -> None:
    add = operation_definition("add")
    pattern = KernelPattern(add, plans, "add.queue", prepare, preference=3)
    assert_type(pattern, KernelPattern[Queue])
    general = KernelPattern(add, plans, "add.anywhere", prepare_anywhere)
    provider = KernelProvider(Queue("1", "gpu0"), [pattern, general, reference_pattern(add)])
    assert_type(provider, KernelProvider[Queue])
    assert_type(provider.interface.device, str)
    bare: KernelProvider = KernelProvider(KernelExecutionInterface("1"), [general])
    pack = KernelPack("acme", "1", Accelerator, Queue("1", "gpu0"), [pattern, general])
    assert_type(pack, KernelPack[Accelerator, Queue])
    register_kernel_pack(pack)
    assert_type(bare.patterns, tuple[KernelPattern, ...])
