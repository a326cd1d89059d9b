"""Moves between every two of the shipped carriers, and classes that a user defines."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import CPU, Carrier, DType, Generic, Layout, Tensor
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    dispatch_move,
    registered_move_operation,
)
from strideweave.testing import ArrayCarrier

FLOAT32, INT32, BOOL = DType.Float32, DType.Int32, DType.Bool
ELEMENTS: dict[DType, str] = {FLOAT32: "f4", INT32: "i4", BOOL: "?"}
BOUND = 30.0


class Listed(Carrier):
    """A definition-free class as a user would write it: slots only."""

    def __init__(self, values: Iterable[Any], dtype: DType) -> None:
        super().__init__()
        self.cells = list(values)
        self.stored_dtype = dtype

    def size(self) -> int:
        return len(self.cells)

    def dtype(self) -> DType:
        return self.stored_dtype

    def get_value(self, index: Any) -> Any:
        return self.cells[index]

    def set_value(self, index: Any, value: Any) -> None:
        self.cells[index] = value

    def _is_mutable(self) -> bool:
        return True

    def new_like(
        self, values: Iterable[Any], *, mutable: bool = True, dtype: DType | None = None
    ) -> "Listed":
        return type(self)(values, self.stored_dtype if dtype is None else dtype)

    def allocate_like(
        self, size: Any, *, mutable: bool = True, dtype: DType | None = None, empty: bool = False
    ) -> "Listed":
        return self.new_like([0] * size, dtype=dtype)


class Hosted(Listed):
    """A definition-free class that offers its host array and no spans."""

    def __init__(self, values: Iterable[Any], dtype: DType) -> None:
        super().__init__(values, dtype)
        self.array: Any = np.array(self.cells, ELEMENTS[dtype])

    def get_value(self, index: Any) -> Any:
        return self.array[index].item()

    def set_value(self, index: Any, value: Any) -> None:
        self.array[index] = value

    def _host_array(self) -> Any:
        return self.array


Make = Callable[[list[Any], DType], Carrier]
CARRIERS: dict[str, Make] = {
    "array": lambda values, dtype: ArrayCarrier(0, dtype=dtype).new_like(values),
    "generic": lambda values, dtype: Generic(values, dtype=dtype),
    "cpu": lambda values, dtype: CPU(0, dtype=dtype).new_like(values),
    "listed": lambda values, dtype: Listed(values, dtype),
    "hosted": lambda values, dtype: Hosted(values, dtype),
}
BULK = ("array", "generic", "cpu", "hosted")
LAYOUTS = ["5:1", "3:2", "(2,3):(3,1)", "(2,3):(1,0)", "(2,(2,2)):(8,(1,3))", "(3,2):(1,1)"]


def values_of(dtype: DType, count: int) -> list[Any]:
    if dtype is BOOL:
        return [slot % 3 == 0 for slot in range(count)]
    if dtype is INT32:
        return [(slot - 2) * 1_000_003 for slot in range(count)]
    special = [-0.0, float("inf"), 1e-45, -3.5, float("-inf"), 0.1]
    return [special[slot % 6] for slot in range(count)]


def bits(tensor: Tensor) -> bytes:
    """The exact values in logical order, signed zeros told apart."""
    logical = [tensor[ordinal] for ordinal in range(tensor.size())]
    return np.array(logical, ELEMENTS[tensor.dtype()]).tobytes()


@pytest.mark.rule("M-2", "M-5", "M-6", "M-9", "M-14", "M-16", "M-21", "R-120", "G-13")
@pytest.mark.parametrize("dtype", [FLOAT32, INT32, BOOL], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("destination", CARRIERS)
@pytest.mark.parametrize("source", CARRIERS)
def test_values_arrive_bit_by_bit(source: str, destination: str, dtype: DType) -> None:
    for text in LAYOUTS:
        layout = Layout.parse(text)
        carrier = CARRIERS[source](values_of(dtype, layout.cosize + 2), dtype)
        tensor = Tensor(carrier, 1, layout)
        expected = bits(tensor)
        target = CARRIERS[destination](values_of(dtype, layout.cosize + 1)[::-1], dtype)
        last = target[layout.cosize]
        moved = sw.move(tensor, target)
        assert moved.carrier is target and moved.offset == 0 and moved.layout is layout
        assert bits(moved) == expected
        assert target[layout.cosize] == last and target.version == 1
        assert carrier.is_released() and not target.is_owned()


@pytest.mark.rule("M-16", "M-9", "C-41")
@pytest.mark.parametrize("destination", BULK)
@pytest.mark.parametrize("source", BULK)
def test_between_bulk_carriers_no_slot_is_touched(
    source: str, destination: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*arguments: Any) -> Any:
        raise AssertionError("a slot was touched")

    layout = Layout.parse("(3,2):(2,0)")
    tensor = Tensor(CARRIERS[source](values_of(FLOAT32, 9), FLOAT32), 2, layout)
    expected = bits(tensor)
    target = CARRIERS[destination]([0.0] * 5, FLOAT32)
    with monkeypatch.context() as patch:
        for carrier in (tensor.carrier, target):
            for name in ("get_value", "set_value", "__getitem__", "__setitem__"):
                patch.setattr(type(carrier), name, forbidden)
            storage = carrier._class_record.storage
            if storage is not None:
                patch.setattr(type(storage), "read", forbidden)
                patch.setattr(type(storage), "write", forbidden)
        moved = sw.move_async(tensor, target).wait(BOUND)
    assert bits(moved) == expected


@pytest.mark.rule("M-16")
def test_a_true_byte_of_foreign_memory_arrives_as_one() -> None:
    memory = np.array([0, 1, 2, 255], np.uint8)
    foreign = CPU(4, memory.ctypes.data, dtype=BOOL)
    target = CPU(4, dtype=BOOL)
    sw.move(Tensor(foreign, 0, Layout.parse("4:1")), target)
    memory = np.asarray(target._host_array())
    assert memory.view(np.uint8).tolist() == [0, 1, 1, 1]


@pytest.mark.rule("M-31", "M-32", "M-34", "G-13")
@pytest.mark.parametrize("destination", CARRIERS)
@pytest.mark.parametrize("source", CARRIERS)
def test_gradients_come_back_to_the_source_class(source: str, destination: str) -> None:
    leaf = Tensor(CARRIERS[source]([0.0, 1.0, 0.0, 2.0], FLOAT32), 1, Layout.parse("2:2"))
    moved = sw.move(leaf, CARRIERS[destination]([0.0] * 3, FLOAT32))
    assert type(moved.autograd_ctx) is ElementwiseMoveOperation
    cotangent = Tensor(CARRIERS[destination]([3.0, 0.0, 4.0], FLOAT32), 0, moved.layout)
    moved.backward(cotangent)
    assert leaf.grad is not None and type(leaf.grad.carrier) is type(leaf.carrier)
    assert leaf.grad.tolist() == [3.0, 4.0] and leaf.grad.layout == leaf.layout
    assert not cotangent.carrier.is_released()


@pytest.mark.rule("M-31", "M-55")
def test_a_network_may_cross_carriers() -> None:
    """Half of a computation on ArrayCarrier, half on CPU, one gradient."""
    leaf = Tensor(CARRIERS["array"]([1.0, 2.0], FLOAT32), 0, Layout.parse("2:1"))
    on_cpu = sw.copy(sw.mul(leaf, leaf), CPU(2))
    back = sw.move(sw.mul(on_cpu, 3.0), ArrayCarrier(0, dtype=FLOAT32))
    total = sw.add(back, leaf)
    total.backward(Tensor(CARRIERS["array"]([1.0, 1.0], FLOAT32), 0, Layout.parse("2:1")))
    assert leaf.grad is not None and leaf.grad.tolist() == [7.0, 13.0]  # 6 x + 1


@pytest.mark.rule("M-13", "M-14", "R-120", "C-4")
def test_shipped_pairs_dispatch_to_the_elementwise_copy_unless_registered() -> None:
    for first in (CPU, Generic):
        for second in (CPU, Generic):
            assert dispatch_move(first, second) is ElementwiseMoveOperation

    class Other(ElementwiseMoveOperation):
        pass

    with registered_move_operation(Generic, CPU, Other):
        tensor = Tensor(Generic([1.0]), 0, Layout.parse("1:1"))
        assert type(sw.move(tensor, CPU(1)).autograd_ctx) is Other
    with pytest.raises(RuntimeError, match="ArrayCarrier has a CarrierDefinition"):
        dispatch_move(CPU, ArrayCarrier)


@pytest.mark.rule("M-8", "R-12", "C-2")
def test_a_subclass_of_a_definition_backed_class_moves_on_its_own_terms() -> None:
    class Defined(Carrier):
        cells: list[Any]

    storage = sw.StorageProvider[Defined](
        supports_dtype=lambda carrier, dtype: dtype is FLOAT32,
        physical_size=lambda carrier: len(carrier.cells),
        allocate=lambda carrier, slots: setattr(carrier, "cells", [0.0] * slots),
        release=lambda carrier: carrier.cells.clear(),
        read=lambda carrier, index: carrier.cells[index],
        write=lambda carrier, index, value: carrier.cells.__setitem__(index, value),
    )
    sw.register_carrier_definition(Defined, sw.CarrierDefinition(storage))

    class Heir(Listed, Defined):
        pass

    refused = Tensor(Defined(1, dtype=FLOAT32), 0, Layout.parse("1:1"))
    with pytest.raises(NotImplementedError, match=r"Defined, CPU\): elementwise .* by .*Defined;"):
        sw.move(refused, CPU(1))
    heir = Tensor(Heir([5.0], FLOAT32), 0, Layout.parse("1:1"))
    assert sw.move(heir, CPU(1)).tolist() == [5.0]


@pytest.mark.rule("M-40")
def test_mixed_pairs_are_explained() -> None:
    tensor = Tensor(CPU(3), 0, Layout.parse("3:1"))
    found = sw.explain_move(tensor, ArrayCarrier(0, dtype=FLOAT32))
    assert (found.kind, found.allocates, found.reverse_kind) == ("elementwise", True, "elementwise")
    assert str(found).startswith("CPU -> ArrayCarrier\n  elementwise by ElementwiseMoveOperation")
    assert sw.explain_move(tensor, CPU(0)).reason == (
        "the destination CPU is too small: it has 0 slots, and layout 3:1 needs 3; it cannot grow: "
        "construct one with at least 3 slots"
    )
