"""A definition-backed carrier whose callbacks receive the author's own class."""

from typing import Any, assert_type

from strideweave import (
    Carrier,
    CarrierDefinition,
    CarrierFacet,
    DType,
    StorageProvider,
    register_carrier_definition,
)


class Slab(Carrier):
    cells: list[float]

    def fill(self, value: float) -> None:
        self.cells[:] = [value] * len(self.cells)


class Naming(CarrierFacet):
    def label(self, carrier: Slab) -> str:
        return f"slab of {carrier.size()}"


def supports(carrier: Slab, dtype: DType) -> bool:
    return dtype is DType.Float32


def size(carrier: Slab) -> int:
    return len(carrier.cells)


def allocate(carrier: Slab, slots: int) -> None:
    carrier.cells = [0.0] * slots


def release(carrier: Slab) -> None:
    carrier.cells.clear()


def read(carrier: Slab, index: int) -> float:
    return carrier.cells[index]


def write(carrier: Slab, index: int, value: float) -> None:
    carrier.cells[index] = value


def read_span(carrier: Slab, start: int, out: "memoryview[Any]") -> None:
    for position in range(len(out)):
        out[position] = carrier.cells[start + position]


def write_span(carrier: Slab, start: int, values: memoryview) -> None:
    carrier.cells[start : start + len(values)] = values.tolist()


storage = StorageProvider(
    supports, size, allocate, release, read, write, read_span=read_span, write_span=write_span
)
assert_type(storage, StorageProvider[Slab])
subscripted = StorageProvider[Slab](
    supports_dtype=lambda carrier, dtype: dtype is DType.Float32,
    physical_size=lambda carrier: len(carrier.cells),
    allocate=lambda carrier, slots: carrier.cells.extend([0.0] * slots),
    release=lambda carrier: carrier.cells.clear(),
    read=lambda carrier, index: carrier.cells[index],
    write=lambda carrier, index, value: carrier.cells.__setitem__(index, value),
)
definition = CarrierDefinition(storage, facets=[Naming()])
assert_type(definition, CarrierDefinition[Slab])
register_carrier_definition(Slab, definition)
carrier = Slab(4, dtype=DType.Float32, mutable=False)
assert_type(carrier, Slab)
assert_type(carrier.facet(Naming), Naming | None)
assert_type(carrier.require_facet(Naming).label(carrier), str)
assert_type(carrier.version, int)


class WiderSlab(Slab):
    pass


# Callbacks for a base class serve a subclass, in its own registration.
register_carrier_definition(WiderSlab, CarrierDefinition(storage))


def general(carrier: Carrier) -> int:
    return carrier.size()


generic_storage = StorageProvider[Carrier](
    lambda carrier, dtype: True,
    general,
    lambda carrier, slots: None,
    lambda carrier: None,
    lambda carrier, index: 0,
    lambda carrier, index, value: None,
)


class Plain(Carrier):
    pass


register_carrier_definition(Plain, CarrierDefinition(generic_storage))


def takes_bare(bare: CarrierDefinition, provider: StorageProvider) -> None:
    assert_type(bare, CarrierDefinition[Carrier])
    assert_type(provider, StorageProvider[Carrier])
