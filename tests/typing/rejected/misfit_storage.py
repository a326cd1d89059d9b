"""Callbacks that do not fit the author's carrier."""

from strideweave import Carrier, CarrierDefinition, DType, StorageProvider


class Slab(Carrier):
    cells: list[float]


class Other(Carrier):
    pass


def takes(carrier: Slab, dtype: DType) -> bool:
    return True


def size(carrier: Slab) -> int:
    return len(carrier.cells)


def make(carrier: Slab, slots: int) -> None: ...


def drop(carrier: Slab) -> None: ...


def read(carrier: Slab, index: int) -> float:
    return carrier.cells[index]


def write(carrier: Slab, index: int, value: float) -> None: ...


def other_size(carrier: Other) -> int:
    return 0


def text_size(carrier: Slab) -> str:
    return ""


def read_all(carrier: Slab) -> float:
    return 0.0


StorageProvider[Slab](takes, other_size, make, drop, read, write)  # error: arg-type
StorageProvider[Slab](takes, text_size, make, drop, read, write)  # error: arg-type
StorageProvider[Slab](takes, size, make, drop, read_all, write)  # error: arg-type
StorageProvider[Slab](takes, size, make, drop, read, write, 1)  # error: arg-type
StorageProvider[Slab](takes, size, make, drop, read, write, False, read)  # error: arg-type call-arg
StorageProvider[Slab](takes, size, make, drop, read)  # error: call-arg
StorageProvider[int](takes, size, make, drop, read, write)  # error: arg-type type-var
provider = StorageProvider(takes, size, make, drop, read, write)
provider.read = read  # error: misc
CarrierDefinition(provider, None, provider)  # error: arg-type
CarrierDefinition(provider, facets=[Slab])  # error: list-item


class Derived(StorageProvider[Slab]):  # error: misc
    pass
