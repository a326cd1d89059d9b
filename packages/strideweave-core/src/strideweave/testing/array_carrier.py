"""ArrayCarrier: a complete definition-backed carrier on ``array.array``, for tests and study."""

from array import array
from importlib import import_module
from typing import Any, Final, final

from strideweave.carriers.base import Carrier
from strideweave.carriers.extension import (
    CarrierDefinition,
    KernelExecutionInterface,
    KernelProvider,
    StorageProvider,
    reference_pattern,
    register_carrier_definition,
)
from strideweave.dtype import DType
from strideweave.dtype.storage import accepts_storage_dtype
from strideweave.operation.definition import operation_definitions
from strideweave.operation.policy import registered_operations

_TYPECODES: Final[dict[DType, str]] = {DType.Float32: "f", DType.Int32: "i", DType.Bool: "b"}


@final
class ArrayCarrier(Carrier):
    """Storage in an ``array.array``, execution by the references of the operations.

    It needs nothing but core and shows all that a carrier of its own class needs: six storage
    callbacks, here with both span callbacks, and one kernel pattern per operation, made by
    ``reference_pattern``. It permits elementwise movement.

    Args:
        slots: Slot count, at least 0; they start as zero.
        dtype: ``DType.Float32``, ``DType.Int32`` or ``DType.Bool``.
        mutable: Whether values can be written.

    Raises:
        TypeError: An argument has another type, or the dtype is not stored.
        ValueError: ``slots`` is negative.

    Examples:
        >>> from strideweave import DType, Layout, Shape, Stride, Tensor, add
        >>> from strideweave.testing import ArrayCarrier
        >>> carrier = ArrayCarrier(3, dtype=DType.Int32).new_like([1, 2, 3])
        >>> tensor = Tensor(carrier, 0, Layout(Shape(3), Stride(1)))
        >>> add(tensor, tensor).tolist()
        [2, 4, 6]
    """

    slots: "array[Any]"
    """The storage; one signed byte per Bool."""


def _allocate(carrier: ArrayCarrier, slots: int) -> None:
    typecode = _TYPECODES[carrier.dtype()]
    carrier.slots = array(typecode, bytes(slots * array(typecode).itemsize))


def _release(carrier: ArrayCarrier) -> None:
    carrier.slots = array("b")


def _write(carrier: ArrayCarrier, index: int, value: Any) -> None:
    carrier.slots[index] = value


def _read(carrier: ArrayCarrier, index: int) -> object:
    value = carrier.slots[index]
    return bool(value) if carrier.dtype() is DType.Bool else value


def _read_span(carrier: ArrayCarrier, start: int, out: memoryview) -> None:
    out.cast("B")[:] = _bytes(carrier, start, len(out))


def _write_span(carrier: ArrayCarrier, start: int, values: memoryview) -> None:
    _bytes(carrier, start, len(values))[:] = values.cast("B")


def _bytes(carrier: ArrayCarrier, start: int, count: int) -> memoryview:
    width = carrier.slots.itemsize
    return memoryview(carrier.slots).cast("B")[start * width : (start + count) * width]


def _definition() -> CarrierDefinition[ArrayCarrier]:
    storage = StorageProvider[ArrayCarrier](
        supports_dtype=lambda carrier, dtype: accepts_storage_dtype(dtype, tuple(_TYPECODES)),
        physical_size=lambda carrier: len(carrier.slots),
        allocate=_allocate,
        release=_release,
        read=_read,
        write=_write,
        elementwise_fallback=True,
        read_span=_read_span,
        write_span=_write_span,
    )
    import_module("strideweave.functional")  # defines the catalogue
    catalogue = {spec.name for spec in registered_operations()}
    patterns = [
        reference_pattern(definition)
        for definition in operation_definitions()
        if definition.name in catalogue
    ]
    return CarrierDefinition(storage, KernelProvider(KernelExecutionInterface("1"), patterns))


register_carrier_definition(ArrayCarrier, _definition())
