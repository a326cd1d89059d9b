"""Versions under movement, residency, mutated operands, and writes around the carrier."""

import ctypes
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import strideweave as sw
from strideweave import (
    CPU,
    Carrier,
    DType,
    Evictable,
    FileBacked,
    Generic,
    Layout,
    Tensor,
)
from strideweave.carriers.extension import PreparedKernel, ProviderResult
from strideweave.carriers.operation_capability import register_operation_capabilities
from strideweave.carriers.operation_policy import OperationPlan, resolve_operation_plan
from strideweave.operation import ResolvedInvocation, bind_kernel
from strideweave.testing import ArrayCarrier

FLOAT = DType.Float32
BOUND = 30.0
HELD = [1.0, 2.0, 3.0, 4.0]

Make = Callable[[Sequence[float]], Carrier]
CARRIERS: dict[str, Make] = {
    "array": lambda values: ArrayCarrier(0, dtype=FLOAT).new_like(values),
    "generic": lambda values: Generic(values),
    "cpu": lambda values: CPU(0).new_like(values),
    "evictable": lambda values: Evictable(CPU(0).new_like(values), FileBacked()),
    "files": lambda values: FileBacked().new_like(values),
}
ALLOCATING: dict[str, Callable[[], Carrier]] = {
    "array": lambda: ArrayCarrier(0, dtype=FLOAT),
    "files": lambda: FileBacked(),
}


def flat(carrier: Carrier) -> Tensor:
    return Tensor(carrier, 0, Layout.parse(f"{carrier.size()}:1"))


# Movement


@pytest.mark.rule("G-4", "M-21", "M-55", "S-6")
@pytest.mark.parametrize("call", ["move", "copy"])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("destination", CARRIERS)
@pytest.mark.parametrize("source", CARRIERS)
def test_arriving_values_are_one_step_and_leaving_ones_none(
    source: str, destination: str, is_async: bool, call: str
) -> None:
    values, target = flat(CARRIERS[source](HELD)), CARRIERS[destination]([9.0] * 5)
    stale = Tensor(target, 0, values.layout)
    graph = None if destination == "files" else sw.neg(stale)
    if is_async:
        moved = getattr(sw, f"{call}_async")(values, target).wait(BOUND)
    else:
        moved = getattr(sw, call)(values, target)
    assert moved.tolist() == HELD
    assert (target.version, moved.version, values.version) == (1, 1, 0)
    if graph is not None:
        with pytest.raises(RuntimeError, match="modified in-place"):
            graph.backward(flat(target.new_like([1.0] * 4)))


@pytest.mark.rule("G-4", "M-21", "S-6", "M-5")
@pytest.mark.parametrize("call", ["move", "copy"])
@pytest.mark.parametrize("destination", ALLOCATING)
@pytest.mark.parametrize("source", CARRIERS)
def test_a_destination_that_the_move_sized_starts_fresh(
    source: str, destination: str, call: str
) -> None:
    target = ALLOCATING[destination]()
    moved = getattr(sw, call)(flat(CARRIERS[source](HELD)), target)
    assert moved.tolist() == HELD and target.version == 0
    assert moved.is_mutable()
    moved[0] = 5.0
    assert target.version == 1


@pytest.mark.rule("G-4", "M-32", "M-34")
@pytest.mark.parametrize("kind", [name for name in CARRIERS if name != "files"])
def test_a_moved_graph_ends_at_the_released_source(kind: str) -> None:
    leaf = flat(CARRIERS[kind](HELD))
    moved = sw.move(leaf, FileBacked())
    back = sw.move(moved, CARRIERS[kind]([0.0] * 4))
    sw.mul(back, 3.0).backward(flat(back.carrier.new_like([1.0] * 4)))
    assert leaf.version == 0 and leaf.grad is not None
    assert leaf.grad.tolist() == [3.0] * 4


# Release, residency, gradients


@pytest.mark.rule("G-4", "C-28", "C-30")
@pytest.mark.parametrize("kind", CARRIERS)
def test_release_is_no_step(kind: str) -> None:
    carrier = CARRIERS[kind](HELD)
    carrier[0] = 5.0
    carrier.release()
    carrier.release()
    assert carrier.version == 1 and carrier.new_like([1.0]).version == 0


@pytest.mark.rule("G-4", "C-28", "C-72", "A-24")
def test_residency_is_no_step_and_keeps_graphs() -> None:
    carrier = Evictable(CPU(0).new_like(HELD), FileBacked())
    leaf = flat(carrier)
    graph = sw.mul(leaf, leaf)
    for _ in range(3):
        carrier.evict()
        assert carrier.version == 0
        with pytest.raises(RuntimeError, match="promote"):
            leaf[0]
        with pytest.raises(RuntimeError, match="promote"):
            leaf[0] = 5.0
        with pytest.raises(RuntimeError, match="promote"):
            leaf[...] = 5.0
        carrier.promote()
        assert carrier.version == 0 and leaf.tolist() == HELD
    graph.backward(flat(carrier.new_like([1.0] * 4)))
    assert leaf.grad is not None and leaf.grad.tolist() == [2.0, 4.0, 6.0, 8.0]
    leaf[0] = 5.0
    carrier.evict()
    carrier.promote()
    assert carrier.version == 1 and leaf[0] == 5.0


@pytest.mark.rule("G-4", "A-17", "A-19")
@pytest.mark.parametrize("kind", [name for name in CARRIERS if name != "files"])
def test_a_gradient_in_the_hands_of_the_caller_keeps_its_values(kind: str) -> None:
    leaf = flat(CARRIERS[kind](HELD))
    one = flat(leaf.carrier.new_like([1.0] * 4))
    sw.mul(leaf, 2.0).backward(one)
    first = leaf.grad
    sw.mul(leaf, 3.0).backward(one)
    assert first is not None and leaf.grad is not None
    assert leaf.grad.tolist() == [5.0] * 4 and leaf.version == 0
    assert first.tolist() == [2.0] * 4 or first.version > 0


# Memory of others


@pytest.mark.rule("G-4", "M-51", "M-52")
def test_imported_memory_counts_its_own_writes() -> None:
    array = np.zeros((2, 2), np.float32)
    for tensor in (sw.from_numpy(array), sw.from_dlpack(array)):
        assert tensor.version == 0
        tensor[0, 0] = 1.0
        tensor[...] = 2.0
        assert tensor.version == 2 and array.tolist() == [[2.0, 2.0]] * 2


def _numpy_write(carrier: Any) -> None:
    flat(carrier).numpy()[0] = 9.0


def _dlpack_write(carrier: Any) -> None:
    np.from_dlpack(flat(carrier))[0] = 9.0


def _pointer_write(carrier: Any) -> None:
    ctypes.c_float.from_address(carrier.pointer()).value = 9.0


def _file_write(carrier: Any) -> None:
    with open(carrier.path, "r+b") as file:
        os.pwrite(file.fileno(), np.float32(9.0).tobytes(), 0)


@pytest.mark.rule("G-4", "C-28", "M-45")
@pytest.mark.parametrize(
    ("kind", "write"),
    [
        ("cpu", _numpy_write),
        ("cpu", _dlpack_write),
        ("cpu", _pointer_write),
        ("files", _file_write),
    ],
)
def test_writes_around_the_carrier_are_the_callers_responsibility(
    kind: str, write: Callable[[Any], None]
) -> None:
    carrier = CARRIERS[kind](HELD)
    graph = sw.mul(flat(carrier), 1.0) if kind == "cpu" else None
    write(carrier)
    assert carrier[0] == 9.0 and carrier.version == 0
    if graph is not None:
        graph.backward(flat(carrier.new_like([1.0] * 4)))


@pytest.mark.rule("G-4", "M-45")
def test_backward_uses_values_that_changed_around_the_carrier() -> None:
    leaf = flat(CARRIERS["cpu"](HELD))
    graph = sw.mul(leaf, leaf)
    leaf.numpy()[0] = 50.0
    graph.backward(flat(leaf.carrier.new_like([1.0] * 4)))
    assert leaf.grad is not None and leaf.grad.tolist() == [100.0, 4.0, 6.0, 8.0]


# Mutated operands of custom definitions

NAME = "version_tests.accumulate"
SHAPED = resolve_operation_plan("add", FLOAT, FLOAT)
PLAN = OperationPlan(NAME, SHAPED.operands, SHAPED.compute, None, None, FLOAT)
WRITES_PER_CALL = 3


def resolve_accumulation(call: Any) -> ResolvedInvocation:
    total = call.operands[0]
    spec = sw.ResultSpec(FLOAT, total.shape, total.layout, alias_of=0)
    return ResolvedInvocation(call, PLAN, [spec], mutated_operands=(0,))


ACCUMULATE = sw.define_operation(
    NAME,
    sw.OperationSchema(
        (
            sw.OperandSpec("total", sw.OperandKind.TENSOR),
            sw.OperandSpec("term", sw.OperandKind.TENSOR),
        )
    ),
    resolve_accumulation,
    vjp=sw.NON_DIFFERENTIABLE,
)


def accumulate(invocation: Any) -> Tensor:
    """Add the second operand to the first one, by public writes."""
    total, term = invocation.operands
    for ordinal in range(WRITES_PER_CALL):
        total[ordinal] = total[ordinal] + term[ordinal]
    found: Tensor = total
    return found


class Adding(sw.Carrier):
    """Definition-backed; executes the accumulation and nothing else."""


class Own(sw.Carrier):
    """Definition-free; executes the accumulation by its dispatch hook."""

    def __init__(self, values: Sequence[float]) -> None:
        super().__init__()
        self.cells = list(values)

    def size(self) -> int:
        return len(self.cells)

    def dtype(self) -> DType:
        return FLOAT

    def get_value(self, index: Any) -> Any:
        return self.cells[index]

    def set_value(self, index: Any, value: Any) -> None:
        self.cells[index] = value

    def _is_mutable(self) -> bool:
        return True

    def _dispatch_op(self, operation_name: str) -> sw.Operation:
        return bind_kernel(operation_name, accumulate)


def adding() -> sw.CarrierDefinition[Any]:
    pattern: Any = sw.KernelPattern(
        ACCUMULATE,
        [CAPABILITY],
        "accumulate",
        lambda invocation, interface: PreparedKernel(
            interface, lambda: ProviderResult((accumulate(invocation),))
        ),
    )
    storage: Any = sw.StorageProvider(
        lambda carrier, dtype: dtype is FLOAT,
        lambda carrier: len(carrier.cells),
        lambda carrier, slots: setattr(carrier, "cells", [0.0] * slots),
        lambda carrier: carrier.cells.clear(),
        lambda carrier, slot: carrier.cells[slot],
        lambda carrier, slot, value: carrier.cells.__setitem__(slot, value),
        elementwise_fallback=True,
    )
    return sw.CarrierDefinition(
        storage, sw.KernelProvider(sw.KernelExecutionInterface("1"), [pattern])
    )


CAPABILITY = sw.OperationCapability.from_plan(PLAN)
register_operation_capabilities(Own, [CAPABILITY])
sw.register_carrier_definition(Adding, adding())
MUTATING: dict[str, Make] = {
    "definition-backed": lambda values: Adding(0, dtype=FLOAT).new_like(values),
    "definition-free": lambda values: Own(values),
    "evictable": lambda values: Evictable(Adding(0, dtype=FLOAT).new_like(values), Generic([])),
}


@pytest.mark.rule("G-4", "O-71", "O-72", "C-69")
@pytest.mark.parametrize("kind", MUTATING)
def test_a_mutated_operand_is_one_step_however_often_it_was_written(kind: str) -> None:
    total, term = flat(MUTATING[kind]([1.0, 2.0, 3.0])), flat(MUTATING[kind]([10.0] * 3))
    for calls in (1, 2):
        assert ACCUMULATE(total, term) is total
        assert (total.version, term.version) == (calls, 0)
    assert total.tolist() == [21.0, 22.0, 23.0] and term.tolist() == [10.0] * 3


@pytest.mark.rule("G-4", "O-71", "G-3")
@pytest.mark.parametrize("kind", ["definition-backed", "evictable"])
def test_an_operand_that_cannot_be_mutated_keeps_its_version(kind: str) -> None:
    fixed: Carrier = Adding(3, dtype=FLOAT, mutable=False)
    if kind == "evictable":
        fixed = Evictable(fixed, Generic([]))
    with pytest.raises(RuntimeError, match="not mutable"):
        ACCUMULATE(flat(fixed), flat(MUTATING[kind]([10.0] * 3)))
    assert fixed.version == 0 and flat(fixed).tolist() == [0.0] * 3
