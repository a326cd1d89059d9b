"""Routes and composites for other classes than they claim."""

from collections.abc import Iterable

from strideweave import (
    Carrier,
    CarrierDefinition,
    CompositeProvider,
    DependentCarrier,
    OperationCapability,
    StorageProvider,
    TransferRoute,
    Unsupported,
)
from strideweave.carriers.extension import PreparedTransfer, TransferProvider, TransferRequest
from strideweave.operation import ResolvedInvocation


class Host(Carrier):
    page: int


class Device(Carrier):
    address: int


def prepare(request: TransferRequest[Host, Device]) -> PreparedTransfer:
    print(request.destination.page)  # error: attr-defined
    request.layout = request.tensor.layout  # error: misc
    return PreparedTransfer(lambda: None)


def prepare_nothing(request: TransferRequest[Host, Device]) -> None: ...


def routes(host: StorageProvider[Host], device: StorageProvider[Device]) -> None:
    provider = TransferProvider(prepare)
    TransferProvider(prepare_nothing)  # error: arg-type
    TransferRoute(Device, Host, "r", provider)  # error: misc
    TransferRoute(Host, int, "r", provider)  # error: misc
    TransferRoute(Host, Device, 3, provider)  # error: arg-type
    TransferRoute(Host, Device, "r", prepare)  # error: arg-type
    CarrierDefinition(device, transfers=[TransferRoute(Host, Device, "r", provider)])  # error: misc


class Layered(DependentCarrier):
    inner: Carrier


class Stacked(DependentCarrier):
    pass


def capabilities(carrier: Layered) -> Iterable[OperationCapability]:
    return carrier.inner.operation_capabilities()


def prepare_layered(carrier: Layered, invocation: ResolvedInvocation) -> Unsupported:
    return Unsupported("never")


def names(carrier: Layered, invocation: ResolvedInvocation) -> tuple[str, ...]:
    return ("Host",)


def classes(carrier: Layered, invocation: ResolvedInvocation) -> tuple[type[Carrier], ...]:
    return (Host,)


def composites(stacked: StorageProvider[Stacked]) -> None:
    composite = CompositeProvider(capabilities, classes, prepare_layered)
    CompositeProvider(capabilities, names, prepare_layered)  # error: arg-type
    CompositeProvider(classes, capabilities, prepare_layered)  # error: arg-type
    CompositeProvider[Stacked](capabilities, classes, prepare_layered)  # error: arg-type
    CarrierDefinition[Stacked](stacked, composite=composite)  # error: arg-type
