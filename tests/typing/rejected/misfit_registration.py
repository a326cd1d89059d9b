"""Definitions registered for a class they are not for, and wrong constructor calls."""

from strideweave import (
    Carrier,
    CarrierDefinition,
    CarrierFacet,
    DType,
    StorageProvider,
    register_carrier_definition,
)


class Base(Carrier):
    pass


class Slab(Base):
    cells: list[float]


class Sibling(Base):
    pass


def register(storage: StorageProvider[Slab]) -> None:
    definition = CarrierDefinition(storage)
    register_carrier_definition(Slab, definition)
    register_carrier_definition(Sibling, definition)  # error: misc
    register_carrier_definition(Base, definition)  # error: misc
    register_carrier_definition(int, definition)  # error: misc
    register_carrier_definition(Slab, storage)  # error: arg-type
    definition.facets = ()  # error: misc


def use(carrier: Slab) -> None:
    Slab("3", dtype=DType.Float32)  # error: arg-type
    Slab(3, DType.Float32)  # error: call-arg
    carrier.version = 3  # error: misc
    carrier.facet(int)  # error: type-var
    carrier.new_like([1.0], False)  # error: call-arg
    carrier.supports_storage_dtype("Float32")  # error: arg-type
    carrier.misspelt()  # error: attr-defined


class Naming(CarrierFacet):
    pass


def label(carrier: Slab) -> int:
    return carrier.require_facet(Naming)  # error: return-value
