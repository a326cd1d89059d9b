"""Which way an exact pair of classes takes."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import Carrier, CarrierDefinition, DType, Layout, Shape, Stride, Unsupported
from strideweave.carriers.extension import PreparedTransfer
from strideweave.carriers.move import (
    ElementwiseMoveOperation,
    MoveOperation,
    dispatch_move,
    register_move_operation,
)

FLOAT32 = DType.Float32


def kinds(yard: Any, first: type[Any], second: type[Any]) -> str:
    """The kind of way from ``first`` to ``second``."""
    made = [
        cls([1.0]) if issubclass(cls, yard.Listed) else yard.carrier(cls, 1.0)
        for cls in (first, second)
    ]
    return str(sw.explain_move(yard.over(made[0]), made[1]).kind)


@pytest.mark.rule("R-24", "R-47", "M-8")
def test_between_definitions_a_route_wins_and_a_copy_needs_both_permissions(yard: Any) -> None:
    for routes in (True, False):
        for first in (True, False):
            for second in (True, False):
                pair = yard.pair(there=routes, back=True, fallback=(first, second))
                expected = "elementwise" if first and second else "refused"
                assert kinds(yard, *pair) == ("transfer_route" if routes else expected)


@pytest.mark.rule("M-9", "S-21")
def test_in_a_mixed_pair_the_side_with_the_definition_decides(yard: Any) -> None:
    free = yard.subclass("Free", yard.Listed)
    for permits in (True, False):
        backed = yard.define(yard.subclass("Backed"), (), permits)
        expected = "elementwise" if permits else "refused"
        assert kinds(yard, backed, free) == kinds(yard, free, backed) == expected
    tensor = yard.tensor(yard.elementwise(), 1.0, 2.0)
    there = sw.move(tensor, free([0.0, 0.0]))
    back = sw.move(there, yard.elementwise()(0, dtype=FLOAT32))
    assert there.carrier.is_released() and back.tolist() == [1.0, 2.0]


@pytest.mark.rule("M-9", "M-12", "S-21")
def test_a_route_from_a_definition_to_a_class_without_one(yard: Any) -> None:
    free, backed = yard.subclass("Free", yard.Listed), yard.subclass("Backed")
    yard.define(backed, [yard.route(backed, free)], True)
    assert kinds(yard, backed, free) == "transfer_route"
    assert kinds(yard, free, backed) == "elementwise"
    assert sw.move(yard.tensor(backed, 1.0), free([0.0])).tolist() == [1.0]


@pytest.mark.rule("M-12", "R-44", "S-21")
def test_in_a_mixed_pair_a_declining_route_has_no_substitute(yard: Any) -> None:
    free, backed = yard.subclass("Free", yard.Listed), yard.subclass("Backed")
    declining = yard.route(backed, free, prepare=lambda request: Unsupported("too early"))
    yard.define(backed, [declining], True)
    with pytest.raises(NotImplementedError, match=r"\(Backed, Free\) .*: too early"):
        sw.move(yard.tensor(backed, 1.0), free([0.0]))


@pytest.mark.rule("R-49", "M-12", "R-44")
def test_reject_an_invocation_specific_transfer_condition(yard: Any) -> None:
    requests: list[Any] = []

    def prepare(request: Any) -> Any:
        requests.append(request)
        if request.layout.stride[0] != 1:
            return Unsupported("rows only")
        return PreparedTransfer(lambda: pytest.fail("not this one"))

    for fallback in ((True, True), (True, False), (False, True), (False, False)):
        source, destination = yard.pair(prepare=prepare, fallback=fallback)
        carrier = yard.carrier(source, 1.0, 2.0, 3.0)
        tensor, target = (
            yard.over(carrier, Layout(Shape(2), Stride(2))),
            yard.carrier(destination, 7.0, 8.0, 9.0),
        )
        before = yard.state(carrier, target)
        if fallback == (True, True):
            moved = sw.move(tensor, target)
            assert type(moved.autograd_ctx) is ElementwiseMoveOperation
            assert moved.tolist() == [1.0, 3.0] and target[1] == 8.0
        else:
            with pytest.raises(NotImplementedError, match=r"'S.to.D' .*\(S, D\).*: rows only"):
                sw.move(tensor, target)
            assert yard.state(carrier, target) == before
    assert len(requests) == 4


@pytest.mark.rule("R-45", "M-12")
def test_a_raising_preparation_ends_the_move(yard: Any) -> None:
    calls: list[str] = []

    def prepare(request: Any) -> Any:
        calls.append("prepared")
        raise OSError("bus error")

    source, destination = yard.pair(prepare=prepare, fallback=(True, True))
    with pytest.raises(OSError, match="bus error") as failure:
        sw.move(yard.tensor(source, 1.0), destination(1, dtype=FLOAT32))
    assert calls == ["prepared"]
    assert failure.value.__notes__ == [
        "raised by TransferProvider.prepare of the route 'S.to.D' of S while executing 'move'"
    ]


@pytest.mark.rule("M-8", "R-10", "R-12", "R-47")
def test_nothing_is_inherited_in_either_direction(yard: Any) -> None:
    source, destination = yard.pair(fallback=(True, True))
    heir_of_source = yard.subclass("HeirS", source, **free_hooks())
    heir_of_destination = yard.subclass("HeirD", destination, **free_hooks())
    assert kinds(yard, source, destination) == "transfer_route"
    for first, second in ((heir_of_source, destination), (source, heir_of_destination)):
        made = [
            cls() if cls in (heir_of_source, heir_of_destination) else yard.carrier(cls, 1.0)
            for cls in (first, second)
        ]
        assert sw.explain_move(yard.over(made[0]), made[1]).kind == "elementwise"
    assert sw.move(yard.over(heir_of_source()), heir_of_destination()).tolist() == [4.0]


def free_hooks() -> dict[str, Any]:
    def start(self: Any) -> None:
        Carrier.__init__(self)
        self.cells = [4.0]

    def set_value(self: Any, index: int, value: Any) -> None:
        self.cells[index] = value

    return {
        "__init__": start,
        "size": lambda self: 1,
        "dtype": lambda self: FLOAT32,
        "get_value": lambda self, index: self.cells[index],
        "set_value": set_value,
        "_is_mutable": lambda self: True,
    }


@pytest.mark.rule("M-8", "G-11", "S-13")
def test_classes_of_one_name_are_told_apart(yard: Any) -> None:
    first, second = yard.subclass("Twin", yard.Listed), yard.subclass("Twin", yard.Listed)
    second.__module__ = "elsewhere"
    register_move_operation(first, second, MoveOperation)
    assert dispatch_move(first, second) is MoveOperation
    assert dispatch_move(second, first) is ElementwiseMoveOperation
    with pytest.raises(ValueError, match=rf"\({first.__module__}.Twin, elsewhere.Twin\)"):
        register_move_operation(first, second, MoveOperation)


@pytest.mark.rule("M-10", "C-3")
def test_resolving_a_pair_observes_both_classes(yard: Any) -> None:
    for position in (0, 1):
        pair = [yard.subclass("First"), yard.subclass("Second")]
        dispatch_move(*pair)
        with pytest.raises(TypeError, match="sealed by the resolution of a move"):
            yard.define(pair[position])


@pytest.mark.rule("R-63")
def test_a_storage_only_carrier_moves(yard: Any) -> None:
    source, destination = yard.pair()
    assert source(1, dtype=FLOAT32).operation_capabilities() == ()
    assert sw.move(yard.tensor(source, 1.0), destination(0, dtype=FLOAT32)).tolist() == [1.0]


@pytest.mark.rule("R-27", "R-77", "R-25", "R-76")
def test_a_move_sizes_its_destination_from_a_separate_resource(yard: Any) -> None:
    class Arena:
        def __init__(self) -> None:
            self.handed_out = 0

    arena = Arena()

    def allocate(carrier: Any, slots: int) -> None:
        arena.handed_out += slots
        carrier.cells = [0.0] * slots

    source, destination = yard.pair(destination_storage={"allocate": allocate})
    moved = sw.move(yard.tensor(source, 1.0, 2.0), destination(0, dtype=FLOAT32))
    assert type(moved.carrier) is destination and arena.handed_out == 2
    assert not isinstance(arena, (sw.StorageProvider, sw.Carrier))


@pytest.mark.rule("M-8")
def test_a_definition_may_name_a_class_that_is_defined_later(yard: Any) -> None:
    source, destination = yard.subclass("S"), yard.subclass("D")
    yard.define(source, [yard.route(source, destination)])
    sw.register_carrier_definition(destination, CarrierDefinition(yard.workshop.storage()))
    with sw.no_grad():
        moved = sw.move(yard.tensor(source, 1.0), destination(0, dtype=FLOAT32))
    assert moved.tolist() == [1.0]
