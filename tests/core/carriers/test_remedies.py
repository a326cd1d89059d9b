"""What a carrier class itself knows about ways around a refusal ends the message."""

from typing import Any

import pytest

import strideweave as sw
from strideweave import DType
from strideweave.ops.metadata import constant_like, filled
from strideweave.testing import ArrayCarrier


@pytest.mark.rule("M-40", "G-17")
def test_a_class_without_routes_says_what_to_use_instead(workshop: Any) -> None:
    closed = workshop.subclass(name="Closed", _instead_of_moving="knock at the door")
    workshop.defined(carrier_class=closed)
    plain = workshop.defined()
    expected = "the pair (Closed, Shelf): knock at the door"
    with pytest.raises(NotImplementedError) as caught:
        sw.copy(workshop.tensor(closed, 1.0), plain(0, dtype=DType.Float32))
    assert str(caught.value) == f"no permitted route for {expected}"
    reason = sw.explain_move(workshop.tensor(plain, 1.0), closed(0, dtype=DType.Float32)).reason
    assert reason == "no permitted route for the pair (Shelf, Closed): knock at the door"


@pytest.mark.rule("O-50", "G-17")
def test_a_class_that_nothing_moves_to_says_what_to_do_with_other_operands(workshop: Any) -> None:
    closed = workshop.subclass(name="Closed", _instead_of_mixing="wrap it")
    workshop.defined(carrier_class=closed)
    pair = (workshop.tensor(closed, 1.0), workshop.over(ArrayCarrier(1, dtype=DType.Float32)))
    for operands in (pair, pair[::-1]):
        with pytest.raises(TypeError, match=r"carriers must match: rhs lives on .*; wrap it$"):
            sw.add(*operands)


@pytest.mark.rule("O-27", "G-17")
def test_an_instance_says_what_to_do_instead_of_an_operation(workshop: Any) -> None:
    carrier_class = workshop.subclass(_execution_remedy=lambda carrier: "ask the neighbour")
    carrier, plan = carrier_class(), workshop.plan("exp")
    expected = "Shelf executes no 'exp'; ask the neighbour"
    assert carrier.unsupported_plan_reason(plan) == expected
    with pytest.raises(sw.UnsupportedOperationPlan, match=expected):
        carrier.require_operation_plan(plan)


@pytest.mark.rule("T-8")
def test_a_carrier_makes_the_slot_of_a_constant(workshop: Any) -> None:
    asked = []

    def one_slot(carrier: Any, value: float, dtype: DType) -> Any:
        asked.append((value, dtype))
        return sw.Carrier.new_like(carrier, [value], dtype=dtype)

    carrier_class = workshop.subclass(_one_slot=one_slot)
    workshop.defined(carrier_class=carrier_class)
    x = workshop.tensor(carrier_class, 1.0, 2.0)
    constant = constant_like(x, 0.5)
    assert constant.tolist() == [0.5] and not constant._takes_gradient()
    assert filled(x.shape, 3.0, like=x).tolist() == [3.0, 3.0]
    with pytest.raises(sw.UnsupportedOperationPlan):
        x + 2.0
    assert asked == [(0.5, DType.Float32), (3.0, DType.Float32), (2.0, DType.Float32)]
