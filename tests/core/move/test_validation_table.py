"""The table of checks: class and message of each row, in order, and nothing changed by any."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, DType, Layout, Shape, Stride, Unsupported
from strideweave.carriers.extension import PreparedTransfer
from strideweave.carriers.move import ElementwiseMoveOperation, MoveOperation

FLOAT32, INT32 = DType.Float32, DType.Int32

Case = tuple[Any, Any]  # what is passed as tensor and as destination


def two(yard: Any, **options: Any) -> Case:
    """A Tensor of two values and a destination of two slots, which would move."""
    source, destination = yard.pair(**options)
    return yard.tensor(source, 1.0, 2.0), yard.carrier(destination, 8.0, 9.0)


def several_subtensors(yard: Any) -> Case:
    tensor, _ = two(yard)
    tensor = yard.several()
    return tensor, "no Carrier"


def released_source(yard: Any) -> Case:
    tensor, _ = two(yard)
    tensor.carrier._claim_ownership()
    tensor.carrier._released = True
    return tensor, "no Carrier"


def owned_source(yard: Any) -> Case:
    tensor, _ = two(yard)
    tensor.carrier._claim_ownership()
    return tensor, "no Carrier"


def class_destination(yard: Any) -> Case:
    tensor, destination = two(yard)
    return tensor, type(destination)


def own_carrier(yard: Any) -> Case:
    tensor = yard.over(yard.Listed([1.0], mutable=False))
    return tensor, tensor.carrier


def released_destination(yard: Any) -> Case:
    tensor, destination = two(yard)
    made = type(destination)(2, dtype=INT32, mutable=False)
    made.release()
    return tensor, made


def immutable_destination(yard: Any) -> Case:
    tensor, destination = two(yard)
    return tensor, type(destination)(2, dtype=INT32, mutable=False)


def owned_destination(yard: Any) -> Case:
    tensor, destination = two(yard)
    made = type(destination)(2, dtype=INT32)
    made._claim_ownership()
    return tensor, made


class Away(Carrier):
    """A definition-free class that keeps its values elsewhere, without slots."""

    def __init__(self, dtype: DType = FLOAT32) -> None:
        super().__init__()
        self.stored = dtype

    def size(self) -> int:
        return 0

    def dtype(self) -> DType:
        return self.stored

    def is_evicted(self) -> bool:
        return True

    def _is_mutable(self) -> bool:
        return True


def other_dtype(yard: Any) -> Case:
    tensor, _ = two(yard)
    return tensor, Away(INT32)


def evicted_destination(yard: Any) -> Case:
    tensor, _ = two(yard)
    return tensor, Away()


def no_route(yard: Any) -> Case:
    tensor, destination = two(yard, there=False, back=False)
    return tensor, type(destination)(1, dtype=FLOAT32)


def pinned_source(yard: Any) -> Case:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)

    class FromShelf(MoveOperation):
        source_class = shelf

    sw.carriers.move.register_move_operation(box, box, FromShelf)
    return yard.over(box([1.0, 2.0])), box([1.0])


def pinned_destination(yard: Any) -> Case:
    shelf, box = yard.subclass("Shelf", yard.Listed), yard.subclass("Box", yard.Listed)

    class ToShelf(ElementwiseMoveOperation):
        destination_class = shelf

    sw.carriers.move.register_move_operation(box, box, ToShelf)
    return yard.over(box([1.0, 2.0])), box([1.0])


def small_definition_backed(yard: Any) -> Case:
    tensor, destination = two(yard, back=False)
    return tensor, type(destination)(1, dtype=FLOAT32)


def small_definition_free(yard: Any) -> Case:
    return yard.over(yard.Listed([1.0, 2.0])), yard.Listed([])


def holes_count(yard: Any) -> Case:
    source, destination = yard.pair()
    carrier = yard.carrier(source, 0.0, 1.0, 0.0, 2.0)
    tensor = yard.over(carrier, Layout(Shape(2), Stride(2)), 1)
    return tensor, destination(2, dtype=FLOAT32)


def no_way_back(yard: Any) -> Case:
    return two(yard, back=False, prepare=lambda request: pytest.fail("prepared too early"))


def failing(error: Exception) -> Callable[[Any], Any]:
    def prepare(request: Any) -> Any:
        raise error

    return prepare


def raising_prepare(yard: Any) -> Case:
    return two(yard, prepare=failing(LookupError("no channel is free")))


def other_answer(yard: Any) -> Case:
    return two(yard, prepare=lambda request: None)


def used_record(yard: Any) -> Case:
    record = PreparedTransfer(lambda: None)
    record._claim_submission()
    return two(yard, prepare=lambda request: record)


def declines(yard: Any) -> Case:
    return two(yard, prepare=lambda request: Unsupported("rows are too long"))


def declines_with_one_permission(yard: Any) -> Case:
    return two(
        yard, prepare=lambda request: Unsupported("rows are too long"), fallback=(True, False)
    )


def prepare_resizes(yard: Any) -> Case:
    def prepare(request: Any) -> PreparedTransfer:
        request.destination.cells.append(0.0)
        return PreparedTransfer(lambda: None)

    return two(yard, prepare=prepare)


def empty(yard: Any, **storage: Any) -> Case:
    source, destination = yard.pair(destination_storage=storage)
    return yard.tensor(source, 1.0, 2.0), destination(0, dtype=FLOAT32)


def raising_allocation(yard: Any) -> Case:
    def allocate(carrier: Any, slots: int) -> None:
        if slots:
            raise MemoryError("the arena is full")
        carrier.cells = []

    return empty(yard, allocate=allocate)


def answering_allocation(yard: Any) -> Case:
    def allocate(carrier: Any, slots: int) -> object:
        carrier.cells = [0.0] * slots
        return slots or None

    return empty(yard, allocate=allocate)


def other_allocation(yard: Any) -> Case:
    def allocate(carrier: Any, slots: int) -> None:
        carrier.cells = [0.0] * (2 * slots)

    return empty(yard, allocate=allocate)


def raising_hook(yard: Any) -> Case:
    return hooked(yard, failing_allocate)


def answering_hook(yard: Any) -> Case:
    return hooked(yard, lambda self, size: 3)


def other_hook(yard: Any) -> Case:
    return hooked(yard, lambda self, size: self.cells.append(0.0))


def failing_allocate(self: Any, size: int) -> None:
    raise MemoryError("the shelf is full")


def hooked(yard: Any, allocate: Any) -> Case:
    growing = yard.subclass("Growing", yard.Listed, _allocate=allocate)
    return yard.over(yard.Listed([1.0, 2.0])), growing([])


ROWS: list[tuple[str, Callable[[Any], Case], type[Exception], str]] = [
    ("1", several_subtensors, NotImplementedError, "operation execution"),
    ("2", lambda yard: (3, 3), TypeError, "tensor must be a Tensor, got int"),
    ("3", released_source, RuntimeError, "source's S is released"),
    ("4", owned_source, RuntimeError, "S is owned by .* cannot be moved directly"),
    ("5", class_destination, TypeError, "must be a Carrier instance, got <class .*D'>"),
    ("6", own_carrier, ValueError, "cannot move into its own carrier"),
    ("7", released_destination, RuntimeError, "destination D is released"),
    ("8", immutable_destination, RuntimeError, "destination D is not mutable"),
    ("8", owned_destination, RuntimeError, "destination D is owned, so it is not mutable"),
    ("9", other_dtype, TypeError, "dtype must match: .*Float32.* Away has .*Int32"),
    ("10", evicted_destination, RuntimeError, r"Away is evicted; promote\(\)"),
    ("11", no_route, NotImplementedError, r"\(S, D\): elementwise copies .* by S and D"),
    ("12", pinned_source, TypeError, "FromShelf requires a Shelf source, got Box"),
    ("12", pinned_destination, TypeError, "ToShelf requires a Shelf destination, got Box"),
    ("13", small_definition_backed, ValueError, "D is too small: it has 1 slots, .* needs 2"),
    ("13", small_definition_free, ValueError, "Listed is too small: .* cannot grow"),
    ("13", holes_count, ValueError, "too small: it has 2 slots, and layout 2:2 needs 3"),
    (
        "14",
        no_way_back,
        NotImplementedError,
        r"reverse transfer route: .*\(D, S\).* no_grad\(\) needs none",
    ),
    ("15", raising_prepare, LookupError, "no channel is free"),
    ("15", other_answer, TypeError, r"\(S, D\) must return a PreparedTransfer .* None"),
    ("15", used_record, TypeError, "was submitted before; prepare must return a fresh record"),
    ("15", declines, NotImplementedError, r"'S.to.D' .*\(S, D\) .*: rows are too long"),
    ("15", declines_with_one_permission, NotImplementedError, "rows are too long"),
    ("16", prepare_resizes, RuntimeError, "changed the size of a D from 2 to 3"),
    ("17", raising_allocation, MemoryError, "the arena is full"),
    ("17", answering_allocation, TypeError, "allocate of D must return None, got 2"),
    ("17", other_allocation, ValueError, "must return the 2 slots .* got 4"),
    ("17", raising_hook, MemoryError, "the shelf is full"),
    ("17", answering_hook, TypeError, r"Growing._allocate must return None, got 3"),
    ("17", other_hook, ValueError, "asked for 2 slots, but the carrier has 1"),
]


def carriers_of(case: Case) -> list[Any]:
    ends = [getattr(case[0], "carrier", None), case[1]]
    return [end for end in ends if isinstance(end, Carrier) and not end.is_released()]


@pytest.mark.rule("M-4", "M-5", "M-7", "M-12", "M-37", "O-73", "R-43", "R-44", "G-3", "G-17")
@pytest.mark.parametrize("function", [sw.move, sw.move_async, sw.copy, sw.copy_async])
@pytest.mark.parametrize(
    ("row", "make", "kind", "message"), ROWS, ids=[f"{row[0]}-{row[1].__name__}" for row in ROWS]
)
def test_a_row_refuses_and_changes_nothing(
    row: str,
    make: Callable[[Any], Case],
    kind: type[Exception],
    message: str,
    function: Any,
    yard: Any,
) -> None:
    tensor, destination = make(yard)
    carriers = carriers_of((tensor, destination))
    before = yard.state(*carriers)
    with sw.profile() as profiler, pytest.raises(kind) as refusal:
        function(tensor, destination)
    assert type(refusal.value) is kind
    assert profiler.events() == ()
    text = str(refusal.value)
    assert re.search(message, text), text
    if row == "16":
        carriers[1].cells.pop()
    if row == "17":
        (_, _, _, _, size, _) = yard.state(carriers[1])[0]
        if make is not other_hook:  # it cannot be put back to no slots
            assert size == 0
            assert yard.state(*carriers) == before
        return
    assert yard.state(*carriers) == before


@pytest.mark.rule("M-7")
def test_a_destination_that_cannot_be_put_back_only_gets_a_note(yard: Any) -> None:
    def allocate(self: Any, size: int) -> None:
        if size == 0:
            raise OSError("stuck")
        self.cells = [0.0] * (size + 1)

    tensor, destination = hooked(yard, allocate)
    with pytest.raises(ValueError, match="asked for 2 slots") as refusal:
        sw.move(tensor, destination)
    assert "back to size 0 failed too: OSError('stuck')" in refusal.value.__notes__[0]
    assert destination.is_mutable() and not destination.is_owned()


def test_an_evicted_source_is_refused(yard: Any) -> None:
    away = yard.subclass("Cabinet", yard.Listed, is_evicted=lambda self: True)
    with pytest.raises(RuntimeError, match=r"source Cabinet is evicted; promote\(\)"):
        sw.move(yard.over(away([1.0])), yard.Listed([0.0]))
    present = yard.subclass("Cabinet", yard.Listed, is_evicted=lambda self: False)
    assert sw.move(yard.over(present([1.0])), yard.Listed([0.0])).tolist() == [1.0]


def test_a_source_that_lost_its_slots_is_refused(yard: Any) -> None:
    tensor = yard.over(yard.Listed([1.0, 2.0]))
    tensor.carrier.cells.pop()
    with pytest.raises(ValueError, match="only 1 slots left, but the Tensor takes 2 from slot 0"):
        sw.move(tensor, yard.Listed([0.0] * 2))


def test_the_checks_come_in_the_order_of_the_table(yard: Any) -> None:
    tensor, destination = two(yard, there=False, back=False)
    wrong = type(destination)(0, dtype=INT32, mutable=False)
    calls: list[tuple[Any, Any, type[Exception], str]] = [
        (tensor, tensor.carrier, ValueError, "own carrier"),
        (tensor, wrong, RuntimeError, "not mutable"),
        (tensor, type(destination)(0, dtype=INT32), TypeError, "dtype must match"),
        (tensor, type(destination)(0, dtype=FLOAT32), NotImplementedError, "no permitted route"),
    ]
    for given, target, kind, message in calls:
        with pytest.raises(kind, match=message):
            sw.move(given, target)
