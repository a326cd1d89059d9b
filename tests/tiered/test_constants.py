"""Numbers beside full Tensors: each is one slot of a carrier that has one tile."""

import operator
from collections.abc import Callable
from typing import Any

import pytest

import strideweave as sw
from strideweave import DType, Tensor
from strideweave.ops.metadata import constant_like, filled

CAPACITIES = (None, 1, 3)


def listed(tensor: Tensor) -> list[Any]:
    return [tensor[ordinal] for ordinal in range(tensor.size())]


@pytest.mark.rule("TE-80", "TE-84", "TE-91", "T-8")
@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("is_first", [False, True])
def test_a_number_is_added_to_a_full_tensor(
    tiled: Any, full: Callable[..., Tensor], dense: Any, capacity: int | None, is_first: bool
) -> None:
    carrier = tiled((2, 2), (2, 2), stored=True, capacity=capacity)
    x = full(carrier)
    result = 0.5 + x if is_first else x + 0.5
    assert listed(result) == [slot + 0.5 for slot in range(16)]
    assert len(carrier.primary_tiles.coordinates) == (capacity or 4)
    result.backward(dense(range(16), 4, 4))
    assert x.grad is not None and type(x.grad.carrier) is sw.TiledEvictable
    assert listed(x.grad) == list(range(16))


@pytest.mark.rule("TE-80", "T-8")
@pytest.mark.parametrize("capacity", CAPACITIES)
def test_a_number_meets_integers(
    tiled: Any, full: Callable[..., Tensor], capacity: int | None
) -> None:
    x = full(tiled((2,), (2,), stored=True, capacity=capacity, dtype=DType.Int32))
    assert (x + 2).dtype() is DType.Int32 and (x + 2).tolist() == [2, 3, 4, 5]
    assert (0.5 + x).dtype() is DType.Float32 and (0.5 + x).tolist() == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.rule("TE-80", "T-8")
def test_a_number_keeps_layouts_that_permute_inside_tiles(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    carrier = tiled((2, 2), (2, 2), capacity=1)
    x = full(carrier, "((2,2),(2,2)):((4,2),(1,8))")
    assert listed(x + 1.0) == [value + 1.0 for value in listed(x)]


@pytest.mark.rule("TE-80")
def test_constants_of_gradients_fit_a_full_tensor(tiled: Any, full: Callable[..., Tensor]) -> None:
    x = full(tiled((2, 2), (2, 2), capacity=1))
    assert listed(sw.add(x, constant_like(x, -1.0))) == [slot - 1.0 for slot in range(16)]
    assert listed(filled(x.shape, 3.0, like=x)) == [3.0] * 16


@pytest.mark.rule("TE-80", "TE-28")
def test_one_slot_that_takes_a_gradient_has_to_be_full(
    tiled: Any, full: Callable[..., Tensor]
) -> None:
    x = full(tiled((2,), (2,)))
    repeated = full(tiled((1,), (1,)), "4:0")
    with pytest.raises(sw.UnsupportedOperationPlan, match="logical shape"):
        sw.add(x, repeated)


@pytest.mark.rule("TE-80", "T-8")
@pytest.mark.parametrize(
    ("operation", "name"),
    [(operator.sub, "sub"), (operator.truediv, "div"), (operator.gt, "lt"), (operator.le, "le")],
)
def test_operators_beyond_the_direct_ones_say_what_there_is(
    tiled: Any, full: Callable[..., Tensor], operation: Callable[..., Tensor], name: str
) -> None:
    x = full(tiled((2,), (2,), capacity=1))
    direct = "add, elementwise_mul, mul, relu, reduce_sum, matmul; project the tiles"
    for operands in ((x, 2.0), (x, x)):
        expected = "lt|gt" if name == "lt" else name
        with pytest.raises(
            sw.UnsupportedOperationPlan, match=f"executes no '({expected})'; .* {direct}"
        ):
            operation(*operands)
    with pytest.raises(sw.UnsupportedOperationPlan, match=direct):
        sw.exp(x)


@pytest.mark.rule("TE-80")
def test_a_dtype_without_direct_operations_says_so(tiled: Any, full: Callable[..., Tensor]) -> None:
    x = full(tiled((2,), (2,), [True, False, True, True], dtype=DType.Bool))
    with pytest.raises(sw.UnsupportedOperationPlan, match="of Bool take part in nothing; project"):
        x.carrier.dispatch_op("view")


@pytest.mark.rule("TE-81", "TE-100")
def test_a_released_carrier_adds_no_number(tiled: Any, full: Callable[..., Tensor]) -> None:
    x = full(tiled((2,), (2,)))
    x.carrier.release()
    for number_first in (False, True):
        with pytest.raises(RuntimeError, match=r"^TiledEvictable is released$"):
            _ = 1.0 + x if number_first else x + 1.0
