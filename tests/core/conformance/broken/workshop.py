"""What the broken carriers are made of: a sound carrier, of which each replaces one part."""

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import strideweave as sw
from strideweave import (
    CarrierDefinition,
    DType,
    KernelExecutionInterface,
    KernelPattern,
    KernelProvider,
    SimpleDType,
    StorageProvider,
    Tensor,
    TransferRoute,
)
from strideweave.carriers.extension import (
    PreparedKernel,
    PreparedTransfer,
    ProviderResult,
    TransferProvider,
    TransferRequest,
    reference_pattern,
)
from strideweave.carriers.operation_policy import resolvable_plans
from strideweave.operation import ResolvedInvocation, operation_definition
from strideweave.testing import Ability, ArrayCarrier, Peer
from strideweave.testing.conformance import CarrierAdapter

FORMATS: Final[dict[DType, str]] = {DType.Float32: "f", DType.Int32: "i", DType.Bool: "?"}
ALL: Final = (DType.Float32, DType.Int32, DType.Bool)
FLOATS: Final = (DType.Float32,)


class Packed(sw.Carrier):
    """Slots side by side in a bytearray."""

    memory: Any


def format_of(carrier: Any) -> str:
    return FORMATS[carrier.dtype()]


def width(carrier: Any) -> int:
    return struct.calcsize(format_of(carrier))


def allocate(carrier: Any, slots: int) -> None:
    carrier.memory = bytearray(slots * width(carrier))


def release(carrier: Any) -> None:
    carrier.memory = bytearray()


def read(carrier: Any, index: int) -> Any:
    (value,) = struct.unpack_from(format_of(carrier), carrier.memory, index * width(carrier))
    return value


def write(carrier: Any, index: int, value: Any) -> None:
    struct.pack_into(format_of(carrier), carrier.memory, index * width(carrier), value)


def read_span(carrier: Any, start: int, out: Any) -> None:
    first = start * width(carrier)
    out.cast("B")[:] = bytes(carrier.memory[first : first + out.nbytes])


def write_span(carrier: Any, start: int, values: Any) -> None:
    first = start * width(carrier)
    memoryview(carrier.memory)[first : first + values.nbytes] = values.cast("B")


SPANS: Final[dict[str, Any]] = {"read_span": read_span, "write_span": write_span}


def storage(**changes: Any) -> StorageProvider[Any]:
    """Sound storage, with some callbacks replaced."""
    callbacks: dict[str, Any] = {
        "supports_dtype": lambda carrier, dtype: dtype in FORMATS,
        "physical_size": lambda carrier: len(carrier.memory) // width(carrier),
        "allocate": allocate,
        "release": release,
        "read": read,
        "write": write,
        "elementwise_fallback": True,
    }
    return StorageProvider(**{**callbacks, **changes})


def define(
    name: str,
    *,
    base: type[Any] = Packed,
    kernels: Iterable[KernelPattern[Any]] = (),
    transfers: Iterable[Callable[[type[Any]], TransferRoute[Any, Any]]] = (),
    facets: Iterable[Any] = (),
    body: Mapping[str, Any] | None = None,
    **changes: Any,
) -> type[Any]:
    """Make a carrier class and register its definition.

    ``transfers`` make the routes of the class; ``changes`` replace storage callbacks.
    """
    make: Any = type(base)
    made: type[Any] = make(name, (base,), dict(body or {}))
    provider = KernelProvider(KernelExecutionInterface("1"), kernels)
    routes = [route(made) for route in transfers]
    sw.register_carrier_definition(
        made, CarrierDefinition(storage(**changes), provider, routes, facets=facets)
    )
    return made


Compute = Callable[[ResolvedInvocation], Tensor]


def kernel(name: str, compute: Compute, plans: Iterable[Any] | None = None) -> KernelPattern[Any]:
    """Serve all plans of an operation, or some, by a function from invocation to result."""

    def prepare(invocation: ResolvedInvocation, interface: KernelExecutionInterface) -> Any:
        return PreparedKernel(interface, lambda: ProviderResult([compute(invocation)]))

    return KernelPattern(
        operation_definition(name), plans or plans_of(name), f"own:{name}", prepare
    )


def plans_of(name: str, *dtypes: SimpleDType) -> list[sw.OperationCapability]:
    """List the capabilities of an operation, or those whose operands have exactly these dtypes."""
    return [
        sw.OperationCapability.from_plan(plan)
        for plan in resolvable_plans()
        if plan.operation == name
        and (not dtypes or tuple(entry.dtype for entry in plan.operands) == dtypes)
    ]


def references(*names: str) -> list[KernelPattern[Any]]:
    """Serve operations by their references."""
    return [reference_pattern(operation_definition(name)) for name in names]


def by_reference(invocation: ResolvedInvocation) -> Tensor:
    """Compute what is right."""
    reference = invocation.definition.reference
    assert reference is not None
    result = reference(invocation)
    assert isinstance(result, Tensor)
    return result


def fresh_result(invocation: ResolvedInvocation) -> Tensor:
    """Make an empty result on the class of the first operand."""
    (spec, *_), (first, *_) = invocation.results, invocation.operands
    assert isinstance(first, Tensor)
    carrier = first.carrier.allocate_like(spec.layout.cosize, dtype=spec.dtype)
    return Tensor(carrier, 0, spec.layout)


def route(
    submit: Callable[[TransferRequest[Any, Any]], Any],
    destination: type[Any] = ArrayCarrier,
    prepare: Callable[[TransferRequest[Any, Any]], Any] | None = None,
) -> Callable[[type[Any]], TransferRoute[Any, Any]]:
    """Make a route; ``submit`` gets the request."""

    def default(request: TransferRequest[Any, Any]) -> PreparedTransfer:
        return PreparedTransfer(lambda: submit(request))

    def make(source: type[Any]) -> TransferRoute[Any, Any]:
        return TransferRoute(source, destination, "own", TransferProvider(prepare or default))

    return make


def carry(request: TransferRequest[Any, Any]) -> None:
    """Transfer as it is right."""
    for slot in range(request.physical_span):
        request.destination[slot] = read(request.source, request.tensor.offset + slot)


class PackedAdapter(CarrierAdapter[Any]):
    """Reaches the bytes of a Packed carrier."""

    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Any:
        return self.carrier_class(size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: Any, slot: int) -> object:
        return read(carrier, slot)

    def raw_write(self, carrier: Any, slot: int, value: Any) -> None:
        write(carrier, slot, value)


@dataclass(frozen=True)
class Broken:
    """A carrier with one fault.

    Attributes:
        adapter: How the kit reaches it.
        caught_by: The check that the fault is there to trip.
        says: What the failure must name.
        reset: Undoes lasting damage of an earlier run.
    """

    adapter: CarrierAdapter[Any]
    caught_by: str
    says: str
    reset: Callable[[], object]

    def __str__(self) -> str:
        return self.adapter.carrier_class.__name__


def broken(
    carrier_class: type[Any],
    caught_by: str,
    says: str,
    *abilities: Ability,
    adapter: type[CarrierAdapter[Any]] = PackedAdapter,
    dtypes: tuple[SimpleDType, ...] = ALL,
    peers: tuple[Peer, ...] | None = None,
    reset: Callable[[], object] = lambda: None,
) -> Broken:
    """Put a broken carrier before the kit."""
    settings: dict[str, Any] = {
        "carrier_class": carrier_class,
        "abilities": frozenset(abilities),
        "dtypes": dtypes,
    }
    if peers is not None:
        settings["peers"] = peers
    made: Any = type("Adapter", (adapter,), settings)
    return Broken(made(), caught_by, says, reset)
