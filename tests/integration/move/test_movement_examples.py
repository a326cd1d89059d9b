"""The worked examples of docs/contract/60-movement.md about movement."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import CPU, DType, Evictable, FileBacked, Generic, Layout, Shape, Stride, Tensor
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    MoveOperation,
    dispatch_move,
    register_move_operation,
    registered_move_operation,
    unregister_move_operation,
)

F, I = DType.Float32, DType.Int32  # noqa: E741  # as in the examples


def flat(size: int) -> Layout:
    return Layout(Shape(size), Stride(1))


def cpu(values: list[Any], dtype: DType = F) -> CPU:
    carrier = CPU(len(values), dtype=dtype)
    for slot, value in enumerate(values):
        carrier[slot] = value
    return carrier


def over(carrier: Any, layout: Layout | None = None, offset: int = 0) -> Tensor:
    return Tensor(carrier, offset, layout or flat(carrier.size()))


def values(tensor: Any) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


def live() -> Tensor:
    return over(cpu([1.0, 2.0]))


@pytest.mark.rule("60/E-1")
def test_bulk_allocate_release() -> None:
    source, destination = over(cpu([1.0, 2.0, 3.0])), FileBacked(dtype=F)
    moved = sw.move(source, destination)
    assert moved.carrier is destination and values(moved) == [1, 2, 3]
    assert destination.size() == 3 and source.carrier.is_released()
    assert moved.layout == source.layout
    with pytest.raises(RuntimeError, match="released"):
        source[0]


@pytest.mark.rule("60/E-2")
def test_the_offset_becomes_zero() -> None:
    view, destination = Tensor(cpu([0.0, 1.0, 2.0, 3.0, 4.0]), 2, flat(3)), FileBacked(dtype=F)
    moved = sw.move(view, destination)
    assert (moved.offset, destination.size(), values(moved)) == (0, 3, [2, 3, 4])


@pytest.mark.rule("60/E-3")
def test_holes_travel_along() -> None:
    holes = over(cpu([1.0, 7.0, 2.0, 8.0, 3.0]), Layout(Shape(3), Stride(2)))
    destination = FileBacked(dtype=F)
    moved = sw.move(holes, destination)
    assert destination.size() == 5 and values(moved) == [1, 2, 3]


@pytest.mark.rule("60/E-4")
def test_a_broadcast_keeps_stride_zero() -> None:
    broadcast = over(cpu([5.0, 6.0]), Layout(Shape([2, 3]), Stride([1, 0])))
    destination = FileBacked(dtype=F)
    moved = sw.move(broadcast, destination)
    assert destination.size() == 2 and moved.layout == broadcast.layout and moved[1, 2] == 6


@pytest.mark.rule("60/E-5")
def test_cpu_cannot_grow() -> None:
    tensor = live()
    with pytest.raises(ValueError, match="too small"):
        sw.move(tensor, CPU(0))
    assert values(tensor) == [1, 2]
    assert values(sw.move(tensor, CPU(4))) == [1, 2]


@pytest.mark.rule("60/E-6", "M-18")
def test_precedence() -> None:
    released = live()
    released.carrier.release()
    tier = cpu([1.0])
    hierarchy = Evictable(tier, CPU(0))
    tensor = live()
    gone = CPU(2, mutable=False, dtype=I)
    gone.release()
    cases: list[tuple[Any, Any, type[Exception], str]] = [
        ([tensor], tensor, TypeError, "tensor must be a Tensor"),
        (released, 3, RuntimeError, "released"),
        (over(tier), 3, RuntimeError, "cannot be moved directly"),
        (tensor, CPU, TypeError, "Carrier instance"),
        (tensor, tensor.carrier, ValueError, "own carrier"),
        (tensor, gone, RuntimeError, "released"),
        (tensor, CPU(0, mutable=False, dtype=I), RuntimeError, "mutable"),
        (tensor, tier, RuntimeError, "mutable"),
        (tensor, CPU(0, dtype=I), TypeError, "dtype must match"),
    ]
    for given, destination, kind, message in cases:
        with pytest.raises(kind, match=message):
            sw.move(given, destination)
    assert values(tensor) == [1, 2] and not hierarchy.is_evicted()


@pytest.mark.rule("60/E-7")
def test_exact_pairs() -> None:
    assert dispatch_move(CPU, FileBacked) is sw.CpuToFileBackedMoveOperation
    assert dispatch_move(CPU, CPU) is ElementwiseMoveOperation
    to_file = sw.CpuToFileBackedMoveOperation
    assert (to_file.source_class, to_file.destination_class) == (CPU, FileBacked)
    assert ElementwiseMoveOperation.source_class is None


@pytest.mark.rule("60/E-8")
def test_registration_refusals() -> None:
    with pytest.raises(ValueError, match="already registered"):
        register_move_operation(CPU, FileBacked, ElementwiseMoveOperation)
    wrong: Any = int
    with pytest.raises(TypeError, match="source_class"):
        register_move_operation(wrong, wrong, wrong)
    with pytest.raises(TypeError, match="MoveOperation subclass"):
        register_move_operation(CPU, CPU, wrong)
    with pytest.raises(KeyError, match="no move operation is registered"):
        unregister_move_operation(CPU, CPU)


@pytest.mark.rule("60/E-9")
def test_a_custom_operation_gets_the_cosize_count() -> None:
    class Half(MoveOperation):
        def _copy(self, tensor: Any, destination: Any, output: Any, element_count: int) -> None:
            assert element_count == 5 and output.carrier is destination
            for ordinal in range(tensor.size()):
                destination[tensor.layout.index(ordinal)] = tensor[ordinal] / 2

    with registered_move_operation(CPU, CPU, Half) as operation:
        tensor = over(cpu([2.0, 0.0, 4.0, 0.0, 6.0]), Layout(Shape(3), Stride(2)))
        moved = sw.move(tensor, CPU(5))
        assert operation is Half and values(moved) == [1, 2, 3]
        assert type(moved.autograd_ctx) is Half
    assert dispatch_move(CPU, CPU) is ElementwiseMoveOperation


@pytest.mark.rule("60/E-10")
def test_a_failing_copy() -> None:
    class Boom(ElementwiseMoveOperation):
        def _copy(self, *arguments: Any) -> None:
            raise OSError("boom")

    with registered_move_operation(CPU, CPU, Boom):
        tensor, destination = live(), CPU(2)
        with pytest.raises(OSError, match="boom"):
            sw.move(tensor, destination)
        assert values(tensor) == [1, 2] and not tensor.carrier.is_released()
        assert destination.is_mutable() and not destination.is_owned()


@pytest.mark.rule("60/E-11")
def test_a_pinned_class() -> None:
    with registered_move_operation(Generic, FileBacked, sw.CpuToFileBackedMoveOperation):
        with pytest.raises(TypeError, match="requires a CPU source"):
            sw.move(over(Generic([1.0])), FileBacked())


@pytest.mark.rule("60/E-12")
def test_gradients_return() -> None:
    leaf = live()
    result = sw.move(sw.move(leaf, FileBacked(dtype=F)), CPU(2))
    result.backward(over(cpu([3.0, 4.0])))
    gradient = leaf.grad
    assert gradient is not None and type(gradient.carrier) is CPU
    assert values(gradient) == [3, 4] and gradient.autograd_ctx is None


@pytest.mark.rule("60/E-13")
def test_cotangent_rules() -> None:
    leaf = live()
    node: Any = sw.move(leaf, FileBacked(dtype=F)).autograd_ctx
    assert node.inputs() == (leaf,)
    with pytest.raises(TypeError, match="Tensor"):
        node.backward(3)
    with pytest.raises(ValueError, match="shape"):
        node.backward(over(cpu([1.0, 2.0, 3.0])))
    with pytest.raises(ValueError, match="injective"):
        node.backward(over(cpu([1.0]), Layout(Shape(2), Stride(0))))
    assert values(node.backward(over(Generic([1.0, 2.0], dtype=F)))[0]) == [1, 2]


@pytest.mark.rule("60/E-14")
def test_a_broadcast_source_gets_a_canonical_gradient() -> None:
    broadcast = over(cpu([5.0, 6.0]), Layout(Shape([2, 3]), Stride([1, 0])))
    node: Any = sw.move(broadcast, FileBacked(dtype=F)).autograd_ctx
    canonical = Layout(Shape([2, 3]), Stride([1, 2]))
    (gradient,) = node.backward(over(cpu([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), canonical))
    assert gradient.layout == canonical and values(gradient) == [1, 2, 3, 4, 5, 6]


@pytest.mark.rule("60/E-15")
def test_no_node() -> None:
    with sw.no_grad():
        assert sw.move(live(), CPU(2)).autograd_ctx is None
    assert sw.move(over(cpu([1, 2], I)), CPU(2, dtype=I)).autograd_ctx is None


@pytest.mark.rule("60/E-31")
def test_a_copy_keeps_its_source() -> None:
    kept = live()
    copied = sw.copy(kept, CPU(2))
    assert values(copied) == [1, 2] == values(kept) and not kept.carrier.is_owned()
