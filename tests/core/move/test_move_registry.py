"""The registry of pairs of definition-free classes, and operations of one's own."""

import gc
import threading
import weakref
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Tensor
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    MoveOperation,
    dispatch_move,
    register_move_operation,
    registered_move_operation,
    unregister_move_operation,
)
from strideweave.carriers.move.registry import add_move_operation, close_pairs

FLOAT32 = DType.Float32
BOUND = 20.0


class Halving(MoveOperation):
    """Writes half of each value by public writes."""

    def _copy(self, tensor: Any, destination: Any, output: Any, element_count: int) -> None:
        for ordinal in range(tensor.size()):
            destination[tensor.layout.index(ordinal)] = tensor[ordinal] / 2


@pytest.mark.rule("M-13", "M-14")
def test_pairs_are_exact_and_entries_come_and_go(yard: Any) -> None:
    first, second = yard.subclass("First", yard.Listed), yard.subclass("Second", yard.Listed)
    assert dispatch_move(first, second) is ElementwiseMoveOperation
    register_move_operation(first, second, Halving)
    assert dispatch_move(first, second) is Halving
    assert dispatch_move(second, first) is dispatch_move(first, first) is ElementwiseMoveOperation
    assert dispatch_move(yard.subclass("Heir", first), second) is ElementwiseMoveOperation
    assert unregister_move_operation(first, second) is Halving
    assert dispatch_move(first, second) is ElementwiseMoveOperation


@pytest.mark.rule("M-13")
def test_the_base_classes_are_accepted() -> None:
    register_move_operation(Carrier, Carrier, MoveOperation)
    assert dispatch_move(Carrier, Carrier) is MoveOperation
    assert unregister_move_operation(Carrier, Carrier) is MoveOperation


@pytest.mark.rule("M-13", "60/E-26", "G-17")
def test_refusals_in_their_order(yard: Any) -> None:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)
    defined = yard.define(yard.subclass("Defined"))
    closed = yard.subclass("Closed", yard.Listed)
    close_pairs(closed)
    register_move_operation(shelf, box, Halving)
    add_move_operation(closed, shelf, Halving)
    cases: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
        (register_move_operation, (int, int, int), TypeError, "source_class must be a Carrier sub"),
        (register_move_operation, (shelf([]), box, Halving), TypeError, "source_class must be"),
        (register_move_operation, (shelf, 3, int), TypeError, "destination_class must be a Carr"),
        (register_move_operation, (closed, defined, int), TypeError, "MoveOperation subclass"),
        (register_move_operation, (shelf, box, Halving()), TypeError, "MoveOperation subclass"),
        (register_move_operation, (defined, closed, Halving), ValueError, "Closed are protected"),
        (register_move_operation, (closed, shelf, Halving), ValueError, "Closed are protected"),
        (register_move_operation, (defined, shelf, Halving), RuntimeError, "Defined .*TransferRo"),
        (register_move_operation, (shelf, defined, Halving), RuntimeError, "Defined .*TransferRo"),
        (register_move_operation, (shelf, box, Halving), ValueError, r"already .* \(Shelf, Box\)"),
        (unregister_move_operation, (int, box), TypeError, "source_class must be a Carrier sub"),
        (unregister_move_operation, (box, int), TypeError, "destination_class must be a Carrier"),
        (unregister_move_operation, (closed, shelf), ValueError, "Closed are protected built-ins"),
        (unregister_move_operation, (defined, box), RuntimeError, "Defined .*TransferRoute"),
        (unregister_move_operation, (box, shelf), KeyError, r"no move operation is registered .*"),
        (dispatch_move, (None, box), TypeError, "source_class must be a Carrier subclass"),
        (dispatch_move, (box, None), TypeError, "destination_class must be a Carrier subclass"),
        (dispatch_move, (defined, closed), NotImplementedError, r"\(Defined, Closed\).*built-in"),
        (dispatch_move, (defined, box), RuntimeError, "Defined .*TransferRoute"),
    ]
    for function, arguments, kind, message in cases:
        with pytest.raises(kind, match=message) as refusal:
            function(*arguments)
        assert type(refusal.value) is kind
    assert dispatch_move(shelf, box) is Halving and dispatch_move(closed, shelf) is Halving


@pytest.mark.rule("R-116", "R-121", "60/E-26")
def test_reject_mixed_authority_over_movement(yard: Any) -> None:
    source, destination = yard.pair()
    shelf = yard.subclass("Shelf", yard.Listed)
    for pair in ((source, destination), (source, shelf), (shelf, destination)):
        with pytest.raises(RuntimeError, match="TransferRoute"):
            register_move_operation(*pair, Halving)
        with pytest.raises(RuntimeError, match="TransferRoute"):
            with registered_move_operation(*pair, Halving):
                pytest.fail("entered")
    moved = sw.move(yard.tensor(source, 4.0), destination(0, dtype=FLOAT32))
    assert moved.tolist() == [4.0] and not isinstance(moved.autograd_ctx, Halving)


@pytest.mark.rule("R-115", "R-119")
def test_a_legacy_custom_carrier_moves_by_its_registration(yard: Any) -> None:
    shelf = yard.subclass("Shelf", yard.Listed)
    assert sw.move(yard.over(shelf([4.0])), shelf([0.0])).tolist() == [4.0]
    register_move_operation(shelf, shelf, Halving)
    moved = sw.move(yard.over(shelf([4.0])), shelf([0.0]))
    assert moved.tolist() == [2.0] and type(moved.autograd_ctx) is Halving


@pytest.mark.rule("M-13")
def test_a_class_in_an_entry_gets_no_definition(yard: Any) -> None:
    for position in (0, 1):
        pair = [yard.subclass("First"), yard.subclass("Second")]
        register_move_operation(pair[0], pair[1], Halving)
        with pytest.raises(TypeError, match="sealed by the move operation registered for it"):
            yard.define(pair[position])
    untouched, other = yard.subclass("Untouched"), yard.subclass("Other")
    with pytest.raises(TypeError, match="MoveOperation subclass"):
        register_move_operation(untouched, other, int)  # type: ignore[arg-type]
    yard.define(untouched)


@pytest.mark.rule("M-13")
def test_the_context_manager_registers_on_entering_and_swallows_nothing(yard: Any) -> None:
    shelf = yard.subclass("Shelf", yard.Listed)
    manager = registered_move_operation(shelf, shelf, Halving)
    assert dispatch_move(shelf, shelf) is ElementwiseMoveOperation
    with manager as operation:
        assert operation is Halving and dispatch_move(shelf, shelf) is Halving
        with pytest.raises(ValueError, match="already registered"):
            with registered_move_operation(shelf, shelf, Halving):
                pytest.fail("entered")
        assert dispatch_move(shelf, shelf) is Halving
    assert dispatch_move(shelf, shelf) is ElementwiseMoveOperation
    with pytest.raises(LookupError, match="inside"):
        with registered_move_operation(shelf, shelf, Halving):
            raise LookupError("inside")
    assert dispatch_move(shelf, shelf) is ElementwiseMoveOperation
    with pytest.raises(TypeError, match="source_class"):
        with registered_move_operation(int, shelf, Halving):  # type: ignore[arg-type]
            pytest.fail("entered")


@pytest.mark.rule("M-15", "M-31")
def test_a_custom_operation_copies_and_becomes_the_node(yard: Any) -> None:
    seen: list[Any] = []

    class Watching(Halving):
        def __init__(self) -> None:
            seen.append(self)

        def _copy(self, tensor: Any, destination: Any, output: Any, element_count: int) -> None:
            seen.append((tensor, destination, output, element_count))
            assert type(output) is Tensor and output.carrier is destination
            assert (output.offset, output.layout) == (0, tensor.layout)
            assert destination.is_mutable() and destination._has_owner_access()
            assert tensor.carrier._has_owner_access() and not sw.is_grad_enabled()
            super()._copy(tensor, destination, output, element_count)

    shelf = yard.subclass("Shelf", yard.Listed)
    with registered_move_operation(shelf, shelf, Watching):
        for act in (sw.move, lambda t, d: sw.move_async(t, d).wait(BOUND)):
            seen.clear()
            tensor = yard.over(shelf([9.0, 2.0, 0.0, 4.0, 0.0, 6.0]), Layout.parse("3:2"), 1)
            target = shelf([7.0] * 5)
            moved = act(tensor, target)
            operation, arguments = seen
            assert arguments == (tensor, target, moved, 5)
            assert operation.inputs() == (tensor,) and moved._autograd_ctx is operation
            assert target.cells == [1.0, 7.0, 2.0, 7.0, 3.0] and target.version == 3


@pytest.mark.rule("M-15", "G-3")
def test_an_operation_that_cannot_be_made_refuses_the_move(yard: Any) -> None:
    class Demanding(Halving):
        def __init__(self, argument: int) -> None:
            pytest.fail("the framework passes nothing")

    shelf = yard.subclass("Shelf", yard.Listed)
    tensor, target = yard.over(shelf([4.0])), shelf([0.0])
    before = yard.state(tensor.carrier, target)
    with registered_move_operation(shelf, shelf, Demanding):
        with pytest.raises(TypeError, match="argument"):
            sw.move_async(tensor, target)
    assert yard.state(tensor.carrier, target) == before


@pytest.mark.rule("M-15")
def test_the_default_copy_says_what_to_implement(yard: Any) -> None:
    shelf = yard.subclass("Shelf", yard.Listed)
    with registered_move_operation(shelf, shelf, MoveOperation):
        with pytest.raises(NotImplementedError, match=r"MoveOperation must implement _copy\("):
            sw.move(yard.over(shelf([1.0])), shelf([0.0]))


@pytest.mark.rule("M-15")
def test_pins_are_exact_classes(yard: Any) -> None:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)

    class Pinned(Halving):
        source_class = shelf
        destination_class = box

    assert (MoveOperation.source_class, ElementwiseMoveOperation.destination_class) == (None, None)
    with registered_move_operation(shelf, box, Pinned):
        assert sw.move(yard.over(shelf([2.0])), box([0.0])).tolist() == [1.0]
    heir = yard.subclass("Heir", shelf)
    with registered_move_operation(heir, box, Pinned):
        with pytest.raises(TypeError, match="Pinned requires a Shelf source, got Heir"):
            sw.move(yard.over(heir([2.0])), box([0.0]))


@pytest.mark.rule("M-18")
@pytest.mark.parametrize("operation", [MoveOperation, ElementwiseMoveOperation, Halving])
def test_an_operation_is_not_called(operation: Any, yard: Any) -> None:
    with pytest.raises(RuntimeError, match=r"strideweave\.move\(tensor, destination\)"):
        operation().forward(yard.over(yard.Listed([1.0])), yard.Listed([0.0]))


@pytest.mark.rule("M-17")
def test_a_class_with_closed_pairs_moves_by_the_built_in_ones_only(yard: Any) -> None:
    closed = yard.subclass("Closed", yard.Listed)
    partner = yard.subclass("Partner", yard.Listed)
    other = yard.subclass("Other", yard.Listed)
    close_pairs(closed)
    add_move_operation(closed, partner, Halving)
    add_move_operation(partner, closed, ElementwiseMoveOperation)
    assert dispatch_move(closed, partner) is Halving
    assert sw.move(yard.over(closed([2.0])), partner([0.0])).tolist() == [1.0]
    permitting = yard.elementwise("Permitting")
    refused = [
        (closed([1.0]), other([0.0])),
        (other([1.0]), closed([0.0])),
        (closed([1.0]), closed([0.0])),
        (yard.carrier(permitting, 1.0), closed([0.0])),
        (closed([1.0]), yard.carrier(permitting, 0.0)),
    ]
    for source, target in refused:
        before = yard.state(source, target)
        with pytest.raises(NotImplementedError, match="Closed by its built-in pairs only"):
            sw.move(yard.over(source), target)
        assert yard.state(source, target) == before
    declaring = yard.subclass("Declaring")
    yard.define(declaring, [yard.route(declaring, closed)])
    with sw.no_grad():
        moved = sw.move(yard.tensor(declaring, 3.0), closed([0.0]))
    assert moved.tolist() == [3.0]


@pytest.mark.rule("M-17", "M-12")
def test_a_declining_route_to_a_closed_class_has_no_substitute(yard: Any) -> None:
    closed, declaring = yard.subclass("Closed", yard.Listed), yard.subclass("Declaring")
    close_pairs(closed)
    declining = yard.route(declaring, closed, prepare=lambda request: sw.Unsupported("no"))
    yard.define(declaring, [declining], True)
    with sw.no_grad(), pytest.raises(NotImplementedError, match=": no"):
        sw.move(yard.tensor(declaring, 3.0), closed([0.0]))


@pytest.mark.rule("G-11", "M-13")
def test_the_registry_keeps_no_class_alive_and_confuses_none(yard: Any) -> None:
    keeper = yard.subclass("Keeper", yard.Listed)
    for _ in range(50):
        dying = yard.subclass("Dying", yard.Listed)
        register_move_operation(keeper, dying, Halving)
        register_move_operation(dying, keeper, Halving)
        alive = weakref.ref(dying)
        del dying
        gc.collect()
        assert alive() is None
        fresh = yard.subclass("Dying", yard.Listed)  # often at the same address
        assert dispatch_move(keeper, fresh) is ElementwiseMoveOperation


@pytest.mark.rule("G-11")
def test_a_class_made_from_a_copy_of_anothers_namespace_has_no_entry(yard: Any) -> None:
    shelf = yard.subclass("Shelf", yard.Listed)
    register_move_operation(shelf, shelf, Halving)
    namespace = {k: v for k, v in vars(shelf).items() if k not in ("__dict__", "__weakref__")}
    copied = type("Shelf", (yard.Listed,), namespace)
    assert dispatch_move(copied, shelf) is ElementwiseMoveOperation


@pytest.mark.rule("M-13", "G-12")
def test_one_of_many_racing_registrations_wins(yard: Any) -> None:
    for _ in range(200):
        shelf = yard.subclass("Shelf", yard.Listed)
        operations = [type(f"Op{n}", (Halving,), {}) for n in range(4)]
        start = threading.Barrier(4)
        won: list[Any] = []

        def register(operation: Any, shelf: Any = shelf, start: Any = start) -> None:
            start.wait(BOUND)
            try:
                register_move_operation(shelf, shelf, operation)
            except ValueError:
                return
            won.append(operation)  # noqa: B023  # joined in this round

        threads = [threading.Thread(target=register, args=(entry,)) for entry in operations]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
        assert won == [dispatch_move(shelf, shelf)]


@pytest.mark.rule("M-13", "M-10", "G-12")
def test_a_definition_and_an_entry_exclude_each_other(yard: Any) -> None:
    for _ in range(200):
        shelf, other = yard.subclass("Shelf"), yard.subclass("Other")
        start = threading.Barrier(2)
        outcomes: list[str] = []

        def define(shelf: Any = shelf, start: Any = start, outcomes: Any = outcomes) -> None:
            start.wait(BOUND)
            try:
                yard.define(shelf)
                outcomes.append("defined")
            except TypeError:
                outcomes.append("-")

        def register(
            shelf: Any = shelf, other: Any = other, start: Any = start, outcomes: Any = outcomes
        ) -> None:
            start.wait(BOUND)
            try:
                register_move_operation(other, shelf, Halving)
                outcomes.append("registered")
            except RuntimeError:
                outcomes.append("-")

        threads = [threading.Thread(target=act) for act in (define, register)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
        assert sorted(outcomes) in (["-", "defined"], ["-", "registered"])
