"""``sort`` and ``topk``."""

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest

import strideweave as sw
from strideweave.carriers.operation_policy import INT32_MAX

unchecked: Any = sw  # for calls that the signatures forbid
Make = Callable[..., Any]
Values = Callable[[sw.Tensor], list[Any]]
Same = Callable[[Any, Any], bool]
Vjp = Callable[..., list[Any]]

pytestmark = pytest.mark.rule("F-45")
MIXED = [3, nan, -0.0, 0.0, inf, -inf, nan, 3]


@pytest.mark.rule("X-65", "X-66", "F-1", "F-12")
def test_sort_is_stable_in_both_directions(f: Make, values: Values, same: Same) -> None:
    result = sw.sort(f(MIXED))
    assert isinstance(result, sw.SortResult) and result._fields == ("values", "indices")
    assert same(values(result.values), [-inf, -0.0, 0.0, 3.0, 3.0, inf, nan, nan])
    assert values(result.indices) == [5, 2, 3, 0, 7, 4, 1, 6]
    assert result.indices.dtype() is sw.DType.Int32
    result = sw.sort(f(MIXED), descending=True)
    assert same(values(result.values), [nan, nan, inf, 3.0, 3.0, -0.0, 0.0, -inf])
    assert values(result.indices) == [1, 6, 4, 0, 7, 2, 3, 5]


@pytest.mark.rule("X-67", "F-1")
def test_topk_takes_the_first_of_the_order(f: Make, values: Values, same: Same) -> None:
    result = sw.topk(f([3, nan, 7, 7, 1]), 3)
    assert isinstance(result, sw.TopKResult) and result._fields == ("values", "indices")
    assert same(values(result.values), [nan, 7.0, 7.0]) and values(result.indices) == [1, 2, 3]
    result = sw.topk(f([3, nan, 7, 7, 1]), 3, largest=False)
    assert values(result.values) == [1, 3, 7] and values(result.indices) == [4, 0, 2]
    for largest in (False, True):
        whole = sw.topk(f(MIXED), 8, 0, largest)
        ordered = sw.sort(f(MIXED), 0, largest)
        assert same(values(whole.values), values(ordered.values))
        assert values(whole.indices) == values(ordered.indices)


@pytest.mark.rule("F-8", "O-68")
def test_layouts(f: Make, values: Values) -> None:
    t = f([4, 1, 3, 6, 5, 2], layout="(2,3):(3,1)")
    for result in sw.sort(t, 0):
        assert str(result.layout) == "(2,3):(1,2)"
    assert values(sw.sort(t, 0).values) == [1, 4, 3, 6, 2, 5]
    assert values(sw.sort(t, 1).indices) == [1, 0, 0, 2, 2, 1]
    nested = f([5, 0, 1, 4, 3, 2, 9, 6, 7, 8, 11, 10], 2, (3, 2))
    assert str(sw.sort(nested, 1).values.layout) == "(2,(3,2)):(1,(2,6))"
    assert values(sw.sort(nested, -1).indices) == [1, 0, 2, 2, 0, 1, 4, 3, 3, 4, 5, 5]
    largest = sw.topk(nested, 2, 1)
    for part in largest:
        assert str(part.layout) == "(2,2):(1,2)"
    assert values(largest.values) == [11, 10, 9, 8] and values(largest.indices) == [5, 5, 3, 4]
    kept = sw.topk(nested, 1, 0, largest=False)
    assert str(kept.values.layout) == "(1,(3,2)):(1,(1,3))"


@pytest.mark.rule("F-14", "X-68")
def test_gradients_return_to_their_sources(f: Make, vjp: Vjp, same: Same) -> None:
    def taken(k: int, largest: bool = True) -> Callable[[sw.Tensor], sw.Tensor]:
        return lambda x: sw.topk(x, k, largest=largest).values

    assert vjp(taken(2), f([3, 1, 2]), g=[1, 10]) == [[1, 0, 10]]
    assert vjp(taken(1), f([5, 5]), g=[7]) == [[7, 0]]
    (gradient,) = vjp(taken(2, False), f([nan, -0.0, 2, 0.0]), g=[-0.0, inf])
    assert same(gradient, [0.0, -0.0, 0.0, inf])
    matrix = f([4, 1, 3, 6, 5, 2], layout="(2,3):(3,1)")
    (gradient,) = vjp(lambda x: sw.sort(x, 1).values, matrix, g=[1, 2, 3, 4, 5, 6])
    assert gradient == [3, 2, 1, 6, 5, 4]
    (gradient,) = vjp(lambda x: sw.sort(x, 0, True).values, matrix, g=[1, 2, 3, 4, 5, 6])
    assert gradient == [1, 2, 4, 3, 5, 6]


@pytest.mark.rule("A-8", "F-45")
def test_indices_carry_no_graph(f: Make) -> None:
    result = sw.sort(f([2.0, 1.0]))
    values_node: Any = result.values.autograd_ctx
    assert values_node._operation_name == "_sort_values"
    assert result.indices.autograd_ctx is None and not result.indices.is_differentiable()
    chosen = sw.topk(f([2.0, 1.0]), 1)
    chosen_node: Any = chosen.values.autograd_ctx
    assert chosen_node._operation_name == "_topk_values"
    assert chosen.indices.autograd_ctx is None


@pytest.mark.rule("F-46", "F-4", "F-5", "O-66")
@pytest.mark.parametrize("name", ["sort", "topk"])
def test_errors_in_order(name: str, f: Make, i: Make, b: Make) -> None:
    def call(tensor: Any, k: Any = 1, axis: Any = -1, flag: Any = True) -> Any:
        arguments = (tensor, axis, flag) if name == "sort" else (tensor, k, axis, flag)
        return getattr(unchecked, name)(*arguments)

    with pytest.raises(TypeError, match="tensor must be a Tensor"):
        call(1.0, 0, True, 1)
    for axis in (True, 0.0, None):
        with pytest.raises(TypeError, match=f"{name}: axis must be an integer"):
            call(i([1]), 0, axis, 1)
    with pytest.raises(ValueError, match=f"{name}: axis out of range: 1"):
        call(i([1]), 0, 1, 1)
    flag = "descending" if name == "sort" else "largest"
    for wrong in (1, None, 0.0):
        with pytest.raises(TypeError, match=f"{name}: {flag} must be True or False"):
            call(i([1]), 0, 0, wrong)
    for tensor, found in ((i([1]), "Int32"), (b([True]), "Bool")):
        message = rf"{name}: tensor must have dtype DType\.Float32, got DType\.{found}"
        with pytest.raises(TypeError, match=message):
            call(tensor)
    released = f([1.0])
    released.carrier.release()
    with pytest.raises(RuntimeError, match="released"):
        call(released)


@pytest.mark.rule("F-46")
def test_k(f: Make, i: Make, values: Values) -> None:
    for k in (1.0, "1", None):
        with pytest.raises(TypeError, match="topk: k must be an integer"):
            unchecked.topk(i([1]), k)
    for count in (0, -1, 3):
        with pytest.raises(ValueError, match=f"topk: k out of range: {count} for mode 0"):
            sw.topk(f([1.0, 2.0]), count)
    assert values(sw.topk(f([1.0, 2.0]), True).indices) == [1]  # has the index protocol


@pytest.mark.rule("F-46", "O-57")
def test_hand_driven(f: Make, values: Values) -> None:
    x = f([2.0, 1.0, 3.0])

    def forward(name: str, *operands: Any) -> list[Any]:
        return values(x.carrier.dispatch_op(name).forward(x, *operands))

    assert forward("_sort_values") == [1, 2, 3]
    assert forward("_sort_indices", -1, True) == [2, 0, 1]
    assert forward("_topk_values", 2) == [3, 2]
    assert forward("_topk_indices", 1, 0, False) == [1]
    for name, operands in (("_sort_values", (5,)), ("_topk_indices", (1, 5))):
        with pytest.raises(ValueError, match="axis out of range"):
            forward(name, *operands)
    with pytest.raises(RuntimeError, match="not differentiable"):
        x.carrier.dispatch_op("_sort_indices").backward(x)


@pytest.mark.rule("F-46", "G-2")
def test_ordinals_must_fit_int32(f: Make) -> None:
    one = f([1.0])
    wide = sw.Tensor(one.carrier, 0, sw.Layout(sw.Shape(INT32_MAX + 2), sw.Stride(0)))
    for call in (lambda: sw.sort(wide), lambda: sw.topk(wide, 1)):
        with pytest.raises(OverflowError, match="out of int32 range"):
            call()
