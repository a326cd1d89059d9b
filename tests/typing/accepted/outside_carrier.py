"""A complete carrier of somebody else: public names only, storage in an ``array.array``."""

from array import array
from typing import Any

import strideweave as sw
from strideweave import Carrier, CarrierDefinition, DType, KernelExecutionInterface
from strideweave.carriers.extension import (
    KernelProvider,
    StorageProvider,
    reference_pattern,
    register_carrier_definition,
)
from strideweave.carriers.operation_policy import registered_operations
from strideweave.operation import operation_definitions

TYPECODES = {DType.Float32: "f", DType.Int32: "i", DType.Bool: "b"}


class Crate(Carrier):
    cells: "array[Any]"


def supports(carrier: Crate, dtype: DType) -> bool:
    return any(dtype is stored for stored in TYPECODES)


def size(carrier: Crate) -> int:
    return len(carrier.cells)


def allocate(carrier: Crate, slots: int) -> None:
    typecode = next(code for dtype, code in TYPECODES.items() if dtype is carrier.dtype())
    carrier.cells = array(typecode, [0] * slots)


def release(carrier: Crate) -> None:
    carrier.cells = array("b")


def read(carrier: Crate, index: int) -> object:
    value = carrier.cells[index]
    return bool(value) if carrier.dtype() is DType.Bool else value


def write(carrier: Crate, index: int, value: float) -> None:
    carrier.cells[index] = value


def definition() -> CarrierDefinition[Crate]:
    planned = {spec.name for spec in registered_operations()}
    patterns = [
        reference_pattern(operation)
        for operation in operation_definitions()
        if operation.name in planned
    ]
    storage = StorageProvider(supports, size, allocate, release, read, write, True)
    return CarrierDefinition(storage, KernelProvider(KernelExecutionInterface("1"), patterns))


register_carrier_definition(Crate, definition())
crate = Crate(0, dtype=DType.Float32).new_like([3.0, -4.0])
tensor = sw.Tensor(crate, 0, sw.Layout(sw.Shape(2), sw.Stride(1)))
result = sw.relu(tensor)
result.backward(sw.Tensor(crate.new_like([1.0, 1.0]), 0, result.layout))
assert tensor.grad is not None and tensor.grad.tolist() == [1.0, 0.0]
assert type(tensor.grad.carrier) is Crate
