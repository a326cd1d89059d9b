"""A failed transition leaves everything as it was, and can be tried again."""

from collections.abc import Callable
from typing import Any

import pytest

from strideweave import Carrier, DType, Evictable, Generic, Layout, Tensor
from strideweave.carriers import move as movement
from strideweave.carriers.move import MoveOperation, registered_move_operation

FLOAT = DType.Float32


class Fault(Exception):
    """Raised at the armed step."""


class Shelf(Carrier):
    """Keeps a list, and raises where it is told to."""

    armed: dict[str, BaseException]
    made: "list[Shelf]"
    is_stuck = False

    def __init__(self, values: list[float]) -> None:
        super().__init__()
        self.values = values
        Shelf.made.append(self)

    def size(self) -> int:
        return len(self.values)

    def dtype(self) -> DType:
        return FLOAT

    def get_value(self, index: Any) -> Any:
        self.reach("read")
        return self.values[index]

    def set_value(self, index: Any, value: Any) -> None:
        self.reach("write")
        self.values[index] = value

    def allocate_like(self, size: Any, **keywords: Any) -> Any:
        self.reach("allocate")
        if "foreign" in Shelf.armed:
            return Generic([0.0] * size)
        if "short" in Shelf.armed:
            return Shelf([0.0] * (size - 1))
        return Shelf([0.0] * size)

    def _is_mutable(self) -> bool:
        return True

    def _release(self) -> None:
        self.reach("release")
        if self.is_stuck:
            raise Fault("stuck")
        self.values = []

    def reach(self, step: str) -> None:
        if step in Shelf.armed:
            raise Shelf.armed[step]


@pytest.fixture(autouse=True)
def armed() -> dict[str, BaseException]:
    Shelf.armed, Shelf.made = {}, []
    return Shelf.armed


def state(hierarchy: Evictable) -> tuple[object, ...]:
    tiers = (hierarchy.primary, hierarchy.secondary)
    return (
        *map(id, tiers),
        *(tier.is_released() for tier in tiers),
        *(tier.is_owned() for tier in tiers),
        hierarchy.is_evicted(),
        hierarchy.version,
        hierarchy.is_owned(),
        hierarchy.is_released(),
    )


def prepared(evicts: bool, secondary: list[float]) -> tuple[Evictable, Callable[[], None]]:
    """Make a hierarchy, and give it with the transition that is about to fail."""
    hierarchy = Evictable(Shelf([1.0, 2.0]), Shelf(secondary))
    if evicts:
        return hierarchy, hierarchy.evict
    hierarchy.evict()
    return hierarchy, hierarchy.promote


FAULTS = ["allocate", "read", "write", "release", "foreign", "short"]


@pytest.mark.rule("C-73", "G-3")
@pytest.mark.parametrize("interrupt", [Fault("armed"), KeyboardInterrupt("armed")], ids=type)
@pytest.mark.parametrize("evicts", [True, False], ids=["evict", "promote"])
@pytest.mark.parametrize("step", FAULTS)
def test_a_failure_at_every_step(
    step: str, evicts: bool, interrupt: BaseException, armed: dict[str, BaseException]
) -> None:
    hierarchy, transition = prepared(evicts, [])
    known = {id(hierarchy.primary), id(hierarchy.secondary)}
    before = state(hierarchy)
    armed[step] = interrupt
    with pytest.raises((Fault, KeyboardInterrupt, TypeError, ValueError)):
        transition()
    assert state(hierarchy) == before
    armed.clear()
    for carrier in Shelf.made:
        if id(carrier) not in known:
            assert not carrier.is_owned()
    transition()
    assert hierarchy.is_evicted() is evicts
    hierarchy.promote()
    assert [hierarchy[0], hierarchy[1]] == [1.0, 2.0] and hierarchy.version == 0


@pytest.mark.rule("C-73")
@pytest.mark.parametrize("step", ["read", "write"])
def test_a_temporary_destination_is_released(step: str, armed: dict[str, BaseException]) -> None:
    _, transition = prepared(evicts=True, secondary=[])
    armed[step] = Fault("armed")
    with pytest.raises(Fault):
        transition()
    (temporary,) = Shelf.made[2:]
    assert temporary.is_released() and not temporary.is_owned()


@pytest.mark.rule("C-73")
def test_an_error_of_releasing_the_temporary_destination_is_noted(
    armed: dict[str, BaseException],
) -> None:
    _, transition = prepared(evicts=True, secondary=[])
    armed["write"], armed["release"] = Fault("written"), Fault("stuck")
    with pytest.raises(Fault, match="written") as failure:
        transition()
    assert any("unused Shelf failed too: Fault('stuck')" in n for n in failure.value.__notes__)
    (temporary,) = Shelf.made[2:]
    assert not temporary.is_owned()


@pytest.mark.rule("C-73", "C-71")
def test_a_failure_into_the_present_secondary_keeps_it(armed: dict[str, BaseException]) -> None:
    hierarchy, transition = prepared(evicts=True, secondary=[0.0] * 3)
    before = state(hierarchy)
    armed["write"] = Fault("armed")
    with pytest.raises(Fault):
        transition()
    assert state(hierarchy) == before and len(Shelf.made) == 2
    armed.clear()
    transition()
    assert hierarchy.is_evicted() and len(Shelf.made) == 2


@pytest.mark.rule("C-73")
def test_a_result_over_another_carrier_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    hierarchy, transition = prepared(evicts=True, secondary=[])
    before = state(hierarchy)
    strange = Tensor(Generic([0.0] * 2), 0, Layout.parse("2:1"))
    monkeypatch.setattr(
        "strideweave.carriers.evictable.transfers.copy", lambda tensor, destination: strange
    )
    with pytest.raises(RuntimeError, match=r"over another carrier, a Generic"):
        transition()
    assert state(hierarchy) == before
    monkeypatch.undo()
    transition()
    assert hierarchy.is_evicted()


@pytest.mark.rule("C-73")
def test_a_pair_that_lost_its_route_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    class Declines(MoveOperation):
        source_class = Generic

        def _copy(self, *arguments: Any) -> None:
            raise AssertionError("never reached")

    hierarchy, transition = prepared(evicts=True, secondary=[])
    before = state(hierarchy)
    with registered_move_operation(Shelf, Shelf, Declines):
        with pytest.raises(TypeError, match="requires a Generic source"):
            transition()
    assert state(hierarchy) == before
    transition()


@pytest.mark.rule("C-72", "M-18")
def test_a_transition_uses_the_operation_of_the_pair() -> None:
    seen: list[tuple[Any, ...]] = []

    class Recorded(MoveOperation):
        def _copy(self, tensor: Any, destination: Any, output: Any, count: int) -> None:
            assert tensor.carrier._has_owner_access() and destination._has_owner_access()
            seen.append((tensor.offset, str(tensor.layout), count))
            for slot in range(count):
                destination[slot] = tensor.carrier[slot]

    hierarchy, transition = prepared(evicts=True, secondary=[])
    with registered_move_operation(Shelf, Shelf, Recorded):
        transition()
        hierarchy.promote()
    assert seen == [(0, "2:1", 2)] * 2 and [hierarchy[0], hierarchy[1]] == [1.0, 2.0]
    assert movement.dispatch_move(Shelf, Shelf) is movement.ElementwiseMoveOperation


@pytest.mark.rule("C-72", "C-73")
def test_a_replaced_tier_that_cannot_be_released_does_not_undo_the_transition() -> None:
    small = Shelf([0.0])
    small.is_stuck = True
    hierarchy = Evictable(Shelf([1.0, 2.0]), small)
    with pytest.raises(Fault, match="stuck") as failure:
        hierarchy.evict()
    assert any("only the replaced Shelf" in note for note in failure.value.__notes__)
    assert hierarchy.is_evicted() and not small.is_owned() and not small.is_released()
    hierarchy.promote()
    assert [hierarchy[0], hierarchy[1]] == [1.0, 2.0]


@pytest.mark.rule("C-29", "C-79")
def test_a_release_that_fails_leaves_the_values(armed: dict[str, BaseException]) -> None:
    hierarchy = Evictable(Generic([1.0]), Shelf([]))
    armed["release"] = Fault("armed")
    with pytest.raises(Fault):
        hierarchy.release()
    assert not hierarchy.is_released() and hierarchy[0] == 1.0
    armed.clear()
    hierarchy.release()
    assert hierarchy.is_released() and hierarchy.primary.is_released()
