"""Carriers without a definition, each with a fault in one of its hooks."""

from typing import Any, Final

import strideweave as sw
from strideweave import DType, Operation, SimpleDType, Tensor
from strideweave.testing.conformance import CarrierAdapter

from .workshop import FORMATS, Broken, broken


class Shelf(sw.Carrier):
    """Values in a list; it computes nothing."""

    def __init__(self, values: Any, *, dtype: DType, mutable: bool = True) -> None:
        super().__init__()
        self.cells: Any = list(values)
        self._dtype, self._writable = dtype, mutable

    def size(self) -> int:
        return 0 if self.cells is None else len(self.cells)

    def dtype(self) -> DType:
        return self._dtype

    def get_value(self, index: Any) -> Any:
        return self.cells[index]

    def set_value(self, index: Any, value: Any) -> None:
        self.cells[index] = value

    def _is_mutable(self) -> bool:
        return self._writable

    def _supports_storage_dtype(self, dtype: DType) -> bool:
        return dtype in FORMATS

    def new_like(self, values: Any, *, mutable: bool = True, dtype: Any = None) -> Any:
        return type(self)(values, dtype=self._dtype if dtype is None else dtype, mutable=mutable)

    def allocate_like(
        self, size: Any, *, mutable: bool = True, dtype: Any = None, empty: bool = False
    ) -> Any:
        chosen = self._dtype if dtype is None else dtype
        if chosen not in FORMATS:
            raise TypeError(f"a Shelf does not store {chosen}")
        return type(self)([_zero(chosen)] * size, dtype=chosen, mutable=mutable)

    def _release(self) -> None:
        self.cells = None


def _zero(dtype: DType) -> Any:
    return {DType.Float32: 0.0, DType.Int32: 0, DType.Bool: False}[dtype]  # type: ignore[index]  # keys are the concrete dtypes


class ShelfAdapter(CarrierAdapter[Any]):
    def make(self, size: int, dtype: SimpleDType, *, mutable: bool = True) -> Any:
        return self.carrier_class([_zero(dtype)] * size, dtype=dtype, mutable=mutable)

    def raw_read(self, carrier: Any, slot: int) -> object:
        return carrier.cells[slot]

    def raw_write(self, carrier: Any, slot: int, value: Any) -> None:
        carrier.cells[slot] = value


class OverridesIsMutable(Shelf):
    """Overrides is_mutable instead of the hook behind it."""

    def is_mutable(self) -> bool:
        return self._writable


class MutableWhileLive(Shelf):
    """Is mutable while it has memory."""

    def _is_mutable(self) -> bool:
        return self._writable and self.cells is not None


class ExtendsReleased(Shelf):
    """Looks at its own memory to make another carrier."""

    def new_like(self, values: Any, *, mutable: bool = True, dtype: Any = None) -> Any:
        made = super().new_like(values, mutable=mutable, dtype=dtype)
        made.reserve = len(self.cells)
        return made


class _Copy(Operation):
    """Gives a permuted copy."""

    def _forward(self, *inputs: Any) -> Tensor:
        tensor = inputs[0]
        values = [tensor.carrier[slot] for slot in range(tensor.carrier.size())]
        return Tensor(tensor.carrier.new_like(values), tensor.offset, tensor.layout)


class CopiesPermuted(Shelf):
    """Answers permute with a copy."""

    def _dispatch_op(self, operation_name: str) -> Operation:
        if operation_name == "permute":
            return _Copy()
        return super()._dispatch_op(operation_name)


BROKEN: Final[list[Broken]] = [
    broken(
        OverridesIsMutable,
        "mutability.owned",
        "says that it is mutable; a class never overrides is_mutable",
        adapter=ShelfAdapter,
    ),
    broken(
        MutableWhileLive,
        "mutability.after-release",
        "says after its release that it is not mutable",
        adapter=ShelfAdapter,
    ),
    broken(
        ExtendsReleased,
        "factories.after-release",
        "new_like of a released ExtendsReleased",
        adapter=ShelfAdapter,
    ),
    broken(
        CopiesPermuted,
        "views.alias",
        "permute of a Tensor on a CopiesPermuted copied",
        adapter=ShelfAdapter,
    ),
]
