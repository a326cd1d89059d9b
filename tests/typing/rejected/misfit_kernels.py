"""Patterns, packs and prepared work that do not fit together."""

from strideweave import (
    Carrier,
    KernelExecutionInterface,
    KernelPack,
    KernelPattern,
    KernelProvider,
    OperationCapability,
    Unsupported,
)
from strideweave.carriers.extension import (
    PreparedComposite,
    PreparedKernel,
    PreparedTransfer,
    ProviderCompletion,
    ProviderResult,
)
from strideweave.operation import ResolvedInvocation, operation_definition


class Queue(KernelExecutionInterface):
    device: str = "gpu0"


class Stream(KernelExecutionInterface):
    pass


class Accelerator(Carrier):
    pass


def prepare(invocation: ResolvedInvocation, queue: Queue) -> PreparedKernel | Unsupported:
    return Unsupported(queue.device)


def prepare_nothing(invocation: ResolvedInvocation, queue: Queue) -> None: ...


def prepare_carrier(carrier: Accelerator, queue: Queue) -> Unsupported:
    return Unsupported("")


def build(plans: list[OperationCapability], result: ProviderResult) -> None:
    add = operation_definition("add")
    pattern = KernelPattern(add, plans, "k", prepare)
    KernelProvider(Stream("1"), [pattern])  # error: misc
    KernelPack("acme", "1", Accelerator, Stream("1"), [pattern])  # error: misc
    KernelPack("acme", "1", int, Queue("1"), [pattern])  # error: type-var
    KernelPattern(add, plans, "k", prepare_nothing)  # error: arg-type
    KernelPattern(add, plans, "k", prepare_carrier)  # error: arg-type
    KernelPattern("add", plans, "k", prepare)  # error: arg-type
    KernelPattern(add, plans, "k", prepare, "high")  # error: arg-type
    PreparedKernel(Queue("1"), lambda: None)  # error: arg-type return-value
    PreparedKernel("1", lambda: result)  # error: arg-type
    PreparedComposite(lambda: 3)  # error: arg-type return-value
    PreparedTransfer(lambda: result)  # error: arg-type return-value
    ProviderResult([Accelerator])  # error: list-item
    Unsupported(3)  # error: arg-type
    pattern.preference = 3  # error: misc


class DoneMissing:
    def wait(self) -> ProviderResult:
        raise NotImplementedError


class DoneMethod(DoneMissing):
    def done(self) -> bool:
        return True


class DoneInteger(DoneMissing):
    done: int = 1


class WaitsForText:
    done = True

    def wait(self) -> str:
        return ""


completion: ProviderCompletion[ProviderResult]
completion = DoneMissing()  # error: assignment
completion = DoneMethod()  # error: assignment
completion = DoneInteger()  # error: assignment
completion = WaitsForText()  # error: assignment
