"""Parameters: leaves that share storage and carry a name."""

from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Layout, Tensor

Parameter: Any = sw.Parameter  # called with wrong arguments too


@pytest.mark.rule("N-20")
def test_parameter_from_a_tensor_shares_storage_and_is_a_new_leaf(make: Callable[..., Any]) -> None:
    result = make([1.0, 2.0]) * 2.0
    made = Parameter(result)
    assert isinstance(made, Tensor)
    assert made.carrier is result.carrier and made.layout is result.layout
    assert made.offset == result.offset and made.autograd_ctx is None and made.grad is None
    made[0] = 7.0
    assert result[0] == 7.0


@pytest.mark.rule("N-20")
def test_parameter_over_a_carrier(make: Callable[..., Any]) -> None:
    carrier = make([1.0, 2.0, 3.0]).carrier
    made = Parameter(carrier, 1, Layout.parse("(2):(1)"), name="tail")
    assert made.tolist() == [2.0, 3.0] and made.name == "tail"
    integers = Parameter(make([1, 2], dtype=DType.Int32))
    assert not integers.is_differentiable()


@pytest.mark.rule("N-20")
def test_parameter_needs_a_tensor_alone_or_a_carrier_with_both(make: Callable[..., Any]) -> None:
    tensor = make([1.0])
    for arguments in (
        (tensor, 0),
        (tensor, None, tensor.layout),
        (tensor, 0, tensor.layout),
    ):
        with pytest.raises(TypeError, match="own offset and layout"):
            Parameter(*arguments)
    for incomplete in ((tensor.carrier,), (tensor.carrier, 0), (3,)):
        with pytest.raises(TypeError, match="both offset and layout"):
            Parameter(*incomplete)
    with pytest.raises(TypeError, match="carrier must be a Carrier"):
        Parameter(3, 0, tensor.layout)


@pytest.mark.rule("N-20", "N-21")
def test_names_are_checked_on_construction_and_assignment(make: Callable[..., Any]) -> None:
    made = Parameter(make([1.0]))
    assert made.name is None
    made.name = "kernel"
    assert made.name == "kernel"
    for name, kind, message in (
        (3, TypeError, "must be a str or None"),
        ("", ValueError, "non-empty"),
        ("a.b", ValueError, r"must not contain '\.'"),
    ):
        with pytest.raises(kind, match=message):
            Parameter(make([1.0]), name=name)
        with pytest.raises(kind, match=message):
            made.name = name
    assert made.name == "kernel"
