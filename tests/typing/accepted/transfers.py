"""Routes whose requests know both carrier classes."""

from typing import assert_type

from strideweave import (
    Carrier,
    CarrierDefinition,
    StorageProvider,
    TransferRoute,
    Unsupported,
    register_carrier_definition,
)
from strideweave.carriers.extension import (
    PreparedTransfer,
    ProviderCompletion,
    TransferProvider,
    TransferRequest,
)


class Host(Carrier):
    page: int


class Device(Carrier):
    address: int


class Upload:
    done = False

    def wait(self) -> None: ...


def prepare(request: TransferRequest[Host, Device]) -> PreparedTransfer | Unsupported:
    assert_type(request.source, Host)
    assert_type(request.destination, Device)
    assert_type(request.source_class, type[Host])
    assert_type(request.physical_span, int)
    if request.destination.address % 16:
        return Unsupported("the destination must be 16-byte aligned")
    if request.source.page:
        return PreparedTransfer(lambda: None)
    return PreparedTransfer(start)


def start() -> ProviderCompletion[None]:
    return Upload()


def prepare_any(request: TransferRequest) -> Unsupported:
    assert_type(request.destination, Carrier)
    return Unsupported("never")


def register(storage: StorageProvider[Host]) -> None:
    provider = TransferProvider(prepare)
    assert_type(provider, TransferProvider[Host, Device])
    route = TransferRoute(Host, Device, "host.device", provider)
    assert_type(route, TransferRoute[Host, Device])
    general = TransferRoute(Host, Host, "host.host", TransferProvider(prepare_any))
    definition = CarrierDefinition(storage, transfers=[route, general])
    register_carrier_definition(Host, definition)
