"""explain_move: the decision without the move."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, MoveExplanation, Shape, Stride, Tensor
from strideweave.carriers.move import ElementwiseMoveOperation, MoveOperation
from strideweave.carriers.move.registry import add_move_operation, close_pairs

FLOAT32, INT32 = DType.Float32, DType.Int32


def counting(yard: Any, calls: list[str]) -> dict[str, Any]:
    provider = yard.workshop.storage()

    def watch(name: str) -> Any:
        def call(*arguments: Any) -> Any:
            calls.append(name)
            return getattr(provider, name)(*arguments)

        return call

    names = ("supports_dtype", "allocate", "release", "read", "write")
    return {name: watch(name) for name in names}


@pytest.mark.rule("M-40")
def test_a_declared_route_is_explained_without_its_provider(yard: Any) -> None:
    calls: list[str] = []
    source, destination = yard.pair(
        prepare=lambda request: pytest.fail("prepared"),
        source_storage=counting(yard, calls),
        destination_storage=counting(yard, calls),
    )
    carrier = yard.carrier(source, 0.0, 1.0, 2.0, 3.0)
    tensor, target = (
        yard.over(carrier, Layout(Shape(2), Stride(2)), 1),
        destination(0, dtype=FLOAT32),
    )
    before = yard.state(carrier, target)
    calls.clear()
    found = sw.explain_move(tensor, target)
    assert calls == [] and yard.state(carrier, target) == before
    assert found == MoveExplanation(
        source_class=source,
        destination_class=destination,
        kind="transfer_route",
        route_id="S.to.D",
        operation_class=None,
        required_slots=3,
        allocates=True,
        reverse_kind="transfer_route",
        reason=None,
    )
    assert str(found).splitlines() == [
        "S -> D",
        "  transfer_route 'S.to.D'",
        "  destination: 3 slots, allocated by the move",
        "  gradient: transfer_route",
    ]
    with pytest.raises(AttributeError):
        found.kind = "refused"  # type: ignore[misc]


@pytest.mark.rule("M-40")
def test_operations_of_the_registry_and_the_elementwise_copy(yard: Any) -> None:
    first, second = yard.subclass("First", yard.Listed), yard.subclass("Second", yard.Listed)
    sw.carriers.move.register_move_operation(first, second, MoveOperation)
    found = sw.explain_move(yard.over(first([1.0])), second([0.0]))
    assert (found.kind, found.operation_class, found.route_id) == (
        "registered",
        MoveOperation,
        None,
    )
    assert (found.reverse_kind, found.allocates, found.reason) == ("elementwise", False, None)
    assert "registered by MoveOperation" in str(found)
    found = sw.explain_move(yard.over(second([1.0])), first([0.0]))
    assert (found.kind, found.operation_class) == ("elementwise", ElementwiseMoveOperation)


@pytest.mark.rule("M-40", "G-17")
def test_refusals_are_reasons_in_the_words_of_the_move(yard: Any) -> None:
    source, destination = yard.pair(back=False)
    tensor = yard.tensor(source, 1.0, 2.0)
    plain = yard.pair(there=False)
    owned = destination(2, dtype=FLOAT32)
    owned._claim_ownership()
    gone = yard.tensor(source, 1.0)
    gone.carrier.release()
    for given, target in [
        (gone, destination(2, dtype=FLOAT32)),
        (tensor, destination),
        (tensor, None),
        (tensor, tensor.carrier),
        (tensor, owned),
        (tensor, destination(2, dtype=FLOAT32, mutable=False)),
        (tensor, destination(2, dtype=INT32)),
        (yard.tensor(plain[0], 1.0), plain[1](1, dtype=FLOAT32)),
        (tensor, destination(1, dtype=FLOAT32)),
        (tensor, destination(2, dtype=FLOAT32)),
    ]:
        found = sw.explain_move(given, target)
        assert found.kind == "refused" and not found.allocates
        with pytest.raises((TypeError, ValueError, RuntimeError)) as refusal:
            sw.move(given, target)
        assert found.reason == str(refusal.value)
        assert f"reason: {found.reason}" in str(found)
        assert found.source_class is source or found.source_class is plain[0]
    assert found.reverse_kind == "refused" and found.route_id == "S.to.D"
    with sw.no_grad():
        found = sw.explain_move(tensor, destination(2, dtype=FLOAT32))
    assert (found.kind, found.reverse_kind) == ("transfer_route", "refused")


@pytest.mark.rule("M-40")
def test_what_is_no_carrier_is_named_by_its_type(yard: Any) -> None:
    found = sw.explain_move(yard.over(yard.Listed([1.0])), 3)  # type: ignore[arg-type]
    assert found.destination_class is int and found.reverse_kind == "refused"
    assert found.operation_class is None and "Carrier instance" in str(found.reason)


@pytest.mark.rule("M-40")
def test_a_pin_and_a_closed_pair_are_reasons(yard: Any) -> None:
    shelf, closed = yard.subclass("Shelf", yard.Listed), yard.subclass("Closed", yard.Listed)

    class Pinned(MoveOperation):
        source_class = closed

    sw.carriers.move.register_move_operation(shelf, shelf, Pinned)
    found = sw.explain_move(yard.over(shelf([1.0])), shelf([0.0]))
    assert (found.kind, found.operation_class) == ("refused", Pinned)
    assert "requires a Closed source" in str(found.reason)
    close_pairs(closed)
    add_move_operation(closed, shelf, MoveOperation)
    found = sw.explain_move(yard.over(closed([1.0])), shelf([0.0]))
    assert (found.kind, found.reverse_kind) == ("refused", "refused")
    assert "reverse transfer route" in str(found.reason)
    with sw.no_grad():
        assert sw.explain_move(yard.over(closed([1.0])), shelf([0.0])).kind == "registered"


@pytest.mark.rule("M-40")
def test_what_is_no_tensor_is_refused(yard: Any) -> None:
    with pytest.raises(TypeError, match="tensor must be a Tensor, got int"):
        sw.explain_move(3, yard.Listed([1.0]))  # type: ignore[arg-type]
    tensor: Any = yard.over(yard.Listed([1.0]))
    assert isinstance(tensor, Tensor)
    tensor = yard.several()
    with pytest.raises(NotImplementedError, match="operation execution"):
        sw.explain_move(tensor, yard.Listed([1.0]))


@pytest.mark.rule("M-40", "M-10")
def test_explaining_observes_nothing(yard: Any) -> None:
    from strideweave.carriers.class_record import class_record
    from strideweave.carriers.move.routes import select_route

    pair = yard.subclass("First"), yard.subclass("Second")
    select_route(*pair)
    assert all(class_record(entry).sealed_by is None for entry in pair)
